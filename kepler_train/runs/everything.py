"""What `train` learns where nobody chose: all that the data can serve, by every trainer."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from kepler_train.catalog import catalog
from kepler_train.catalog.user_trainers import trainer_names
from kepler_train.errors import DataError
from kepler_train.events import say
from kepler_train.samples.meters import meters_of
from kepler_train.spec import RunSpec
from kepler_train.train.trainer import trainer
from kepler_train.validate.verdict import check_verdict, verdict

# It chooses among the others, which are trained anyway.
_CHOOSER = "auto"


def every_trainer(output_type: str) -> list[str]:
    """Return all trainers that can learn an output type; a container may not have the earlier windows some look at."""
    names = [name for name in trainer_names() if name != _CHOOSER]
    return names if output_type == "AbsPower" else [name for name in names if not trainer(name).lags]


def of_the_data(spec: RunSpec, samples: Iterable[Path], left_open: Collection[str]) -> RunSpec:
    """Return the spec with the feature groups that are valid and the energy sources that were measured, in all samples.

    `left_open` names the parameters that nobody chose: `feature_groups`, `energy_sources` or both. Of these the spec
    has every one there is.
    """
    if not left_open:
        return spec
    sources, groups = list(spec.energy_sources), list(spec.feature_groups)
    for folder in samples:
        found = verdict(spec, folder)
        check_verdict(spec, found, every_group="feature_groups" not in left_open)
        meters = meters_of(folder, spec, catalog().dialect(found.dialect))
        measured = {meter.source for node in found.nodes for meter in meters[node]}
        sources = [source for source in sources if source in measured]
        groups = [group for group in groups if found.groups[group].valid]
    chosen = {"energy_sources": sources, "feature_groups": groups}
    for name in left_open:
        if not chosen[name]:
            raise DataError(f"The inputs have no {name.replace('_', ' ')} in common: train on them one by one.")
        say(f"train: {name.replace('_', ' ')} of the data: {', '.join(chosen[name])}")
    return spec.model_copy(update={name: chosen[name] for name in left_open})
