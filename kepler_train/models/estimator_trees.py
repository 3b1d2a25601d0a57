"""Trees of scikit-learn from a file, checked before compiled code follows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kepler_train.models.numbers import check_array
from kepler_train.models.tree_structure import LEAF, NotTrees, check_splits, check_trees


def check_tree(state: Mapping[str, Any], features: int) -> Any:
    """Return a tree of one output from its nodes and values; refuse nodes that are no tree."""
    from sklearn.tree._tree import NODE_DTYPE, Tree

    nodes, values = state.get("nodes"), state.get("values")
    names = set(NODE_DTYPE.names)
    if not isinstance(nodes, np.ndarray) or nodes.ndim != 1 or names - set(nodes.dtype.names or ()):
        raise NotTrees("the nodes of a tree are something else")
    own = np.zeros(len(nodes), dtype=NODE_DTYPE)  # as this version of scikit-learn has them
    for name in names:
        if nodes.dtype[name] != NODE_DTYPE[name]:
            raise NotTrees(f"the {name} of nodes is of another type")
        own[name] = nodes[name]
    left, right = own["left_child"].astype(np.int64), own["right_child"].astype(np.int64)
    _, depth = check_trees([len(own)], left, right)
    check_splits(features, own["feature"].astype(np.int64), left != LEAF)
    check_array(own["threshold"], (len(own),))
    check_array(values, (len(own), 1, 1))
    tree = Tree(features, np.array([1], dtype=np.intp), 1)
    tree.__setstate__(
        {
            "max_depth": depth,
            "node_count": len(own),
            "nodes": own,
            "values": np.ascontiguousarray(values, dtype=np.float64),
        }
    )
    return tree
