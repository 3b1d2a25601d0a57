"""Zips of models, as they come from a bucket that others write: read, and used to predict."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from random import Random

import numpy as np

from fuzz.case import Case
from fuzz.component_mutations import mutate_file
from fuzz.mutations import mutate_bytes
from fuzz.trained import train_each
from fuzz.zip_mutations import Members, members_of, mutate_listing, mutate_member, packed
from kepler_train.estimate.predict import predict
from kepler_train.models.archive import write_archive
from kepler_train.models.artifact import read_model
from kepler_train.models.sums import SUMS

_ROWS = np.array([0.0, 1.0, 1e3, 1e9, 1e18])


def seeds(folder: Path) -> list[Case]:
    """Return a zip per trainer."""
    cases = []
    for model in train_each(folder).values():
        write_archive(model, folder / "model.zip")
        cases.append(Case("model.zip", (folder / "model.zip").read_bytes()))
    return cases


def mutate(case: Case, random: Random) -> Case:
    """Return a zip whose bytes, list of members or files are changed; most have sums that fit."""
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
    (work / "model.zip").write_bytes(case.content)
    model, metadata = read_model(work / "model.zip")
    hulls = {str(name) for hull in metadata.hull.values() for name in hull.get("features", ())}
    predict(model, metadata, dict.fromkeys([*model.features, *sorted(hulls)], _ROWS))
