"""Specs of runs, defaults of an installation, and catalogs of users: planned, as the first step of a run does.

| form | what it is |
|---|---|
| `spec.json` | `run-step plan --spec` |
| `defaults.json` | what KEPLER_TRAIN_DEFAULTS names, below a spec that is empty |
| `catalog.toml` | what KEPLER_TRAIN_CATALOG names |
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from unittest.mock import patch

from simulated import ASKED

from fuzz.case import Case
from fuzz.commands import command
from fuzz.json_mutations import mutate_json
from fuzz.text_mutations import mutate_lines
from kepler_airflow.settings import settings
from kepler_train.catalog import catalog
from kepler_train.spec import RunSpec, form_schema, read_spec

ALLOWED = ("loopback",)
_NOW = "2026-11-15T00:00:00Z"
_CATALOG = """\
[feature_sets]
Own = ["own_feature", "cpu_cycles"]

[feature_groups.Own]
sets = ["Own"]
main = "own_feature"

[feature_aliases]
own_us = { feature = "own_feature", factor = 0.001 }

[energy_sources.own]
components = ["package", "dram"]

[exporter_features.own_feature]
metric = "node_own_total"
match = { mode = "idle" }
skip = { device = "lo|veth.*" }

[trainers.XgboostFitTrainer.settings]
n_estimators = 10
"""
# Whatever address a bucket has: nobody listens here.
_NO_BUCKET = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
_NO_BUCKET |= {"AWS_MAX_ATTEMPTS": "1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}


def seeds(folder: Path) -> list[Case]:
    """Return a full spec, a short one, one by the names of Tekton, defaults and a catalog."""
    full = RunSpec.model_validate(ASKED | {"pipeline": "default"}).model_dump(mode="json")
    stress = {"stress": True, "stress_args": ["cpu;none;none", "vm;vm-bytes;50%"], "stress_timeout": 5, "nodes": "a"}
    tekton = {
        "TRAINERS": "LinearRegressionTrainer,auto",
        "MACHINE_ID": "m",
        "STRESS_ARGS": "cpu;none;none",
        "EXTRACTOR": "smooth",
    }
    specs = [
        Case("spec.json", json.dumps(spec).encode())
        for spec in (full, full, ASKED | {"pipeline": "default"}, stress, tekton)
    ]
    defaults = Case("defaults.json", json.dumps({"folds": 3, "nodes": ["a"], "gate_mae": 5}).encode())
    return [*specs, defaults, *[Case("catalog.toml", _CATALOG.encode())] * 2]


def mutate(case: Case, random: Random) -> Case:
    """Return a changed file."""
    if case.form == "catalog.toml":
        return Case(case.form, mutate_lines(case.content, random, random.choice((" ", ",", "="))))
    return Case(case.form, mutate_json(case.content, random))


def call(case: Case, seeds: Path, work: Path) -> None:
    """Plan a run."""
    file = work / case.form
    file.write_bytes(case.content)
    plan = ("run-step", "plan", "--workspace", str(work / "ws"), "--run", "default/1", "--now", _NOW)
    with _environment(**_NO_BUCKET):
        if case.form == "spec.json":
            command(*plan, "--spec", str(file))
        elif case.form == "defaults.json":
            with _environment(KEPLER_TRAIN_DEFAULTS=str(file), KEPLER_TRAIN_WORKSPACE=str(work / "ws")):
                read_spec(settings().defaults, "KEPLER_TRAIN_DEFAULTS")
        else:
            with _environment(KEPLER_TRAIN_CATALOG=str(file)):
                form_schema()
                (work / "spec.json").write_text(json.dumps({"end": _NOW}))
                command(*plan, "--spec", str(work / "spec.json"))


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    with patch.dict(os.environ, variables):
        _forget()
        yield
    _forget()


def _forget() -> None:
    """Forget what is read once in the life of a process."""
    catalog.cache_clear()
    settings.cache_clear()
