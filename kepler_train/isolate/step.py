"""Isolate: the power of the background out of node power, and the rest shared among containers."""

from __future__ import annotations

from pathlib import Path

from kepler_train.events import say
from kepler_train.extract.chosen import ChosenFeatures
from kepler_train.extract.frame_files import extracted_nodes
from kepler_train.isolate.background import read_known_background
from kepler_train.isolate.frames import isolate_frames
from kepler_train.machine.choice import node_type_of
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures, Inputs


def isolate(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Write the isolated frames of the run and the node type of its machine, and return figures."""
    plan, extracted = inputs.folder("plan"), inputs.folder("extract")
    nodes = extracted_nodes(extracted)
    kind = node_type_of(plan, extracted, nodes & set(spec.nodes or nodes), spec)
    kind.write(out)
    if spec.node_type is None:
        say(f"isolate: {', '.join(kind.members) or 'the machine'} is of node type {kind.number}")
    spec = kind.settled(spec)
    chosen = ChosenFeatures.read(plan)
    features = dict.fromkeys(spec.feature_groups, chosen.columns) if chosen else None
    return isolate_frames(extracted, spec, read_known_background(plan, spec, kind), out, features)
