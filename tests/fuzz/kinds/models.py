"""Zips of models, ours and of the public model database, and weights of the latter: read, and used to predict."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from random import Random

import numpy as np

from fuzz.case import Case
from fuzz.component_mutations import mutate_file
from fuzz.json_mutations import mutate_json
from fuzz.mutations import mutate_bytes
from fuzz.trained import train_each
from fuzz.zip_mutations import Members, members_of, mutate_listing, mutate_member, packed
from kepler_train.estimate.predict import predict
from kepler_train.models.archive import write_archive
from kepler_train.models.artifact import read_model
from kepler_train.models.public import is_public_model, read_public_model
from kepler_train.models.sums import SUMS

_ROWS = np.array([0.0, 1.0, 1e3, 1e9, 1e18])


_DATABASE = Path(__file__).parents[2] / "data/model-db/rapl-sysfs/AbsPower/BPFOnly"
_VARIABLES = {"bpf_cpu_time_us": {"scale": 4e6, "mean": 0, "variance": 0, "weight": 40.5}}
_WEIGHTS = {
    "SGDRegressorTrainer_0.json": {"Bias_Weight": 20.5, "Numerical_Variables": _VARIABLES},
    "LogarithmicRegressionTrainer_0.json": {"CurveFit_Weights": [50.5, 2.5, 20.5], "Numerical_Variables": _VARIABLES},
}


def seeds(folder: Path) -> list[Case]:
    """Return a zip per trainer, and models of the public database."""
    cases = [Case("public.zip", file.read_bytes()) for file in sorted(_DATABASE.glob("*.zip"))]
    for form, entry in _WEIGHTS.items():
        components = {name: {"All_Weights": entry | {"Categorical_Variables": {}}} for name in ("package", "dram")}
        cases.append(Case(form, json.dumps(components).encode()))
    for model in train_each(folder).values():
        write_archive(model, folder / "model.zip")
        cases.append(Case("model.zip", (folder / "model.zip").read_bytes()))
    return cases


def mutate(case: Case, random: Random) -> Case:
    """Return a zip whose bytes, list of members or files are changed; most have sums that fit."""
    if case.form.endswith(".json"):
        return Case(case.form, mutate_json(case.content, random))
    match random.randrange(16):
        case 0:
            return Case(case.form, mutate_bytes(case.content, random))
        case 1:
            return Case(case.form, mutate_listing(case.content, random))
    members = mutate_member(members_of(case.content), random, mutate_file)
    if random.random() < 0.3:
        members = mutate_member(members, random, mutate_file)
    if SUMS in members and random.random() < 0.97:
        members = _sealed(members)
    return Case(case.form, packed(members, zipfile.ZIP_DEFLATED))


def _sealed(members: Members) -> Members:
    """Return the files with sums that vouch for them, so that what is changed is read."""
    sums = [
        f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(members.items()) if name != SUMS
    ]
    return members | {SUMS: "".join(sums).encode()}


def call(case: Case, seeds: Path, work: Path) -> None:
    """Read the model and predict."""
    file = work / "rapl-sysfs/AbsPower/BPFOnly" / case.form
    file.parent.mkdir(parents=True)
    file.write_bytes(case.content)
    model, metadata = read_public_model(file) if is_public_model(file) else read_model(file)
    hulls = {str(name) for hull in metadata.hull.values() for name in hull.get("features", ())}
    predict(model, metadata, dict.fromkeys([*model.features, *sorted(hulls)], _ROWS))
