"""`isolate-from-data` and `train-from-data` on frames of a real machine and of our own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

KeplerTrain = Callable[..., tuple[int, list[str], list[str]]]


@pytest.fixture
def public(shared_data: Path) -> Path:
    """Frames of a real machine in the earlier layout."""
    return shared_data / "nx12"


def test_min_isolation_of_a_public_frame_is_what_was_published(
    kepler_train: KeplerTrain, public: Path, tmp_path: Path
) -> None:
    code, _, errors = kepler_train(
        "isolate_from_data",
        *("-i", str(public / "preprocess_abs_default_rapl_BPFIRQ.csv"), "-o", str(tmp_path / "ours.csv")),
        *("-fg", "BPFIRQ", "--features", "frame", "--isolator", "min"),
    )
    assert (code, errors) == (0, [])
    ours = pd.read_csv(tmp_path / "ours.csv").set_index("timestamp")
    theirs = pd.read_csv(public / "preprocess_dyn_default_min_rapl_BPFIRQ.csv").set_index("timestamp")
    assert len(ours) == len(theirs) == 2202
    for column in ("package_power", "dram_power", "bpf_net_rx_irq"):
        np.testing.assert_allclose(ours[column], theirs.loc[ours.index, column], atol=1e-9)
    np.testing.assert_allclose(ours["bpf_cpu_time_ms"], theirs["bpf_cpu_time_us"] / 1000)


def test_a_public_frame_trains_models_of_both_output_types(
    kepler_train: KeplerTrain, public: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAPATH", str(tmp_path / "frames"))
    (tmp_path / "frames").mkdir()
    for output_type, frame in (("AbsPower", "abs_default"), ("DynPower", "dyn_default_min")):
        name = f"preprocess_{frame}_rapl_CounterOnly.csv"
        pd.read_csv(public / name, nrows=39).to_csv(tmp_path / "frames" / name, index=False)
        code, said, errors = kepler_train(
            "train-from-data",
            *("-i", f"preprocess_{frame}_rapl_CounterOnly", "-p", output_type.lower(), "-fg", "CounterOnly"),
            *("-ot", output_type, "-e", "rapl", "--trainers", "LinearRegressionTrainer", "--id", "nx12"),
        )
        assert (code, errors) == (0, [])
        assert said[0] == "The energy source rapl is taken for rapl-sysfs."
        assert said[1] == "Node type 1, as the frame says."
        home = tmp_path / "models" / output_type.lower()
        model = home / "rapl-sysfs" / output_type / "CounterOnly" / "LinearRegressionTrainer_1"
        metadata = json.loads((model / "metadata.json").read_text())
        assert metadata["features"] == ["cache_miss", "cpu_cycles", "cpu_instructions"]
        assert (metadata["rows"], metadata["machine_id"]) == (39, "nx12")
        assert 0 < metadata["package_mae"] < 15
    assert json.loads((home / "metadata.json").read_text())["isolator"] == "min"  # as the name of the frame says


def test_the_features_of_a_frame_may_be_listed_by_older_names(
    kepler_train: KeplerTrain, public: Path, tmp_path: Path
) -> None:
    code, _, errors = kepler_train(
        *("train-from-data", "-i", str(public / "preprocess_abs_default_rapl_Basic.csv"), "-p", "listed"),
        *("--features", "cpu_cycles,bpf_cpu_time_us", "--trainers", "LinearRegressionTrainer"),
    )
    assert (code, errors) == (0, [])
    weights = json.loads(next((tmp_path / "models").rglob("weight.json")).read_text())
    assert sorted(weights["package"]["All_Weights"]["Numerical_Variables"]) == ["bpf_cpu_time_ms", "cpu_cycles"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("train-from-data -p mine -i nothing", 2, "There is no frame nothing"),
        ("train-from-data -p mine -i FRAME", 3, "no bpf_page_cache_hit of feature group BPFOnly"),
        ("train-from-data -p mine -i FRAME -e acpi --features frame", 3, "has no power of acpi"),
        ("train-from-data -p mine -i FRAME --features nothing", 2, "The frame has no nothing: it has bpf_cpu_time_ms"),
        ("train-from-data -p mine -i FRAME -fg BPFOnly,Basic", 2, "holds one of them"),
        ("train-from-data -p mine -i FRAME --trainers Magic", 2, "no trainer 'Magic'"),
        ("isolate-from-data -i FRAME -o out --isolator profile --features frame", 2, "make one with"),
        ("isolate-from-data -i DYN -o out --features frame --isolator trainer", 2, "abs_pipeline"),
    ],
)
def test_what_cannot_work_is_one_sentence_and_its_exit_code(
    arguments: str, code: int, words: str, kepler_train: KeplerTrain, public: Path, tmp_path: Path
) -> None:
    files = {
        "FRAME": str(public / "preprocess_abs_default_rapl_BPFOnly.csv"),
        "DYN": str(public / "preprocess_dyn_default_min_rapl_BPFOnly.csv"),
    }
    ended, _, errors = kepler_train(*(files.get(word, word) for word in arguments.split()))
    assert (ended, len(errors)) == (code, 1)
    assert words in errors[0]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
