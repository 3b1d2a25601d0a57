"""`kepler-train estimate` and the pictures of what a model says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from handmade import written
from simulated import write_node
from temporary import train_models

from kepler_train.models import load_model
from kepler_train.models.sums import write_sums
from kepler_train.runs.tables import extracted, extracted_table
from kepler_train.samples.kepler_query_json import export_json
from kepler_train.samples.parquet import Series, read_series
from kepler_train.samples.schedule import read_schedule
from kepler_train.spec import RunSpec

KeplerTrain = Callable[..., tuple[int, list[str], list[str]]]
MODEL = "models/base/rapl-sysfs/AbsPower/Basic/LinearRegressionTrainer_0"
WINDOW = {"start": "2026-11-14T00:00:00Z", "end": "2026-11-14T03:00:00Z"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A query, its schedule, the frame of it, and a pipeline `base` that learnt from it."""
    folder = write_node(tmp_path_factory.mktemp("trained"), hours=3)
    asked = {"pipeline": "base", "feature_groups": ["Basic"], "folds": 3, "abs_trainers": ["LinearRegressionTrainer"]}
    spec = RunSpec.model_validate(
        {**asked, "dyn_trainers": ["LinearRegressionTrainer", "XgboostFitTrainer"], "gate_mae": 50, **WINDOW}
    )
    schedule = read_schedule(str(folder / "schedule.json"))
    for name in ("scratch", "extracted", "models"):
        (folder / name).mkdir()
    train_models(folder / "kepler_query", spec, schedule, "a/run", folder / "scratch", folder / "models")
    alone = spec.model_copy(update={"output_types": ["AbsPower"]})
    table = extracted_table(extracted(folder / "extracted", alone, folder / "kepler_query", schedule))
    (rows,) = table.parts()
    rows.to_csv(folder / "frame.csv", index=False)
    return folder


@pytest.fixture
def typed(
    kepler_train: KeplerTrain, trained: Path, tmp_path: Path
) -> Callable[[str], tuple[int, list[str], list[str]]]:
    """`kepler-train …` as one line, in a folder with query, frame and models."""
    for name in ("kepler_query", "schedule.json", "frame.csv", "models"):
        (tmp_path / name).symlink_to(trained / name)
    return lambda line: kepler_train(*line.split())


def test_every_row_has_its_watts_and_their_interval(typed: KeplerTrain, trained: Path) -> None:
    code, lines, errors = typed(f"estimate --model {MODEL} --data frame.csv --output estimated.csv")
    assert (code, errors) == (0, [])
    frame, found = pd.read_csv("frame.csv"), pd.read_csv("estimated.csv")
    assert len(found) == len(frame) > 100
    assert found["timestamp"].tolist() == frame["timestamp"].tolist()
    weights = json.loads((trained / MODEL / "weight.json").read_text())["package"]["All_Weights"]
    by_hand = weights["Bias_Weight"] + sum(
        own["weight"] * frame[name] / own["scale"] for name, own in weights["Numerical_Variables"].items()
    )
    np.testing.assert_allclose(found["package_power"], by_hand, rtol=1e-9)
    for component in ("package", "dram"):
        assert (found[f"{component}_power_low"] <= found[f"{component}_power"]).all()
        assert (found[f"{component}_power"] <= found[f"{component}_power_high"]).all()
        assert (found[f"{component}_power_low"] >= 0).all()
    inside = frame["package_power"].between(found["package_power_low"], found["package_power_high"]).mean()
    assert inside > 0.8
    off = (found["package_power"] - frame["package_power"]).abs().mean()
    assert f"{off:.2f} W off what was measured" in "\n".join(lines)
    assert not found["outside"].any()  # these are the rows that it learnt from


def test_a_query_a_folder_and_an_archive_say_the_same(typed: KeplerTrain) -> None:
    for name, model, data in (("a", MODEL, "frame.csv"), ("b", f"{MODEL}.zip", "kepler_query")):
        code, _, errors = typed(f"estimate --model {model} --data {data} --output {name}.csv")
        assert (code, errors) == (0, [])
    columns = ["timestamp", "package_power", "package_power_low", "dram_power_high"]
    a, b = (pd.read_csv(f"{name}.csv")[columns] for name in "ab")
    np.testing.assert_allclose(a, b, rtol=1e-9)


def test_containers_of_a_query_have_power_of_their_own(typed: KeplerTrain) -> None:
    code, _, errors = typed(f"estimate --model {MODEL.replace('AbsPower', 'DynPower')} --output dyn.parquet")
    assert (code, errors) == (0, [])
    found = pd.read_parquet("dyn.parquet")
    assert found["id"].nunique() > 3
    assert (found["package_power"] >= 0).all()


@pytest.mark.parametrize("trainer", ["LinearRegressionTrainer", "XgboostFitTrainer"])
def test_containers_add_up_to_what_the_model_says_of_their_node(
    trainer: str, typed: KeplerTrain, trained: Path
) -> None:
    name = f"models/base/rapl-sysfs/DynPower/Basic/{trainer}_0"
    assert typed(f"estimate --model {name} --output dyn.parquet")[0] == 0
    assert typed("extract -i kepler_query -fg Basic -ot DynPower -o rows.parquet")[0] == 0
    model, rows = load_model(trained / name), pd.read_parquet("rows.parquet")
    nodes = rows.groupby("timestamp")[model.features].sum()
    found = pd.read_parquet("dyn.parquet").groupby("timestamp")
    np.testing.assert_allclose(found["package_power"].sum(), model.predict(nodes)["package"], rtol=1e-9)
    interval = json.loads((trained / name / "metadata.json").read_text())["interval"]["package"]
    half = interval["constant"] + interval["share"] * found["package_power"].sum()
    np.testing.assert_allclose(found["package_power_high"].sum() - found["package_power"].sum(), half, rtol=1e-9)


def test_a_node_that_does_more_than_any_did_is_marked_by_its_containers_too(typed: KeplerTrain) -> None:
    assert typed("extract -i kepler_query -fg Basic -ot DynPower -o rows.csv")[0] == 0
    rows = pd.read_csv("rows.csv")
    crowd = pd.concat([rows.assign(id=rows["id"] + f"-{number}") for number in range(20)])
    crowd.to_csv("crowd.csv", index=False)
    name = MODEL.replace("AbsPower", "DynPower")
    for data, least, most in (("rows.csv", 0.0, 0.1), ("crowd.csv", 0.5, 1.0)):
        assert typed(f"estimate --model {name} --data {data} --output marked.csv")[0] == 0
        assert least <= pd.read_csv("marked.csv")["outside"].mean() <= most


def test_power_of_whole_nodes_is_not_taken_for_that_of_containers(typed: KeplerTrain) -> None:
    assert typed("extract -i kepler_query -fg Basic -ot DynPower -o rows.csv")[0] == 0
    _, lines, errors = typed(f"estimate --model {MODEL.replace('AbsPower', 'DynPower')} --data rows.csv -o dyn.csv")
    assert errors == []
    assert "attributed" not in "".join(lines)


def test_a_row_that_names_no_node_is_of_the_machine(typed: KeplerTrain) -> None:
    frame = pd.read_csv("frame.csv")
    frame.assign(node=None).to_csv("nameless.csv", index=False)
    assert typed(f"estimate --model {MODEL} --data nameless.csv --id m5 --output named.csv")[0] == 0
    assert set(pd.read_csv("named.csv")["node"]) == {"m5"}


def test_estimates_take_the_place_of_earlier_ones_of_other_columns(typed: KeplerTrain) -> None:
    for name in (MODEL, MODEL.replace("AbsPower", "DynPower")):
        assert typed(f"estimate --model {name} --data kepler_query --output same.csv")[0] == 0
    assert "id" in pd.read_csv("same.csv").columns


def test_rows_that_a_model_learnt_from_are_no_test_of_it(typed: KeplerTrain) -> None:
    frame = pd.read_csv("frame.csv")
    later = frame.assign(timestamp=frame["timestamp"] + 86400)
    later.to_csv("later.csv", index=False)
    said = f"{len(frame)} of {len(frame)} rows are of the time that LinearRegressionTrainer_0 was trained on"
    for data, times in (("frame.csv", 1), ("later.csv", 0)):
        _, lines, _ = typed(f"estimate --model {MODEL} --data {data} --output estimated.csv")
        assert sum(said in line for line in lines) == times


def test_a_schedule_says_which_workload_the_rows_of_a_frame_belong_to(typed: KeplerTrain) -> None:
    frame = pd.read_csv("frame.csv")
    frame.drop(columns="workload").to_csv("nameless.csv", index=False)
    assert typed(f"estimate --model {MODEL} --data nameless.csv --schedule schedule.json --output named.csv")[0] == 0
    assert pd.read_csv("named.csv")["workload"].fillna("").tolist() == frame["workload"].fillna("").tolist()
    code, _, errors = typed(f"estimate --model {MODEL} --data nameless.csv --schedule nothing.json")
    assert (code, len(errors)) == (2, 1)


def test_nodes_of_a_frame_are_chosen_by_name(typed: KeplerTrain) -> None:
    frame = pd.read_csv("frame.csv")
    pd.concat([frame.assign(node="a"), frame.assign(node="b")]).to_csv("two.csv", index=False)
    assert typed(f"estimate --model {MODEL} --data two.csv --nodes b --output b.csv")[0] == 0
    assert set(pd.read_csv("b.csv")["node"]) == {"b"}
    code, _, errors = typed(f"estimate --model {MODEL} --data two.csv --nodes b,c")
    assert (code, errors) == (2, ["error: two.csv has no rows of c, only of a, b."])


def test_rows_beyond_the_training_data_are_marked_and_said(typed: KeplerTrain) -> None:
    frame = pd.read_csv("frame.csv")
    features = [name for name in frame.columns if name.startswith(("bpf", "c"))]
    frame.loc[:9, features] = 10 * frame[features].max().to_numpy()
    frame.to_csv("beyond.csv", index=False)
    code, lines, _ = typed(f"estimate --model {MODEL} --data beyond --output estimated.csv")
    found = pd.read_csv("estimated.csv")
    assert (code, int(found["outside"].sum())) == (0, 10)
    said = f"10 of {len(frame)} rows are unlike any that LinearRegressionTrainer_0 was trained on"
    assert sum(said in line for line in lines) == 1


def test_data_without_power_are_what_it_is_for(typed: KeplerTrain) -> None:
    frame = pd.read_csv("frame.csv")
    frame[[name for name in frame.columns if not name.endswith("_power")]].to_csv("bare.csv", index=False)
    code, lines, errors = typed(f"estimate --model {MODEL} --data bare.csv --output estimated.csv")
    assert (code, errors) == (0, [])
    assert len(pd.read_csv("estimated.csv")) == len(frame)
    assert "measured" not in "\n".join(lines)


def without_meter(query: Path, into: str, *dropped: str) -> Path:
    """A copy of a query as a machine without a meter leaves it; metrics with `dropped` in their names go too."""
    for file in query.glob("*.parquet"):
        if not any(part in file.name for part in ("joules", *dropped)):
            Path(into).mkdir(exist_ok=True)
            shutil.copy(file, into)
    return Path(into)


@pytest.mark.parametrize("kind", ["AbsPower", "DynPower"])
def test_without_its_meter_a_machine_is_estimated_alike(kind: str, typed: KeplerTrain, trained: Path) -> None:
    model = MODEL.replace("AbsPower", kind)
    export_json(without_meter(trained / "kepler_query", "bare"), Path("bare_too.json"))
    for data in ("kepler_query", "bare", "bare_too.json"):
        code, lines, errors = typed(f"estimate --model {model} --data {data} --output {Path(data).stem}.parquet")
        assert (code, errors) == (0, [])
        assert ("measured" in "\n".join(lines)) == (kind == "AbsPower" and data == "kepler_query")
    metered, bare, as_json = (pd.read_parquet(f"{name}.parquet") for name in ("kepler_query", "bare", "bare_too"))
    assert len(metered) >= 719  # three hours, scraped every 15 s
    pd.testing.assert_frame_equal(bare, metered, rtol=1e-12)
    pd.testing.assert_frame_equal(as_json, metered, rtol=1e-12)


def test_training_still_needs_the_energy_of_a_meter(typed: KeplerTrain, trained: Path) -> None:
    without_meter(trained / "kepler_query", "bare")
    for line in ("train -p new -i bare -fg Basic", "extract -i bare -fg Basic", "validate -i bare"):
        code, _, errors = typed(line)
        assert (code, len(errors)) == (3, 1)
        assert "no energy counters of rapl-sysfs" in errors[0]


def test_each_of_several_nodes_has_rows_of_its_own_and_one_that_cannot_serve_is_left_out(
    typed: KeplerTrain, trained: Path, tmp_path: Path
) -> None:
    two = without_meter(write_node(tmp_path / "two", hours=1, nodes=2) / "kepler_query", "vms")
    code, _, errors = typed(f"estimate --model {MODEL} --data vms --output both.csv")
    found = pd.read_csv("both.csv")
    assert (code, errors) == (0, [])
    assert found.groupby("node").size().to_dict() == {"node-0": 240, "node-1": 240}
    assert not found.duplicated(["timestamp", "node"]).any()
    keep_nodes(two / "kepler_container_cache_miss_total.parquet", "node-0")
    code, lines, errors = typed(f"estimate --model {MODEL} --data vms --output one.csv")
    assert (code, errors) == (0, [])
    pd.testing.assert_frame_equal(pd.read_csv("one.csv"), found[found["node"] == "node-0"], check_dtype=False)
    assert [line for line in lines if line.startswith("warning")] == [
        "warning: Node node-1 has no kepler_container_cache_miss_total, which the model needs: collect feature group"
        " Basic, or take a model of another one. It is left out."
    ]
    code, _, errors = typed(f"estimate --model {MODEL} --data vms --nodes node-0,node-1")
    assert (code, len(errors)) == (3, 1)
    assert "Node node-1 has no kepler_container_cache_miss_total" in errors[0]
    keep_nodes(two / "kepler_container_cpu_cycles_total.parquet", "node-1")
    code, lines, errors = typed(f"estimate --model {MODEL} --data vms")
    assert (code, sum(line.startswith("warning") for line in lines)) == (3, 2)
    assert errors == ["error: None of the 2 nodes of the query can be estimated: the lines above say why."]


def keep_nodes(file: Path, *names: str) -> None:
    rows = pq.read_table(file)
    pq.write_table(rows.filter(pc.is_in(rows["label.instance"].cast("string"), pa.array(names))), file)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("lacking", "no kepler_container_cpu_cycles_total, which the model needs"),
        ("other", "The query has no kepler_container_bpf_cpu_time_ms_total, kepler_container_bpf_page"),
        ("bare --nodes worker-7", "The query has no features of the node worker-7, only of node-0."),
        ("once", "was scraped once in the window, and a rate needs two scrapes"),
        ("restarts", "has no 15 s without a gap or a reset of its counters"),
    ],
)
def test_queries_without_a_meter_that_cannot_serve_are_one_sentence(
    data: str, words: str, typed: KeplerTrain, trained: Path
) -> None:
    query = trained / "kepler_query"
    bare = without_meter(query, "bare")
    without_meter(query, "lacking", "cpu_cycles")
    without_meter(query, "other", "bpf_", "cache_miss", "cpu_")
    for file in bare.glob("*.parquet"):
        many = read_series(bare, file.stem)
        first = min(one.times[0] for one in many)
        at_once = [Series(one.labels, one.times[:1], one.values[:1]) for one in many if one.times[0] == first]
        written(Path("once"), {file.stem: at_once})
        written(Path("restarts"), {file.stem: [Series(one.labels, one.times, -one.values) for one in many]})
    code, _, errors = typed(f"estimate --model {MODEL} --data {data}")
    assert (code, len(errors)) == (3, 1)
    assert words in errors[0]
    assert not Path("estimated.parquet").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("estimate --model nothing --data frame.csv", "There is no model nothing"),
        (f"estimate --model {MODEL} --data nothing", "There is no query nothing"),
        (f"estimate --model {MODEL} --data short.csv", "needs bpf_page_cache_hit"),
        (f"estimate --model {MODEL} --data holes.csv", "cpu_cycles"),
        (f"estimate --model {MODEL} --data empty.csv", "no rows"),
        ("estimate --model cut.zip --data frame.csv", "cut.zip"),
        ("estimate --model newer --data frame.csv", "newer"),
        (f"plot --target-data residuals --model {MODEL} -i bare.csv", "no measured power"),
        ("plot --target-data estimate -i frame.csv", "--model"),
        ("plot --target-data error", "--pipeline-name"),
        ("plot --target-data error -p nothing", "has no models"),
        (f"plot --target-data curve --model {MODEL} -i frame.csv -o picture.gif", "cannot be drawn"),
    ],
)
def test_what_cannot_work_is_one_sentence(line: str, words: str, typed: KeplerTrain, trained: Path) -> None:
    frame = pd.read_csv("frame.csv")
    frame.drop(columns="bpf_page_cache_hit").to_csv("short.csv", index=False)
    frame.drop(columns=[name for name in frame.columns if name.endswith("_power")]).to_csv("bare.csv", index=False)
    frame.assign(cpu_cycles=np.nan).to_csv("holes.csv", index=False)
    frame.head(0).to_csv("empty.csv", index=False)
    Path("cut.zip").write_bytes((trained / f"{MODEL}.zip").read_bytes()[:500])
    shutil.copytree(trained / MODEL, "newer")
    metadata = json.loads(Path("newer/metadata.json").read_text())
    Path("newer/metadata.json").write_text(json.dumps(metadata | {"schema_version": 99}))
    before = set(Path().iterdir())
    code, _, errors = typed(line)
    assert (code in (2, 3), len(errors)) == (True, 1)
    assert words in errors[0]
    assert set(Path().iterdir()) == before  # nothing half written


@pytest.mark.parametrize(
    "altered",
    [
        {"interval": {}},
        {"hull": 5},
        {"output_type": None},
        {"energy_source": 5},
        {"energy_source": "sun"},
        {"main_features": {}},
    ],
)
def test_a_model_with_other_metadata_is_refused_in_one_sentence(
    altered: dict[str, Any], typed: KeplerTrain, trained: Path
) -> None:
    shutil.copytree(trained / MODEL, "altered")
    metadata = json.loads(Path("altered/metadata.json").read_text())
    Path("altered/metadata.json").write_text(json.dumps(metadata | altered))
    write_sums(Path("altered"))
    code, _, errors = typed("estimate --model altered --data frame.csv")
    assert (code, len(errors)) == (2, 1)
    assert next(iter(altered)) in errors[0] or "sun" in errors[0]


def test_a_pipeline_is_no_model(typed: KeplerTrain) -> None:
    code, _, errors = typed("estimate --model models/base --data frame.csv")
    assert (code, len(errors)) == (2, 1)
    assert "is not the folder of a model" in errors[0]


@pytest.mark.parametrize("target", ["preprocess", "estimate", "curve", "residuals", "error"])
@pytest.mark.parametrize("data", ["frame.csv", "kepler_query"])
def test_pictures_of_frames_and_queries(target: str, data: str, typed: KeplerTrain) -> None:
    code, _, errors = typed(f"plot --target-data {target} -i {data} --model {MODEL} -p base -o {target}")
    assert (code, errors) == (0, [])
    assert Path(f"{target}.png").read_bytes().startswith(b"\x89PNG")


def test_a_name_of_a_frame_and_of_a_query_is_refused(
    typed: Callable[[str], tuple[int, list[str], list[str]]], trained: Path, tmp_path: Path
) -> None:
    (tmp_path / "two").symlink_to(trained / "kepler_query")
    (tmp_path / "two.csv").symlink_to(trained / "frame.csv")
    for command in (f"estimate -m {MODEL} -i two", "plot -i two -o two.png"):
        code, _, errors = typed(command)
        assert (code, errors) == (2, ["error: two may be two.csv or two/: write the one you mean."])
    for name in ("two/", "two.csv"):
        assert typed(f"estimate -m {MODEL} -i {name} -o {name[:3]}-rows.csv")[0] == 0
    (tmp_path / "two.parquet").touch()
    assert typed("train-from-data -i two -p other")[2] == [
        "error: two may be two.parquet or two.csv: write the one you mean."
    ]
