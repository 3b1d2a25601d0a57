"""The live exporter: the metrics of a node now, with faults on request."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from http import HTTPStatus

import numpy as np

from kepler_train.errors import UserError
from kepler_train.simulate.faults import DATA_FAULTS, check_faults
from kepler_train.simulate.history import DIALECTS, check_names, without_uncore
from kepler_train.simulate.live import LiveNode
from kepler_train.simulate.node import NodeRun
from kepler_train.simulate.openmetrics import format_labels, format_sample
from kepler_train.simulate.reading import reading_of
from kepler_train.simulate.series import Metric, Scrapes
from kepler_train.simulate.server import HttpAnswer, Server
from kepler_train.simulate.variant import USUAL, Variant

CYCLE_SECONDS = 300.0  # each live fault strikes once in five minutes
DOWN_SECONDS = {"gap": 60.0, "restart": 20.0}
NOT_OF_AN_EXPORTER = {
    "two-nodes": "One exporter is one node: start `simulate node` twice for two nodes in one Prometheus.",
    "duplicate": "A duplicate is made where the node is scraped: give Prometheus a second job for the same target.",
    "clock-step": "An exporter gives no timestamps: step the clock of the Prometheus that scrapes it.",
}
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Exporter:
    """`/metrics` of one node. Counters fall to 0 only when a fault asks for it."""

    def __init__(
        self,
        source: LiveNode,
        dialect: str,
        sources: Sequence[str],
        faults: frozenset[str],
        variant: Variant = USUAL,
    ) -> None:
        check_names(dialect, sources)
        check_faults(faults, DATA_FAULTS)
        for name in faults & NOT_OF_AN_EXPORTER.keys():
            raise UserError(NOT_OF_AN_EXPORTER[name])
        self._source, self._dialect, self._sources, self._faults = source, dialect, sources, faults
        self._variant = variant
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._cycle = 0
        self._run: NodeRun | None = None
        self._exported: list[Metric] = []
        self._lost: dict[str, float] = {}
        self._shown: dict[str, float] = {}

    def text(self) -> str:
        """Return one scrape, in Prometheus text format."""
        with self._lock:
            run = self._source.run()
            now = min(max(time.time(), run.edges[0]), run.edges[-1])
            scrape = Scrapes(np.array([now]), reading=reading_of(run, self._faults, live=True))
            restarts = self._enters_new_cycle()
            lines = []
            for family in self._families(run):
                lines.append(f"# TYPE {family.name} {family.kind}")
                for curve in family.curves:
                    _, values = curve.sample(family.kind, scrape)
                    if not len(values):
                        continue
                    # Prometheus names job and instance itself.
                    labels = {k: v for k, v in curve.labels.items() if k not in ("job", "instance")}
                    key, value = f"{family.name}{format_labels(labels)}", float(values[0])
                    if family.kind == "counter":
                        survives = curve.survives_restart and "reset" not in self._faults
                        value = self._since_reset(key, value, restarts and not survives)
                    lines.append(f"{key} {format_sample(value, curve.decimals)}")
            return "\n".join(lines) + "\n"

    def _families(self, run: NodeRun) -> list[Metric]:
        if run is not self._run:  # a simulated day is one run: its curves are made once
            shown = without_uncore(run) if "zero-power" in self._faults else run
            self._run, self._exported = run, DIALECTS[self._dialect](shown, self._sources, self._variant)
        return self._exported

    def answer(self, path: str, _given: dict[str, list[str]]) -> HttpAnswer:
        """Return the HTTP answer for a path."""
        if path != "/metrics":
            page = b'<html><body><a href="/metrics">Metrics</a></body></html>\n'
            status = HTTPStatus.OK if path == "/" else HTTPStatus.NOT_FOUND
            return HttpAnswer(page, status, "text/html; charset=utf-8")
        second = (time.monotonic() - self._began) % CYCLE_SECONDS
        down = max((DOWN_SECONDS[name] for name in self._faults if name in DOWN_SECONDS), default=0.0)
        if CYCLE_SECONDS - down <= second:
            return HttpAnswer(b"exporter is down\n", HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8")
        if "late" in self._faults and random.random() < 1 / 3:  # noqa: S311 - not a secret
            time.sleep(random.uniform(0, 2))  # noqa: S311
        return HttpAnswer(self.text().encode(), content_type=CONTENT_TYPE)

    def _enters_new_cycle(self) -> bool:
        cycle = int((time.monotonic() - self._began) / CYCLE_SECONDS)
        entered, self._cycle = cycle > self._cycle, cycle
        return entered and bool(self._faults & {"reset", "restart"})

    def _since_reset(self, key: str, value: float, reset: bool) -> float:
        if reset:  # it fell right after the last scrape
            self._lost[key] = self._shown.get(key, 0.0)
        self._shown[key] = value
        return value - self._lost.get(key, 0.0)


def exporter_server(exporter: Exporter, host: str = "127.0.0.1", port: int = 0) -> Server:
    """Return a server: `with exporter_server(exporter) as server: requests.get(server.url + "/metrics")`."""
    return Server(exporter.answer, host, port)
