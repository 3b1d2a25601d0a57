"""A whole pipeline on files of this machine: the steps after the query, one after the other, without a workspace."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pandas as pd

from kepler_train.errors import DataError, KeplerTrainError, UserError
from kepler_train.evaluate.judging import judge_models
from kepler_train.events import warn
from kepler_train.export.step import export_models
from kepler_train.extract.feature_groups import columns_of_group
from kepler_train.extract.frame_files import CONTAINERS_FILE, NODE_FILE
from kepler_train.extract.frame_metadata import read_frame_metadata
from kepler_train.extract.training_table import training_table, with_node_power
from kepler_train.extract.write_frames import extract_samples
from kepler_train.isolate.background import NOTHING_KNOWN, KnownBackground
from kepler_train.isolate.frames import isolate_frames
from kepler_train.isolate.isolation import attributed_file
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.isolate.profile import BackgroundProfile
from kepler_train.isolate.profiling import IDLE_SECONDS, profiles_of
from kepler_train.machine.by_node import ANY_NODE, write_machines
from kepler_train.machine.spec import MachineSpec
from kepler_train.model_key import ModelKey
from kepler_train.parts import models_of
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.train.apart import runs_others_code, train_apart
from kepler_train.train.one_model import train_part
from kepler_train.train.rows import Chosen
from kepler_train.train.training_rows import Frames
from kepler_train.validate.verdict import check_verdict, verdict
from kepler_train.workspace import Figures


def node_and_containers(
    samples: Path, spec: RunSpec, schedule: Schedule, scratch: Path
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The frames of a folder of samples: rows of nodes, and rows of their containers."""
    _extract(samples, spec, schedule, scratch)
    return pd.read_parquet(scratch / NODE_FILE), pd.read_parquet(scratch / CONTAINERS_FILE)


def only_node(node: pd.DataFrame, containers: pd.DataFrame, asked: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The frames of the one node that is there, or asked for."""
    names = sorted(set(node["node"]) & set(asked) if asked else set(node["node"]))
    if len(names) != 1:
        there = ", ".join(sorted(node["node"].unique()))
        raise UserError(f"One machine is profiled at a time, and the data hold {there}: name one with --nodes.")
    return node[node["node"] == names[0]], containers[containers["node"] == names[0]]


def extract_rows(samples: Path, spec: RunSpec, schedule: Schedule, scratch: Path) -> pd.DataFrame:
    """Rows of the node for AbsPower; of its containers, with the power of the whole node, for DynPower."""
    _extract(samples, spec, schedule, scratch)
    rows = pd.read_parquet(scratch / NODE_FILE)
    if spec.output_types == ["DynPower"]:
        rows = with_node_power(pd.read_parquet(scratch / CONTAINERS_FILE), rows)
    return rows


def extract_table(samples: Path, spec: RunSpec, schedule: Schedule, scratch: Path) -> pd.DataFrame:
    """The rows as a table of one feature group and source."""
    return _table(extract_rows(samples, spec, schedule, scratch), spec)


def isolate_table(
    samples: Path, spec: RunSpec, schedule: Schedule, known: KnownBackground, scratch: Path
) -> pd.DataFrame:
    """Rows of containers with their share of the node's dynamic power."""
    _extract(samples, spec, schedule, scratch)
    write_machines(scratch, {ANY_NODE: schedule.machine} if schedule.machine else {})
    isolated = scratch / "isolate"
    isolated.mkdir()
    isolate_frames(scratch, spec, known, isolated)
    return _table(pd.read_parquet(isolated / attributed_file(spec.feature_groups[0])), spec)


def about_table(scratch: Path) -> dict[str, Any]:
    """What is known of the rows that were extracted, and perhaps isolated, in a folder."""
    about, isolation = read_frame_metadata(scratch / NODE_FILE), scratch / "isolate" / ISOLATION
    if isolation.exists():
        done = Isolation.model_validate_json(isolation.read_bytes())
        about |= {"isolator": done.isolator, "attribution": done.attribution}
    return about


def idle_profiles(samples: Path, spec: RunSpec, scratch: Path) -> dict[str, BackgroundProfile]:
    """The profile of each node of a query that was made when nothing but the background ran."""
    _extract(samples, spec, Schedule(), scratch)
    node = pd.read_parquet(scratch / NODE_FILE)
    every = pd.Series(data=True, index=node.index)
    found = profiles_of(node, [scratch / CONTAINERS_FILE], every, "query", spec.node_type, {})
    if not found:
        raise DataError(f"The idle query has less than {IDLE_SECONDS:g} s of data of a node: make a longer one.")
    return {ANY_NODE: next(iter(found.values()))} if len(found) == 1 else found


def train_pipeline(
    samples: Path,
    spec: RunSpec,
    schedule: Schedule,
    run: str,
    scratch: Path,
    out: Path,
    machine: MachineSpec | None = None,
    known: KnownBackground = NOTHING_KNOWN,
    kept: Path | None = None,
) -> Figures:
    """Train every model that is asked for, judge all, and write `<pipeline>/…` with those that pass the gate."""
    extracted, isolated = scratch / "extract", scratch / "isolate"
    for folder in (extracted, isolated):
        folder.mkdir()
    _extract(samples, spec, schedule, extracted)
    write_machines(extracted, {ANY_NODE: machine} if machine else {})
    isolate_frames(extracted, spec, known, isolated)
    return train_frames(extracted, isolated, spec, run, scratch, out, kept=kept)


def train_frames(
    extracted: Path,
    isolated: Path,
    spec: RunSpec,
    run: str,
    scratch: Path,
    out: Path,
    features: Chosen | None = None,
    kept: Path | None = None,
) -> Figures:
    """Train every model of the spec on frames, judge all, and write `<pipeline>/…` with those that pass the gate.

    `kept` has the models to go on from.
    """
    evaluated = scratch / "evaluate"
    evaluated.mkdir()
    trained: dict[ModelKey, Path] = {}
    failed: dict[ModelKey, str] = {}
    frames = Frames(extracted, isolated, spec, features)
    for key in models_of(spec):
        folder = scratch / "train" / str(key)
        folder.mkdir(parents=True)
        try:
            train_it = train_apart if runs_others_code(key) else train_part
            train_it(frames, isolated, key, spec, folder, kept)
        except DataError as error:
            failed[key] = str(error)
        except KeplerTrainError:
            raise  # what the user must change is the same for all
        except Exception as error:
            traceback.print_exc()
            failed[key] = f"It met a bug, {type(error).__name__}: please report it with the lines above."
        else:
            trained[key] = folder
        if key in failed:
            warn(f"{key} cannot be trained: {failed[key]}")
    if not trained:
        reasons = set(failed.values())
        why = reasons.pop() if len(reasons) == 1 else "the lines above say why."
        raise DataError(f"None of the {len(failed)} models could be trained: {why}")
    judge_models(trained, spec, evaluated, failed)
    return export_models(trained, isolated, evaluated, spec, run, out) | {"trained": len(trained)}


def _extract(samples: Path, spec: RunSpec, schedule: Schedule, out: Path) -> None:
    check_verdict(spec, verdict(spec, samples))
    extract_samples(samples, spec, schedule, out)


def _table(rows: pd.DataFrame, spec: RunSpec) -> pd.DataFrame:
    """The rows of the one feature group and the one source of the spec."""
    features = columns_of_group(rows, spec.feature_groups[0], spec.thirdparty_metrics)
    return training_table(rows, features, spec.energy_sources[0])
