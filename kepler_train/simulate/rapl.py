"""A virtual RAPL meter: energy counters that follow this machine's real CPU use by a known law.

Power of a zone (W) at busy share u (0 to 1) is `idle + slope · u^exponent`, with u that of the zone's package;
psys follows the whole machine and has its power times the number of packages.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kepler_train.errors import UserError
from kepler_train.simulate.cpu_usage import busy_share, cpu_ticks, packages
from kepler_train.simulate.powercap import DEFAULT_RANGE_UJ, Tree, zones
from kepler_train.simulate.rapl_truth import Microjoules, RaplTruth

FIRST_JOULES = 1000  # a counter that has run since boot is not at 0 when its reader starts
SHORTEST_TICK = 0.05  # s; the kernel counts CPU time in hundredths of a second
LEAST_RANGE_SECONDS = 10  # a reader that comes every 5 s must not miss a whole round of the counter


@dataclass(frozen=True)
class Law:
    """The power of one zone: `idle + slope · u^exponent` (W)."""

    idle: float
    slope: float
    exponent: float

    def watts(self, u: float) -> float:
        """Return the power (W) at busy share u."""
        return self.idle + self.slope * float(u**self.exponent)


# psys feeds packages, memory and the board: at every u it is more than package and dram together.
LAWS = {
    "package": Law(20, 60, 0.8),
    "core": Law(8, 45, 0.9),
    "dram": Law(3, 6, 1.0),
    "psys": Law(35, 75, 0.85),
}


class RaplMeter:
    """The counters and the truth of this machine, brought up to date by `tick`.

    Each tick adds power times the time that really passed since the one before, so a late tick loses nothing.
    While no meter runs the counters stand still, and so does the truth.
    """

    def __init__(
        self,
        sysfs: Path,
        truth: Path,
        package_count: int = 0,
        range_uj: int = DEFAULT_RANGE_UJ,
        proc: Path = Path("/proc"),
    ) -> None:
        self._stat = proc / "stat"
        self._ticks = cpu_ticks(self._stat.read_text())
        self._cpus = packages(self._ticks, package_count)
        self.zones = zones(len(self._cpus))
        least = LEAST_RANGE_SECONDS * round(max(self._watts(zone.kind, 1.0) for zone in self.zones)) * 10**6
        if range_uj < least:
            raise UserError(
                f"--max-energy-range-uj {range_uj} wraps within {LEAST_RANGE_SECONDS} s at full load: "
                f"give at least {least}."
            )
        columns = [zone.column for zone in self.zones]
        shares = ["u", *(f"u_package-{n}" for n in range(len(self._cpus)) if len(self._cpus) > 1)]
        self._shares: list[float] = [0.0] * len(self._cpus)
        with ExitStack() as opened:
            self._tree = Tree(sysfs, self.zones, range_uj)
            opened.callback(self._tree.close)
            self._truth = RaplTruth(truth, shares, columns)
            opened.callback(self._truth.close)
            self.energy = self._where_it_ended()
            self._tree.create(self._shown())
            self._left_over = dict.fromkeys(columns, 0.0)  # µJ below one
            self._at = time.monotonic()
            # Nothing was measured up to here, and no counter moved.
            self._truth.add(time.time(), [None] * len(shares), dict.fromkeys(columns, 0.0), self.energy)
            self._close = opened.pop_all().close

    def tick(self) -> None:
        """Add what was used since the last tick to truth and counters, in this order."""
        ticks, now = cpu_ticks(self._stat.read_text()), time.monotonic()
        moment, elapsed = time.time(), now - self._at
        whole = busy_share(self._ticks, ticks, ticks)
        if whole is None:
            return  # no CPU time was counted yet: the next tick has it all
        for n, cpus in enumerate(self._cpus):
            share = busy_share(self._ticks, ticks, cpus)
            self._shares[n] = self._shares[n] if share is None else share
        self._ticks, self._at = ticks, now
        watts = {}
        for zone in self.zones:
            power = self._watts(zone.kind, whole if zone.package is None else self._shares[zone.package])
            used = power * elapsed * 1e6 + self._left_over[zone.column]
            self.energy[zone.column] += int(used)
            self._left_over[zone.column] = used - int(used)
            watts[zone.column] = power
        shares = [whole, *self._shares] if len(self._cpus) > 1 else [whole]
        self._truth.add(moment, shares, watts, self.energy)
        self._tree.show(self._shown())

    def close(self) -> None:
        """Close tree and truth and leave them as they are."""
        self._close()

    def _watts(self, kind: str, u: float) -> float:
        return LAWS[kind].watts(u) * (len(self._cpus) if kind == "psys" else 1)

    def _shown(self) -> Microjoules:
        return {column: energy % self._tree.range_uj for column, energy in self.energy.items()}

    def _where_it_ended(self) -> Microjoules:
        """Return the energy of the truth's last row, else of the tree, else the first; both must agree."""
        shown, last = self._tree.counters(), self._truth.last
        if last is None:
            return shown or {zone.column: FIRST_JOULES * 10**6 for zone in self.zones}
        for column, counter in (shown or {}).items():
            # A meter that was killed between the two had written one row more than it showed.
            ahead = (last[column] - counter) % self._tree.range_uj
            if ahead not in (0, self._truth.last_step[column]):
                raise UserError(
                    f"{self._truth.path} is not the truth of {self._tree.root}: {column} ended at "
                    f"{last[column] / 1e6:.3f} J there, the counter is at {counter / 1e6:.3f} J. Give another --truth."
                )
        return dict(last)


@contextmanager
def rapl_meter(
    sysfs: Path, truth: Path, package_count: int = 0, range_uj: int = DEFAULT_RANGE_UJ
) -> Iterator[RaplMeter]:
    """Yield a meter to `keep`; what the file system refuses, now or later, becomes one sentence."""
    meter = None
    try:
        meter = RaplMeter(sysfs, truth, package_count, range_uj)
        yield meter
    except OSError as error:
        raise UserError(f"The meter cannot use {error.filename or sysfs}: {error.strerror or error}.") from error
    finally:
        if meter:
            meter.close()


def keep(meter: RaplMeter, every: float, ended: Callable[[float], bool]) -> None:
    """Tick at whole multiples of `every` (s) until `ended`, which waits for so long, returns True; then once more."""
    began, stop = time.monotonic(), False
    while not stop:
        past = time.monotonic() - began
        stop = ended((int(past / every) + 1) * every - past)
        meter.tick()


@contextmanager
def stop_signals() -> Iterator[Callable[[float], bool]]:
    """Yield a function that waits so many seconds and returns whether SIGTERM or SIGINT came."""
    signals = {signal.SIGTERM, signal.SIGINT}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield lambda seconds: signal.sigtimedwait(signals, max(seconds, 0)) is not None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
