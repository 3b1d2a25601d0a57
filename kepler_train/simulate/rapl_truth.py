"""The truth of a virtual RAPL meter: a CSV that grows by one row each tick and survives a killed meter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from kepler_train.errors import UserError

Microjoules = dict[str, int]


class RaplTruth:
    """Rows of time (Unix s), busy shares, and per zone mean power (W) since the row before and energy so far (J).

    Energies never wrap. A file that is there already is continued: `last` is where it ended, `last_step` the
    energy of its last row alone.
    """

    def __init__(self, path: Path, shares: Sequence[str], zones: Sequence[str]) -> None:
        self.path, self._zones = path, list(zones)
        header = ["time", *shares, *(f"{z}_watts" for z in zones), *(f"{z}_joules" for z in zones)]
        self.last: Microjoules | None = None
        self.last_step: Microjoules = dict.fromkeys(zones, 0)
        self._file = path.open("a+", encoding="ascii", errors="replace")
        self._file.seek(0)
        text = self._file.read()
        whole = text[: text.rfind("\n") + 1]
        if not whole:
            self._file.truncate(0)
            self._write(header)
            return
        if whole.split("\n", 1)[0].split(",") != header:
            self._file.close()
            raise UserError(f"{path} is not the truth of such a meter: its columns differ. Give another --truth.")
        self._file.truncate(len(whole))  # a row that was cut off when the disk was full
        rows = [self._energies(line) for line in whole.splitlines()[1:][-2:]]
        if rows:
            self.last = rows[-1]
            self.last_step = {zone: rows[-1][zone] - rows[0][zone] for zone in zones}

    def add(self, time: float, shares: Sequence[float | None], watts: Mapping[str, float], energy: Microjoules) -> None:
        """Write one row, handed to the kernel at once."""
        self._write(
            [
                f"{time:.3f}",
                *("" if share is None else f"{share:.6f}" for share in shares),
                *(f"{watts[zone]:.4f}" for zone in self._zones),
                *(f"{energy[zone] // 10**6}.{energy[zone] % 10**6:06d}" for zone in self._zones),
            ]
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, fields: Sequence[str]) -> None:
        self._file.write(",".join(fields) + "\n")
        self._file.flush()

    def _energies(self, line: str) -> Microjoules:
        try:
            joules = line.split(",")[-len(self._zones) :]
            return {zone: int(Decimal(text) * 10**6) for zone, text in zip(self._zones, joules, strict=True)}
        except (ValueError, ArithmeticError) as error:
            raise UserError(f"{self.path} ends with a row that is not the meter's: give another --truth.") from error
