"""Node types: the public index reads and writes unchanged; similarity, uncertainty and looseness as defined."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.errors import UserError
from kepler_train.machine.node_attributes import WEIGHTS, NodeAttributes, similarity
from kepler_train.machine.node_types import Match, NodeTypeIndex

# As the public model database holds it for the machines of a cloud: without a line's end.
M5 = {"processor": "intel_xeon_platinum_8259cl", "cores": 96, "chips": 2, "memory": 377, "frequency": 3500}
R5 = M5 | {"memory": 755}
I3 = {"processor": "intel_xeon_e5_2686v4", "cores": 72, "chips": 2, "memory": 503, "frequency": 3000}
PUBLIC = json.dumps(
    {
        "0": {"attrs": M5, "members": ["m5.metal"]},
        "1": {"attrs": I3, "members": ["i3.metal"]},
        "2": {"attrs": R5, "members": ["r5.metal"]},
    }
)

names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20
)
counts = st.integers(1, 10**6)
complete = st.builds(NodeAttributes, processor=names, cores=counts, chips=counts, memory=counts, frequency=counts)
few = st.builds(
    NodeAttributes,
    processor=st.sampled_from(["intel_xeon", "amd_epyc"]),
    cores=st.integers(1, 3),
    chips=st.integers(1, 2),
    memory=st.integers(1, 2),
    frequency=st.integers(1, 2),
)
partial = st.builds(
    lambda machine, unknown: machine.model_copy(update=dict.fromkeys(unknown)),
    few,
    st.sets(st.sampled_from(list(WEIGHTS))),
)
indices = st.lists(
    st.tuples(few, st.lists(names, max_size=4, unique=True)),
    min_size=1,
    max_size=5,
).map(
    lambda entries: {
        str(number): {"attrs": machine.attributes(), "members": members}
        for number, (machine, members) in enumerate(entries)
    }
)


def index(document: Any = None) -> NodeTypeIndex:
    return NodeTypeIndex.parse(PUBLIC if document is None else json.dumps(document), "index.json")


@pytest.mark.parametrize("ending", ["", "\n"])
def test_an_index_is_written_byte_for_byte_as_it_was_read(ending: str) -> None:
    assert NodeTypeIndex.parse(PUBLIC + ending, "index.json").text() == PUBLIC + ending


def test_the_index_of_the_public_model_database_reads_and_writes_unchanged(shared_data: Path) -> None:
    file = shared_data / "node_type_index.json"
    assert NodeTypeIndex.read(file).text().encode() == file.read_bytes()


def test_what_others_wrote_into_an_index_stays_there_when_a_machine_joins() -> None:
    document = {"3": {"attrs": M5 | {"power_mgt": True}, "members": ["a"], "note": "ä"}}
    joined, number = index(document).add("b", NodeAttributes(**M5))
    assert number == 3
    assert json.loads(joined.text()) == {"3": {"attrs": M5 | {"power_mgt": True}, "members": ["a", "b"], "note": "ä"}}


def test_a_machine_joins_its_type_once_and_another_gets_the_next_number() -> None:
    one, number = index().add("m5.metal", NodeAttributes(**M5))
    assert (number, one.text()) == (0, PUBLIC)
    two, number = one.add("mine", NodeAttributes(**M5))
    assert (number, two.types[0].members) == (0, ["m5.metal", "mine"])
    three, number = two.add("small", NodeAttributes(**(M5 | {"cores": 48})))
    assert (number, three.types[3].members, list(json.loads(three.text()))) == (3, ["small"], ["0", "1", "2", "3"])
    assert NodeTypeIndex.empty().add("first", NodeAttributes(**M5))[1] == 0


def test_after_a_gap_the_number_above_the_highest_is_next() -> None:
    entries = json.loads(PUBLIC)
    gapped = index({"1": entries["1"], "4": entries["0"]})
    assert gapped.gaps() == [0, 2, 3]
    assert gapped.add("r5", NodeAttributes(**R5))[1] == 5
    assert index().gaps() == NodeTypeIndex.empty().gaps() == []


def test_a_machine_with_an_unknown_attribute_cannot_join() -> None:
    with pytest.raises(UserError, match=r"^arm-1 cannot join the node types: its frequency is not known\."):
        index().add("arm-1", NodeAttributes(**(M5 | {"frequency": None})))


def test_similarity_is_the_weighted_mean_of_the_attributes() -> None:
    one = NodeAttributes(processor="abcd", cores=2, chips=1, memory=10, frequency=2000)
    other = NodeAttributes(processor="abxy", cores=3, chips=1, memory=40, frequency=2000)
    # Letters: 2 of 6 shared, halved. Cores: 1 − 1/2.5. Memory: 30 is more than the mean of 25.
    assert similarity(one, other) == pytest.approx((5 * 2 / 6 / 2 + 1 * 0.6 + 1 * 1 + 0.5 * 0 + 0.5 * 1) / 8)


@given(complete, complete)
def test_similarity_is_symmetric_from_0_to_1_and_1_only_for_equal_machines(
    a: NodeAttributes, b: NodeAttributes
) -> None:
    assert similarity(a, a) == 1
    assert similarity(a, b) == similarity(b, a)
    assert 0 <= similarity(a, b) <= 1
    if a.cores != b.cores:
        assert similarity(a, b) < 1


@given(complete, complete, st.sampled_from(sorted(WEIGHTS)))
def test_what_is_unknown_of_either_machine_adds_nothing(a: NodeAttributes, b: NodeAttributes, name: str) -> None:
    less = a.model_copy(update={name: None})
    assert similarity(less, b) == similarity(b, less) <= similarity(a, b)
    assert similarity(less, a) == pytest.approx(1 - WEIGHTS[name] / 8)


def test_an_equal_machine_matches_exactly() -> None:
    assert index().look_up(NodeAttributes(**I3)) == Match(1)
    assert Match(1).exact
    assert NodeTypeIndex.empty().look_up(NodeAttributes(**I3)) is None


def test_of_types_that_agree_with_all_that_is_known_the_commonest_is_taken() -> None:
    entries = json.loads(PUBLIC)
    entries["2"]["members"] = ["r5.metal", "r5b.metal", "r5d.metal"]
    unknown = ("memory",)
    # Type 0 has 1 of the 4 machines with this processor, type 2 has 3.
    assert index(entries).look_up(NodeAttributes(**(M5 | {"memory": None}))) == Match(2, 0.25, 0, (), unknown)
    assert index().look_up(NodeAttributes(**(I3 | {"memory": None}))) == Match(1, 0, 0, (), unknown)


def test_the_most_similar_type_is_loose_by_what_is_unlike() -> None:
    found = index().look_up(NodeAttributes(**(M5 | {"memory": 400})))
    assert found is not None
    assert (found.number, found.ignored, found.exact) == (0, ("memory",), False)
    assert found.looseness == pytest.approx(0.5 / 8 * 23 / 388.5)
    assert found.uncertainty == 0.5  # without its memory, types 0 and 2 fit equally, with one machine each


def test_types_without_machines_are_equally_likely() -> None:
    entries = {number: {"attrs": entry["attrs"], "members": []} for number, entry in json.loads(PUBLIC).items()}
    found = index(entries).look_up(NodeAttributes(processor=M5["processor"]))
    assert (found and found.number, found and found.uncertainty) == (0, 0.5)


@given(indices, partial)
def test_the_order_of_members_changes_no_match_and_a_match_stays_in_bounds(
    document: dict[str, Any], machine: NodeAttributes
) -> None:
    found = index(document).look_up(machine)
    assert found is not None
    assert 0 <= found.uncertainty <= 1
    assert 0 <= found.looseness <= 1
    assert (found.looseness == 0) == (not found.ignored)
    for entry in document.values():
        entry["members"].reverse()
    assert index(document).look_up(machine) == found


@given(indices, few, names)
def test_a_machine_that_joined_is_found_exactly_and_every_other_line_stays(
    document: dict[str, Any], machine: NodeAttributes, machine_id: str
) -> None:
    joined, number = index(document).add(machine_id, machine)
    assert joined.look_up(machine) == Match(number)
    assert joined.types[number].members.count(machine_id) == 1
    assert joined.add(machine_id, machine) == (joined, number)
    after = json.loads(joined.text())
    assert {key: entry for key, entry in after.items() if key != str(number)} == {
        key: entry for key, entry in document.items() if key != str(number)
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"0": {"attrs"', "index.json is not JSON: "),
        ("[" * 100_000, "index.json is not JSON: "),
        ("[]", "index.json is not an index of node types: it must be "),
        ('{"0": 1}', "index.json: node type 0: its entry: "),
        ('{"one": {}}', "index.json: 'one' is not the number of a node type"),
        ('{"01": {}}', "index.json: '01' is not the number of a node type"),
        ('{"0": {}, "0": {}}', "index.json is not JSON: the key '0' is there twice"),
        ('{"0": {"members": []}}', "index.json: node type 0: attrs: Field required"),
        ('{"0": {"attrs": {"cpus": 4}, "members": []}}', "index.json: node type 0: attrs has no processor, cores, "),
        (json.dumps({"0": {"attrs": M5 | {"cores": "many"}, "members": []}}), "index.json: node type 0: attrs.cores: "),
        (json.dumps({"0": {"attrs": M5 | {"cores": -4}, "members": []}}), "index.json: node type 0: attrs.cores: "),
        (json.dumps({"0": {"attrs": M5, "members": "m5"}}), "index.json: node type 0: members: "),
        (json.dumps({"0": {"attrs": M5, "members": [5]}}), "index.json: node type 0: members.0: "),
    ],
)
def test_a_broken_index_is_refused_with_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        NodeTypeIndex.parse(text, "index.json")
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^There is no index of node types at .*none\.json"):
        NodeTypeIndex.read(tmp_path / "none.json")
    with pytest.raises(UserError, match=r"cannot be read: Is a directory\.$"):
        NodeTypeIndex.read(tmp_path)
    (tmp_path / "latin").write_bytes(b'{"\xe4": 1}')
    with pytest.raises(UserError, match=r"latin is not JSON: it is not text in UTF-8"):
        NodeTypeIndex.read(tmp_path / "latin")
