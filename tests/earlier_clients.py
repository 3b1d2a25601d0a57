"""An environment with what clients of kepler-model-server 0.7 have: its Python and its libraries."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# As its requirements pin them. `xgboost-cpu` is XGBoost without what GPUs need, which is 400 MB.
LIBRARIES = [
    "joblib==1.4.2",
    "numpy==2.1.2",
    "scikit-learn==1.5.1",
    "scipy==1.14.1",
    "threadpoolctl==3.5.0",
    "xgboost-cpu==2.1.2",
]
_SECONDS = 240  # for downloads of 80 MB
# What such a client does with the folder of a model, written anew from its description: transform, predict, and no
# power below 0 W. With weights it divides by scales and asks the booster in them.
_CLIENT = """
import base64, json, os, sys
import joblib, numpy, sklearn, xgboost
rows, *folders = sys.argv[1:]
X = {name: numpy.array(values) for name, values in json.load(open(rows)).items()}
columns = lambda names: numpy.column_stack([X[name] for name in names])
def read(folder):
    metadata = json.load(open(os.path.join(folder, "metadata.json")))
    found = {"model": {}, "weights": {}}
    for component, entry in json.load(open(os.path.join(folder, metadata["model_file"]))).items():
        rows = columns(entry["features"])
        for name in entry["fe_files"]:
            rows = joblib.load(os.path.join(folder, name)).transform(rows)
        file = os.path.join(folder, entry["model_file"])
        if metadata["model_class"] == "xgboost":
            model = xgboost.XGBRegressor(n_estimators=1000, learning_rate=0.1)
            model.load_model(file)
        else:
            model = joblib.load(file)
        found["model"][component] = numpy.maximum(model.predict(rows).squeeze(), 0).tolist()
    weights = os.path.join(folder, "weight.json")
    for component, entry in (json.load(open(weights)) if os.path.exists(weights) else {}).items():
        if component in found["model"] and "XGboost_Weights" in entry["All_Weights"]:
            scales = entry["All_Weights"]["Numerical_Variables"]
            booster = xgboost.Booster()
            booster.load_model(bytearray(base64.b64decode(entry["All_Weights"]["XGboost_Weights"])))
            rows = columns(scales) / [own["scale"] for own in scales.values()]
            found["weights"][component] = numpy.maximum(booster.inplace_predict(rows), 0).tolist()
    return found
print(json.dumps([[xgboost.__version__, sklearn.__version__], *map(read, folders)]))
"""


def client_python(cache: Path) -> Path:
    """Return the Python of the environment, which is made once; skip where it cannot be."""
    place = cache / "kepler-model-server-0.7"
    python = place / "bin" / "python"
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        _make(place, python)
        (place / "complete").touch()
    return python


def _make(place: Path, python: Path) -> None:
    beside = Path(sys.prefix).parent / ".venv.tools" / "bin" / "uv"
    uv = shutil.which("uv") or (str(beside) if beside.exists() else "")
    if uv:
        beside_ours = Path(sys.base_prefix).parent.glob("3.10*/bin/python")  # as pyenv installs several
        for version in ("3.10", *map(str, beside_ours), "3.11", sys.executable):
            if _succeeds([uv, "venv", "--quiet", "--no-python-downloads", "--python", version, str(place)]):
                break
        install = [uv, "pip", "install", "--quiet", "--python", str(python)]
    else:
        _succeeds([sys.executable, "-m", "venv", str(place)])
        install = [str(python), "-m", "pip", "install", "--quiet"]
    if not _succeeds([*install, "--no-deps", "--only-binary", ":all:", *LIBRARIES]):
        pytest.skip("the libraries of kepler-model-server 0.7 cannot be installed here: no package index, or no wheels")


def _succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def client_watts(
    python: Path, folders: dict[str, Path], rows: dict[str, list[float]], scratch: Path
) -> tuple[list[str], dict[str, Any]]:
    """Return the versions of XGBoost and scikit-learn, and what the client predicts with the model in each folder.

    It is `model` by component from the model's files, and `weights` by component from its weights.
    """
    (scratch / "rows.json").write_text(json.dumps(rows))
    command = [str(python), "-W", "ignore", "-c", _CLIENT, str(scratch / "rows.json"), *map(str, folders.values())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    versions, *found = json.loads(done.stdout)
    return versions, dict(zip(folders, found, strict=True))
