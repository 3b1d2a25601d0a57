"""Files that an earlier version wrote are read by this one, and written again as they were.

`data/schema-1` and `data/schema-3` hold what a run on a simulated node left, by the version of their format;
`data/models-3` models of several kinds, with what they predicted when they were trained.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kepler_train.errors import UserError
from kepler_train.evaluate.evaluation import EVALUATION, Evaluation
from kepler_train.export.arguments import ARGUMENTS, TrainArguments
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.model_key import Family, ModelKey
from kepler_train.models import load_model
from kepler_train.models.artifact import read_metadata
from kepler_train.models.files import METADATA, write_json
from kepler_train.records import read_record
from kepler_train.validate.outcome import VERDICT, Verdict
from kepler_train.workspace.manifest import MANIFEST, Manifest

DATA = Path(__file__).parent / "data"
FIRST, THIRD, MODELS = DATA / "schema-1", DATA / "schema-3", DATA / "models-3"
XGBOOST = ModelKey("rapl-sysfs", "AbsPower", "BPFOnly", "XgboostFitTrainer")


@pytest.mark.parametrize("file", sorted(THIRD.iterdir()), ids=lambda file: file.stem)
def test_metadata_of_a_model_are_written_as_they_were_read(file: Path, tmp_path: Path) -> None:
    (tmp_path / METADATA).write_bytes(file.read_bytes())
    metadata = read_metadata(tmp_path)
    write_json(tmp_path / METADATA, metadata.content())
    assert (tmp_path / METADATA).read_bytes() == file.read_bytes()
    judged = metadata.judged(metadata.mae or 0, metadata.mape, metadata.figures, trivial=metadata.trivial)
    assert judged.content() == metadata.content()


@pytest.mark.parametrize("file", sorted(MODELS.glob("*.zip")), ids=lambda file: file.stem)
def test_a_model_predicts_what_it_did_when_it_was_trained(file: Path) -> None:
    known = json.loads((MODELS / "watts.json").read_text())
    columns = dict(zip(("cpu_cycles", "bpf_cpu_time_ms"), np.array(known["rows"]).T, strict=True))
    (watts,) = load_model(file).watts(columns).values()
    assert watts.tolist() == known["watts"][file.stem]


def test_metadata_say_what_they_said(tmp_path: Path) -> None:
    (tmp_path / METADATA).write_bytes((THIRD / "DynPower_xgboost.json").read_bytes())
    metadata = read_metadata(tmp_path)
    assert (metadata.model_name, metadata.model_class, metadata.node_type) == ("XgboostFitTrainer_1", "xgboost", 1)
    assert (metadata.output_type, metadata.attribution, metadata.rows) == ("DynPower", "proportional", 240)
    assert metadata.sharing["package"] == {"bpf_cpu_time_ms": 1.0}
    assert metadata.figures["blocked"]["package"].rows == 240
    assert metadata.interval["dram"].level == 0.9
    assert set(metadata.trivial) == {"mean", "cpu_time"}


def test_entries_of_a_later_minor_version_are_kept_with_a_model_and_ignored_elsewhere(tmp_path: Path) -> None:
    content = json.loads((THIRD / "AbsPower_linear.json").read_text()) | {"carbon": {"g": 3}}
    (tmp_path / METADATA).write_text(json.dumps(content))
    assert read_metadata(tmp_path).content()["carbon"] == {"g": 3}
    evaluation = json.loads((FIRST / EVALUATION).read_text()) | {"carbon": 3}
    (tmp_path / EVALUATION).write_text(json.dumps(evaluation))
    assert Evaluation.read(tmp_path) == Evaluation.read(FIRST)


def test_an_evaluation_is_written_as_it_was_read(tmp_path: Path) -> None:
    evaluation = Evaluation.read(FIRST)
    evaluation.write(tmp_path)
    assert (tmp_path / EVALUATION).read_bytes() == (FIRST / EVALUATION).read_bytes()
    assert list(evaluation.models) == list(evaluation.passing) == [XGBOOST]
    assert evaluation.training_of(XGBOOST.family).previous is not None
    assert list(evaluation.baselines) == [Family("rapl-sysfs", "AbsPower", "BPFOnly")]


def test_arguments_of_a_pipeline_say_what_is_read_again() -> None:
    arguments = TrainArguments.model_validate_json((FIRST / ARGUMENTS).read_bytes())
    assert (arguments.machine_id, arguments.node_type) == ("m1", 1)
    assert (arguments.energy_sources, arguments.output_types) == (["rapl-sysfs"], ["AbsPower", "DynPower"])
    assert f"{arguments.end:%Y-%m-%d %H:%M %Z}" == "2026-11-14 01:00 UTC"


def test_isolation_and_manifests_are_written_as_they_were_read() -> None:
    isolation = read_record(Isolation, (FIRST / ISOLATION).read_bytes(), ISOLATION)
    assert isolation.model_dump_json(indent=1) == (FIRST / ISOLATION).read_text()
    manifest = Manifest.read((FIRST / MANIFEST).read_bytes(), MANIFEST)
    written_since = {"request": ""}  # of which version 0.1.0 knew nothing
    assert manifest.model_dump(mode="json") == json.loads((FIRST / MANIFEST).read_text()) | written_since
    assert ModelKey.parse(manifest.part) == ModelKey("rapl-sysfs", "DynPower", "BPFOnly", "XgboostFitTrainer")


def test_a_verdict_is_written_as_it_was_read(tmp_path: Path) -> None:
    verdict = Verdict.read(FIRST / VERDICT)
    verdict.write(tmp_path / VERDICT)
    assert (tmp_path / VERDICT).read_bytes() == (FIRST / VERDICT).read_bytes()
    assert (verdict.dialect, verdict.nodes, verdict.unusable("node-0")) == ("legacy", ["node-0"], "")
    assert verdict.groups["BPFOnly"].valid
    assert verdict.health["node-0"].meters["rapl-sysfs/package"].refresh.at_most


def test_a_later_version_and_something_else_are_refused_in_one_sentence(tmp_path: Path) -> None:
    content = json.loads((FIRST / EVALUATION).read_text())
    for text, words in (
        (json.dumps(content | {"schema_version": 2}), "version 2 of the format, and this kepler-train reads up to"),
        (json.dumps(content | {"missing": 3}), "missing is missing or wrong"),
        (json.dumps(content | {"models": {"acpi/AbsPower": {}}}), r"models\.acpi/AbsPower\..* is missing or wrong"),
        ("[]", "an object is missing or wrong"),
        ("{", "cut short or not JSON"),
    ):
        (tmp_path / EVALUATION).write_text(text)
        with pytest.raises(UserError, match=words) as refused:
            Evaluation.read(tmp_path)
        assert str(tmp_path / EVALUATION) in str(refused.value)


def test_the_name_of_a_model_is_text_and_back() -> None:
    assert ModelKey.parse(str(XGBOOST)) == XGBOOST
    assert str(XGBOOST) == "rapl-sysfs/AbsPower/BPFOnly/XgboostFitTrainer"
    assert (str(XGBOOST.family), XGBOOST.table) == ("rapl-sysfs/AbsPower/BPFOnly", "rapl-sysfs_AbsPower")
    for text in ("a/b/c", "a/b/c/d/e", "a//c/d", ""):
        with pytest.raises(ValueError, match="is not of the form <source>/<output_type>/<group>/<trainer>"):
            ModelKey.parse(text)
