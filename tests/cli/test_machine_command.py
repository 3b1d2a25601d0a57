"""`kepler-train machine` on this machine and on files."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kepler_train.cli.machine import _add
from kepler_train.machine.spec import MachineSpec, this_machine

SPEC = {"processor": "amd_epyc", "cores": 2, "chips": 1, "memory": 23, "frequency": 2400}
Ended = tuple[int, list[str], list[str]]  # exit code, lines on stdout, lines on stderr


@pytest.fixture
def machine(
    kepler_train: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ended]:
    """`kepler-train machine …` with a DATAPATH of its own."""
    monkeypatch.setenv("DATAPATH", str(tmp_path))
    return partial(kepler_train, "machine")


def test_this_machine_is_written_below_the_folder_of_data(machine: Callable[..., Ended], tmp_path: Path) -> None:
    code, said, _ = machine("--id", "vm-1")
    assert (code, said[-1]) == (0, f"Wrote {tmp_path / 'vm-1.json'}.")
    assert json.loads((tmp_path / "vm-1.json").read_text())["attrs"] == this_machine().attributes()


def test_a_machine_is_looked_up_and_joins_an_index(machine: Callable[..., Ended], tmp_path: Path) -> None:
    (tmp_path / "vm.json").write_text(json.dumps(SPEC))
    index = tmp_path / "node_type_index.json"
    entries = {"1": {"attrs": SPEC | {"memory": 47}, "members": ["big"]}}
    index.write_text(json.dumps(entries))
    asked = ("-i", "vm", "--node-types", "node_type_index.json")
    gap = f"warning: {index} has no node type 0: the numbers of the others stay."

    # 0.5 of 8 for the memory, of which 1 − 24/35 is alike.
    similar = "Node type 1: the most similar, uncertainty 0.00, looseness 0.04; it differs in memory."
    assert machine(*asked) == (0, ["vm: amd_epyc, 2 CPUs, 1 chip, 23 GiB, 2400 MHz", gap, similar], [])
    assert machine(*asked, "--add", "--id", "vm")[1][-1] == f"Added vm to the new node type 2 in {index}."
    assert json.loads(index.read_text()) == entries | {"2": {"attrs": SPEC, "members": ["vm"]}}
    assert machine(*asked)[1][-1] == "Node type 2: exact, all attributes are equal."
    before = index.stat()
    assert machine(*asked, "--add", "--id", "vm")[1][-1] == f"vm is already a member of node type 2 in {index}."
    assert index.stat() == before
    assert machine(*asked, "--add", "--id", "vm-2")[1][-1] == f"Added vm-2 to node type 2 in {index}."


def test_what_is_not_known_leaves_the_type_uncertain_and_the_machine_outside(
    machine: Callable[..., Ended], tmp_path: Path
) -> None:
    (tmp_path / "arm.json").write_text(json.dumps(SPEC | {"memory": None}))
    entries = {str(number): {"attrs": SPEC | {"memory": number + 1}, "members": ["one"]} for number in range(4)}
    (tmp_path / "index.json").write_text(json.dumps(entries))
    code, said, _ = machine("-i", "arm", "--node-types", "index.json")
    assert said[1:] == [
        "warning: Not known of arm: memory.",
        "Node type 0: agrees with all that is known, uncertainty 0.75, looseness 0.00.",
    ]
    code, _, error = machine("-i", "arm", "--node-types", "index.json", "--add", "--id", "arm")
    assert (code, error) == (
        2,
        [
            "error: arm cannot join the node types: its memory is not known."
            " Write what is missing into its machine spec."
        ],
    )
    assert json.loads((tmp_path / "index.json").read_text()) == entries


def test_an_index_is_begun_by_the_first_machine(machine: Callable[..., Ended], tmp_path: Path) -> None:
    (tmp_path / "vm.json").write_text(json.dumps(SPEC))
    machine("-i", "vm", "--id", "vm", "--node-types", "new/index.json", "--add")
    assert (tmp_path / "new/index.json").read_text() == json.dumps({"0": {"attrs": SPEC, "members": ["vm"]}}) + "\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--add", "--id", "vm"], "--add needs the machine's name and the index: give --id and --node-types."),
        (["--node", "a"], "--node, --time and --metric-prefix belong to --server: give its address."),
        (["--server", "http://x", "-i", "vm"], "--server and --input name two machines: choose one."),
        (["--server", "x:9090"], "The options: prometheus: "),
        (["--server", "http://x", "--time", "noon"], "The options: end: "),
        (["--id", "a/b"], "The options: machine_id: "),
        (["-i", "none"], "There is no machine spec at "),
        (["--node-types", "none.json"], "There is no index of node types at "),
        (["--node-types", "broken.json"], "{here}/broken.json is not JSON: "),
        (["--id", "broken"], "{here}/broken.json holds something else and is left as it is: choose another name."),
        (["-o", "broken.json/vm"], "{here}/broken.json/vm.json cannot be written: "),
        (["--id", "vm", "--node-types", "broken.json/index", "--add"], "{here}/broken.json/index cannot be written: "),
    ],
)
def test_bad_input_gets_one_sentence_and_harms_nothing(
    machine: Callable[..., Ended], tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    (tmp_path / "broken.json").write_text('{"0": ')
    code, _, error = machine(*arguments)
    assert (code, len(error)) == (2, 1)
    assert error[0].startswith("error: " + sentence.format(here=tmp_path))
    assert (tmp_path / "broken.json").read_text() == '{"0": '


def _add_many(file: Path, who: str) -> None:
    for number in range(10):
        _add(file, f"{who}-{number}", MachineSpec(**(SPEC | {"cores": number + 1})))


def test_machines_that_join_at_once_are_all_there(tmp_path: Path) -> None:
    file = tmp_path / "index.json"
    spawning = multiprocessing.get_context("fork")
    adding = [spawning.Process(target=_add_many, args=(file, who)) for who in ("a", "b", "c")]
    for process in adding:
        process.start()
    for process in adding:
        process.join()
    entries = json.loads(file.read_text())
    assert list(entries) == [str(number) for number in range(10)]
    members = sorted(member for entry in entries.values() for member in entry["members"])
    assert members == sorted(f"{who}-{number}" for who in "abc" for number in range(10))
