"""Changes of XGBoost's trees that keep their lists of one length, so that what is inside them is what is wrong."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

_INTEGERS = (-(2**31), -3, -2, -1, 0, 1, 2, 3, 7, 100, 2**31 - 1)
_REALS = (0.0, -0.0, 1e-45, -1.5, 1e30, 3.4e38, 1e39, -1e300)


def mutate_trees(content: bytes, random: Random) -> bytes:
    """Return a booster with one to four changes of its nodes; raise KeyError where it has none."""
    document = json.loads(content)
    model = document["learner"]["gradient_booster"]["model"]
    for _ in range(1 + random.randrange(4)):
        tree = random.choice(model["trees"])
        match random.randrange(8):
            case 0:
                _add_node(tree, random)
            case 1:
                _drop_node(tree, random)
            case 2:
                _exchange(tree, random)
            case 3:
                model["trees"][random.randrange(len(model["trees"]))] = copy.deepcopy(tree)
            case 4:
                _make_leaf(tree, random)
            case _:
                _set_number(tree, random)
    return json.dumps(document).encode()


def _lists(tree: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the lists with an entry for each node."""
    count = len(tree["left_children"])
    return {name: values for name, values in tree.items() if isinstance(values, list) and len(values) == count > 0}


def _count(tree: dict[str, Any]) -> None:
    tree["tree_param"]["num_nodes"] = str(len(tree["left_children"]))


def _add_node(tree: dict[str, Any], random: Random) -> None:
    """Repeat a node at the end, perhaps as the child of another."""
    lists = _lists(tree)
    original, parent = (random.randrange(len(tree["left_children"])) for _ in range(2))
    for values in lists.values():
        values.append(values[original])
    if random.random() < 0.7:
        tree[random.choice(("left_children", "right_children"))][parent] = len(tree["left_children"]) - 1
    _count(tree)


def _drop_node(tree: dict[str, Any], random: Random) -> None:
    at = random.randrange(len(tree["left_children"]))
    for values in _lists(tree).values():
        del values[at]
    _count(tree)


def _exchange(tree: dict[str, Any], random: Random) -> None:
    """Exchange two nodes, in all lists or in one."""
    lists = _lists(tree)
    one, other = (random.randrange(len(tree["left_children"])) for _ in range(2))
    for name in lists if random.random() < 0.5 else [random.choice(sorted(lists))]:
        lists[name][one], lists[name][other] = lists[name][other], lists[name][one]


def _make_leaf(tree: dict[str, Any], random: Random) -> None:
    """Cut off what is below a node, or mark a node as deleted."""
    at = random.randrange(len(tree["left_children"]))
    tree["left_children"][at] = tree["right_children"][at] = -1
    if random.random() < 0.5:
        tree["split_indices"][at] = 2**31 - 1
        tree["tree_param"]["num_deleted"] = "1"


def _set_number(tree: dict[str, Any], random: Random) -> None:
    name, values = random.choice(sorted(_lists(tree).items()))
    at = random.randrange(len(values))
    if isinstance(values[at], float):
        values[at] = random.choice(_REALS)
    else:
        values[at] = random.choice((*_INTEGERS, values[at] + 1, values[at] - 1, len(values), len(values) - 1))
    if name == "left_children" and random.random() < 0.3:  # so that the other way round agrees
        tree["parents"][values[at] % len(values)] = at
