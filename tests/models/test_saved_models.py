"""Models saved, loaded, and refused when their files are not what was written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pandas as pd
import pytest
from fitting import training_rows

from kepler_train.errors import DataError, UserError
from kepler_train.models import (
    Fitted,
    LinearModel,
    PowerModel,
    TreesModel,
    graphs,
    load_model,
    reload_process,
    save_model,
)
from kepler_train.models.archive import write_archive
from kepler_train.models.artifact import read_model
from kepler_train.models.metadata import SCHEMA_VERSION, Training
from kepler_train.models.sums import write_sums
from kepler_train.train.trainer import house_trainers, trainer

FEATURES = ["cpu_cycles", "bpf_cpu_time_ms"]
# Cycles/s of a large machine beside ms/s; what a model must carry through float32.
ROWS = pd.DataFrame(np.random.default_rng(0).uniform(0, [2e10, 4000], (300, 2)), columns=FEATURES)
WATTS = {"package": 20 + 5e-9 * ROWS["cpu_cycles"], "dram": 2 + 0.002 * ROWS["bpf_cpu_time_ms"]}
LINEAR, TREES = "LinearRegressionTrainer", "XgboostFitTrainer"


@cache
def trained(name: str) -> PowerModel:
    own = trainer(name)
    X = ROWS[FEATURES].to_numpy()
    workloads = [f"load {number // 50}" for number in range(len(X))]
    parts = {
        part: Fitted.select(
            FEATURES,
            own.fit(training_rows(X, watts.to_numpy(), features=FEATURES, workloads=workloads, component=part)),
        )
        for part, watts in WATTS.items()
    }
    return PowerModel(name, 3, parts)


@pytest.fixture(scope="module")
def linear(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / f"{LINEAR}_3"
    save_model(trained(LINEAR), folder, Training(machine_spec={"cores": 4}), ROWS)
    return folder


@pytest.fixture
def folder(linear: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(linear, tmp_path / linear.name))


def metadata(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "metadata.json").read_text())
    return found


@pytest.mark.parametrize("name", sorted(house_trainers()))
def test_every_format_of_every_trainer_predicts_what_was_trained(name: str, tmp_path: Path) -> None:
    model, folder = trained(name), tmp_path / "model"
    save_model(model, folder, Training(output_type="AbsPower"), ROWS)
    about = metadata(folder)
    assert about["refused_formats"] == {}  # the process that reloads it found no difference that matters
    formats = {file.name for file in folder.iterdir() if file.suffix == ".onnx" or file.name == "weight.json"}
    assert set(about["parity"]["watts"]) == formats | {"native"}
    assert formats >= {"package.onnx", "dram.onnx"}
    for entry in json.loads((folder / f"{name}_3.json").read_text()).values():
        onnx.checker.check_model(onnx.load(folder / entry["graph_file"]), full_check=True)
    assert (
        subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=folder, capture_output=True).returncode == 0
    )
    write_archive(folder, tmp_path / "model.zip")
    mixed = ROWS[FEATURES[::-1]].assign(other=1.0)  # columns in another order
    for path in (folder, tmp_path / "model.zip"):
        loaded = load_model(path)
        assert (loaded.name, loaded.features) == (f"{name}_3", model.features)
        for component, watts in model.predict(ROWS).items():
            np.testing.assert_allclose(loaded.predict(mixed)[component], watts, atol=1e-9)


def test_a_graph_of_nearest_rows_agrees_where_many_are_equally_near(tmp_path: Path) -> None:
    rows = pd.DataFrame({"cpu_cycles": 1e8 * np.arange(200)})  # each has two neighbours at every distance
    y = np.random.default_rng(2).uniform(10, 100, len(rows))
    fitted = trainer("KNeighborsRegressorTrainer").fit(training_rows(rows.to_numpy(), y, features=["cpu_cycles"]))
    model = PowerModel("KNeighborsRegressorTrainer", 0, {"package": Fitted.select(["cpu_cycles"], fitted)})
    save_model(model, tmp_path / "model", Training(), rows)
    assert metadata(tmp_path / "model")["refused_formats"] == {}


def test_a_graph_needs_onnxruntime_and_nothing_else(tmp_path: Path) -> None:
    save_model(trained(TREES), tmp_path / "model", Training(), ROWS)
    np.save(tmp_path / "rows.npy", ROWS.to_numpy(dtype=np.float32))
    code = """
import json, sys, numpy, onnxruntime
session = onnxruntime.InferenceSession("model/dram.onnx")
about = session.get_modelmeta().custom_metadata_map
power, = session.run(None, {"X": numpy.load("rows.npy")})
assert not {"sklearn", "xgboost", "kepler_train", "onnx"} & set(sys.modules)
assert (json.loads(about["features"]), about["component"]) == (["cpu_cycles", "bpf_cpu_time_ms"], "dram")
numpy.save("power.npy", power)
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    expected = trained(TREES).predict(ROWS)["dram"]
    np.testing.assert_allclose(np.load(tmp_path / "power.npy")[:, 0], expected, atol=1e-4)


def test_the_example_of_the_page_on_models_runs_as_it_stands(linear: Path) -> None:
    page = Path(__file__, "../../../docs/models.md").resolve().read_text(encoding="utf-8")
    example = page.partition("```python\n")[2].partition("```")[0]
    done = subprocess.run([sys.executable, "-c", example], cwd=linear, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{FEATURES} [[")
    assert float(done.stdout.partition("[[")[2].partition("]]")[0]) == pytest.approx(20, abs=0.05)  # W when idle


def test_a_graph_that_disagrees_is_removed_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = LinearModel.graph
    monkeypatch.setattr(
        LinearModel, "graph", lambda self, count: graphs.weighted_sum([right(self, count)], [1.0], count, 1.0)
    )
    save_model(trained(LINEAR), tmp_path / "model", Training(), ROWS)
    assert not list((tmp_path / "model").glob("*.onnx"))
    reasons = metadata(tmp_path / "model")["refused_formats"]
    assert set(reasons) == {"package.onnx", "dram.onnx"}
    assert "W of package power where the trained model gives" in reasons["package.onnx"]
    assert "dram.onnx is left out" in capsys.readouterr().out
    entries = json.loads((tmp_path / "model" / f"{LINEAR}_3.json").read_text()).values()
    assert not any("graph_file" in entry for entry in entries)
    load_model(tmp_path / "model")  # what is left is whole


def test_weights_that_disagree_are_removed_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def more(self: LinearModel, features: list[str]) -> dict[str, object]:
        return LinearModel(self.bias + 0.02, self.weight, self.scale).entry(features)

    monkeypatch.setattr(LinearModel, "entry", LinearModel.weights, raising=False)
    monkeypatch.setattr(LinearModel, "weights", more)
    save_model(trained(LINEAR), tmp_path / "model", Training(), ROWS)
    assert not (tmp_path / "model" / "weight.json").exists()
    assert set(metadata(tmp_path / "model")["refused_formats"]) == {"weight.json"}  # 0.02 W is within a graph's limit


def test_a_model_that_cannot_be_saved_as_it_is_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save = LinearModel.save
    monkeypatch.setattr(LinearModel, "save", lambda _, file: save(LinearModel(1.0, np.zeros(2), np.ones(2)), file))
    with pytest.raises(DataError, match="is not kept, because it gives 1 W of package power where the trained model"):
        save_model(trained(LINEAR), tmp_path / "model", Training(), ROWS)


def test_a_model_that_cannot_be_read_back_is_named_by_its_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LinearModel, "save", lambda _, file: file.write_text("{"))
    with pytest.raises(DataError, match=r"is not kept, because package\.json is ") as error:
        save_model(trained(LINEAR), tmp_path / "model", Training(), ROWS)
    assert str(tmp_path) not in str(error.value)


def test_a_model_without_a_graph_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(self: LinearModel, features: int) -> None:
        raise graphs.NoGraph("it is too young")

    monkeypatch.setattr(LinearModel, "graph", none)
    save_model(trained(LINEAR), tmp_path / "model", Training(), ROWS)
    assert metadata(tmp_path / "model")["refused_formats"]["dram.onnx"] == "it is too young"


def test_kepler_reads_the_weights_of_a_linear_model_as_the_same_watts(linear: Path) -> None:
    weights = json.loads((linear / "weight.json").read_text())
    assert (weights["model_name"], weights["machine_spec"]) == (f"{LINEAR}_3", {"cores": 4})
    for component, watts in trained(LINEAR).predict(ROWS).items():
        entry = weights[component]["All_Weights"]
        power = entry["Bias_Weight"] + sum(
            own["weight"] * (ROWS[feature] / own["scale"]) for feature, own in entry["Numerical_Variables"].items()
        )
        np.testing.assert_allclose(power, watts, rtol=1e-12)
        assert entry["Categorical_Variables"] == {}


def test_a_linear_model_that_could_go_below_nothing_is_not_for_kepler() -> None:
    assert LinearModel(1.0, np.array([2.0]), np.ones(1)).weights(["cpu_cycles"]) is not None
    assert LinearModel(1.0, np.array([-2.0]), np.ones(1)).weights(["cpu_cycles"]) is None
    assert LinearModel(-1.0, np.array([2.0]), np.ones(1)).weights(["cpu_cycles"]) is None


@pytest.mark.parametrize("name", [LINEAR, "KNeighborsRegressorTrainer"])
def test_no_rows_have_no_power(name: str) -> None:
    assert {part: list(watts) for part, watts in trained(name).predict(ROWS.iloc[:0]).items()} == {
        "package": [],
        "dram": [],
    }


def test_a_feature_that_is_missing_is_named() -> None:
    with pytest.raises(UserError, match="needs bpf_cpu_time_ms, which"):
        trained(LINEAR).predict(ROWS[["cpu_cycles"]])


def test_features_of_earlier_windows_are_added_by_time_and_node() -> None:
    one = LinearModel(0.0, np.array([1.0, 10.0]), np.ones(2))
    model = PowerModel("LaggedTrainer", 0, {"package": Fitted(["cpu_cycles", "cpu_cycles@-1"], one)})
    times = pd.to_datetime([30, 0, 15, 0, 300], unit="s", utc=True)  # not in order, and a gap before the last
    rows = pd.DataFrame({"time": times, "node": list("aaaba"), "cpu_cycles": [3.0, 1.0, 2.0, 5.0, 7.0]})
    # Without a window right before, as the first of a node, the load is taken to have been the same.
    assert model.predict(rows)["package"].tolist() == [3 + 20, 1 + 10, 2 + 10, 5 + 50, 7 + 70]
    assert model.predict(rows.assign(**{"cpu_cycles@-1": 0.0}))["package"].tolist() == [3, 1, 2, 5, 7]
    with pytest.raises(UserError, match="needs cpu_cycles, which"):
        model.predict(rows[["time", "node"]])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_missing_is_counted(value: float) -> None:
    rows = ROWS.copy()
    rows.loc[[3, 5], "cpu_cycles"] = value
    with pytest.raises(DataError, match="2 of 300 rows have no finite value of cpu_cycles"):
        trained(LINEAR).predict(rows)


def test_words_in_place_of_numbers_are_refused() -> None:
    with pytest.raises(UserError, match="column cpu_cycles has something else than numbers"):
        trained(LINEAR).predict(ROWS.assign(cpu_cycles="many"))


@pytest.mark.parametrize("name", ["package.json", "dram.onnx", "weight.json", f"{LINEAR}_3.json", "metadata.json"])
@pytest.mark.parametrize("how", ["cut short", "one letter", "gone", "a link"])
def test_a_file_that_was_changed_is_refused(name: str, how: str, folder: Path) -> None:
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    if how == "cut short":
        path.write_bytes(content[: len(content) // 2])
    elif how == "one letter":
        path.write_bytes(content.replace(b"e", b"E", 1))
    elif how == "a link":
        (folder.parent / "elsewhere").write_bytes(content)
        path.symlink_to(folder.parent / "elsewhere")
    with pytest.raises(UserError, match=str(folder)) as error:
        load_model(folder)
    assert name in str(error.value) or how == "one letter"  # which may be in the name of the version


@pytest.mark.parametrize("text", ["", "no sums\n", f"{'0' * 64}  ../metadata.json\n", f"{'0' * 63}  metadata.json\n"])
def test_sums_of_something_else_are_refused(text: str, folder: Path) -> None:
    (folder / "SHA256SUMS").write_text(text)
    with pytest.raises(UserError, match=r"SHA256SUMS|vouches"):
        load_model(folder)
    (folder / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="SHA256SUMS is missing"):
        load_model(folder)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"schema_version": 99},
            f"in version 99 of the format, and this kepler-train reads up to version {SCHEMA_VERSION}",
        ),
        ({"schema_version": 2}, "in version 2 of the format, which this kepler-train no longer reads"),
        ({"schema_version": None}, "is not the folder of a model: its metadata.json names no version of the format"),
        ({"schema_version": "4"}, "in version 4 of the format, and this kepler-train reads up to version 3: update it"),
        ({"schema_version": "two"}, "names no version of the format"),
        ({"model_file": "../elsewhere.json"}, "not among the files"),
        ({"model_file": "dram.onnx"}, "not JSON"),
        ({"model_file": 3}, "model_file is missing or wrong"),
        ({"model_file": []}, "is missing or wrong"),
        ({"trainer": None}, "is missing or wrong"),
    ],
)
def test_metadata_that_say_something_else_are_refused(
    change: dict[str, object], sentence: str, folder: Path, tmp_path: Path
) -> None:
    own = {key: value for key, value in (metadata(folder) | change).items() if value is not None}
    (folder / "metadata.json").write_text(json.dumps(own))
    write_sums(folder)
    write_archive(folder, tmp_path / "model.zip")
    for path in (folder, tmp_path / "model.zip"):
        with pytest.raises(UserError, match=sentence) as error:
            load_model(path)
        assert str(path) in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"package": {}},
        {"package": []},
        {"package": {"kind": "linear", "file": "package.json", "features": 2}},
        {"package": {"kind": "linear", "file": "package.json", "features": []}},
        {"package": {"kind": "linear", "file": "package.json", "features": [["cpu_cycles"], ["x"]]}},
        {"package": {"kind": "linear", "file": "package.json", "features": ["cpu_cycles"]}},
        {"package": {"kind": "linear", "file": "/etc/passwd", "features": FEATURES}},
        {"package": {"kind": "linear", "file": ["package.json"], "features": FEATURES}},
        {"package": {"kind": ["linear"], "file": "package.json", "features": FEATURES}},
        {"package": {"kind": "trees", "file": "package.json", "features": FEATURES}},
        {"package": {"kind": "estimator", "file": "package.json", "features": FEATURES}},
        {"package": {"kind": "curve", "file": "package.json", "features": FEATURES}},
    ],
)
def test_a_list_of_other_files_is_refused_in_a_sentence(content: dict[str, object], folder: Path) -> None:
    (folder / f"{LINEAR}_3.json").write_text(json.dumps(content))
    write_sums(folder)
    with pytest.raises(UserError, match=str(folder)):
        load_model(folder)


def test_a_kind_of_a_later_version_is_named(folder: Path) -> None:
    file = folder / f"{LINEAR}_3.json"
    file.write_text(file.read_text().replace('"linear"', '"quantum"'))
    write_sums(folder)
    with pytest.raises(UserError, match="kind 'quantum'"):
        load_model(folder)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"metadata\.json is missing"):
        load_model(tmp_path)
    (tmp_path / "metadata.json").write_text("[]")
    with pytest.raises(UserError, match="not the folder of a model"):
        load_model(tmp_path)
    with pytest.raises(UserError, match="There is no model"):
        load_model(tmp_path / "nowhere")


def test_metadata_come_with_the_model(linear: Path) -> None:
    model, about = read_model(linear)
    assert (model.name, about.model_name, about.schema_version) == (f"{LINEAR}_3", f"{LINEAR}_3", SCHEMA_VERSION)


@pytest.mark.parametrize(
    "content",
    [
        {"bias": 1, "weight": [1], "scale": [1]},
        {"bias": 1, "weight": [1, "x"], "scale": [1, 1]},
        {"weight": [1, 1], "scale": [1, 1]},
        {"bias": 1, "weight": [1, 1e31], "scale": [1, 1]},
        {"bias": 1, "weight": [1, 1], "scale": [1, 0]},
        {"bias": 1, "weight": [1, 1], "scale": [1, -1]},
        {"bias": 1, "weight": [1, 1], "scale": [1, 5e-324]},
        {"bias": "1", "weight": [1, 1], "scale": [1, 1]},
        {"bias": 1, "weight": [1, True], "scale": [1, 1]},
        {"bias": 1, "weight": [[1, 1]], "scale": [1, 1]},
    ],
)
def test_a_linear_model_of_another_shape_is_refused(content: object, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"package\.json is not a linear model of 2 features: "):
        LinearModel.load(tmp_path / "package.json", 2)


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"learner": {}}', "not JSON"])
def test_trees_of_another_shape_are_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(content)
    with pytest.raises(UserError, match=r"package\.json"):
        TreesModel.load(tmp_path / "package.json", 2)


def test_the_process_that_checks_takes_no_code_from_the_folder_it_is_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("open('executed', 'w')")
    monkeypatch.chdir(tmp_path)
    process = reload_process.ReloadProcess()
    model = trained(LINEAR)
    monkeypatch.setattr(reload_process, "_running", (os.getpid(), process))
    save_model(model, tmp_path / "model", Training(), ROWS)
    process.close()
    assert not (tmp_path / "executed").exists()


def test_a_process_that_ended_is_named_and_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = reload_process.ReloadProcess()
    monkeypatch.setattr(reload_process, "_running", (os.getpid(), process))
    process._process.kill()
    with pytest.raises(RuntimeError, match="process that checks saved models ended"):
        save_model(trained(LINEAR), tmp_path / "first", Training(), ROWS)
    save_model(trained(LINEAR), tmp_path / "second", Training(), ROWS)
    assert metadata(tmp_path / "second")["refused_formats"] == {}
    reload_process._close()


def test_checking_a_graph_leaves_nothing_below_the_home(linear: Path, tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
import numpy as np
from kepler_train.models.reload import _graph_watts
assert len(_graph_watts(Path(sys.argv[1]), np.zeros((3, 2)))) == 3
"""
    graph = next(linear.glob("*.onnx"))
    home = tmp_path / "home"
    home.mkdir()
    environment = os.environ | {"HOME": str(home), "XDG_CACHE_HOME": str(home), "TMPDIR": str(home)}
    subprocess.run([sys.executable, "-c", code, str(graph)], check=True, env=environment)
    assert list(home.rglob("*")) == []  # the runtime would keep a device id and events to send
