"""Parts of a run: what its steps can do at once, one task or pod each."""

from __future__ import annotations

from kepler_train.spec import RunSpec
from kepler_train.workspace import part_of


def nodes_of(spec: RunSpec) -> list[str]:
    """The nodes of a run, as parts of the extract step; a run that names none has one, whichever is there."""
    return [part_of(node) for node in spec.nodes] or [""]


def models_of(spec: RunSpec) -> list[str]:
    """The models of a run, as parts of the train step: `<source>/<output type>/<group>/<trainer>`."""
    return [
        f"{source}/{output_type}/{group}/{trainer}"
        for source in spec.energy_sources
        for output_type in spec.output_types
        for group in spec.feature_groups
        for trainer in spec.trainers(output_type)
    ]
