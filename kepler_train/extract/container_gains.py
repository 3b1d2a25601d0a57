"""What containers gained in every step, in batches that fit into memory whatever the length of the recording."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kepler_train.arrays import Floats
from kepler_train.extract.feature_series import Feature
from kepler_train.extract.increments import add_gains
from kepler_train.extract.windows import Clock

# The memory of a batch, about (bytes).
_BATCH = 128 << 20


class ContainerGains:
    """The features of a node's containers by step; `batches` are the names of the containers, some at a time."""

    def __init__(self, features: Sequence[Feature], clock: Clock) -> None:
        self.features = [feature for feature in features if feature.of_node is None]
        self._clock = clock
        self._read: dict[str, Floats] = {}
        names = sorted({container for feature in self.features for container in feature.containers})
        bytes_each = max(len(clock.steps) * len(self.features) * 8, 1)
        size = max(1, _BATCH // bytes_each)
        self.batches = [names[first : first + size] for first in range(0, len(names), size)] or [[]]
        if len(self.batches) == 1:  # then all containers are read once
            self._read = {feature.name: self.gains(feature, self.batches[0]) for feature in self.features}
        self.totals = {feature.name: self._total(feature) for feature in self.features}

    def gains(self, feature: Feature, batch: list[str]) -> Floats:
        """Return what each container of a batch gained in every step; 0 where it did not run."""
        if feature.name in self._read:
            return self._read[feature.name]
        gains = np.zeros((len(batch), len(self._clock.steps)))
        position = {name: number for number, name in enumerate(batch)}
        for container, series in feature.read(batch):
            add_gains(gains[position[container]], series, self._clock, from_birth=feature.from_birth)
        return gains

    def _total(self, feature: Feature) -> Floats:
        """Return what all containers gained in every step."""
        return np.asarray(sum(self.gains(feature, batch).sum(axis=0) for batch in self.batches))
