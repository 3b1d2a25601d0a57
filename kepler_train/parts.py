"""Parts of a run: what its steps can do at once, one task or pod each."""

from __future__ import annotations

from kepler_train.model_key import ModelKey
from kepler_train.spec import RunSpec
from kepler_train.workspace import part_of


def nodes_of(spec: RunSpec) -> list[str]:
    """Return the parts of the extract step: the nodes of a run, or "" for whichever node has data."""
    return [part_of(node) for node in spec.nodes] or [""]


def models_of(spec: RunSpec) -> list[ModelKey]:
    """Return the models of a run."""
    return [
        ModelKey(source, output_type, group, trainer)
        for source in spec.energy_sources
        for output_type in spec.output_types
        for group in spec.feature_groups
        for trainer in spec.trainers(output_type)
    ]


def model_parts(spec: RunSpec) -> list[str]:
    """Return the parts of the train step: the models of a run, as text."""
    return [str(key) for key in models_of(spec)]
