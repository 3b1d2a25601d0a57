"""The house: a folder per box of the DAG, layers that say what the tree says, and nothing that nobody uses."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest
from source import PACKAGE, ROOT, attributes_read, modules

from kepler_train import columns
from kepler_train.runs.registry import STEPS
from kepler_train.spec import RunSpec

LONGEST_STEP = 100  # lines, with imports: what fits on one screen or a little more


def layers() -> list[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return [name.removeprefix("kepler_train.") for name in contracts[0]["layers"]]


def test_the_layers_name_every_room_and_module_of_the_package_once():
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    alone = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert sorted(layers()) == sorted(rooms | alone)


def test_every_box_of_the_dag_is_a_folder_with_its_step():
    boxes = {name: (PACKAGE / name / "step.py").is_file() for name in STEPS}
    assert all(boxes.values()), boxes
    assert {path.parent.name for path in PACKAGE.glob("*/step.py")} - {"workspace"} == set(STEPS)


@pytest.mark.parametrize("step", STEPS.values(), ids=list(STEPS))
def test_a_step_is_the_function_of_its_name_in_a_file_of_one_screen(step):
    assert step.function == f"kepler_train.{step.name}.step:{step.name}"
    lines = (PACKAGE / step.name / "step.py").read_text().splitlines()
    assert len(lines) <= LONGEST_STEP


def test_every_parameter_of_a_run_is_read_by_somebody():
    read = attributes_read(outside={Path("kepler_train/spec.py")})
    assert [name for name in RunSpec.model_fields if name not in read] == []


def test_no_module_is_longer_than_a_concept():
    long = {str(file): count for file in modules() if (count := len((ROOT / file).read_text().splitlines())) > 320}
    assert set(long) <= {"kepler_train/spec.py", "kepler_train/catalog/model.py"}, long


def test_no_module_of_ours_loads_a_pickle_or_calls_a_shell():
    banned = {"pickle.load", "pickle.loads", "joblib.load", "os.system"}
    called = {
        f"{file}: {name}"
        for file in modules()
        for name in banned
        if f"{name}(" in (ROOT / file).read_text() or "shell=True" in (ROOT / file).read_text()
    }
    assert called == set()


def test_columns_of_frames_are_named_in_one_place_only():
    names = {columns.TIME, columns.NODE, columns.WORKLOAD, columns.CONTAINER}
    elsewhere = {Path("kepler_train/columns.py")}
    subscripts = {
        f"{file}:{node.lineno}"
        for file, tree in modules().items()
        if file not in elsewhere and file.parts[1] != "simulate"  # the simulator shares no code with extraction
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value in names
    }
    assert sorted(subscripts) == []
