"""Fifteen million raw samples from a real Prometheus, against a plain downloader of the same requests in sequence.

Debian's Prometheus serves blocks that promtool makes of generated OpenMetrics text. Query and downloader take turns,
each in a new process; the downloader asks for exactly what the query before it asked for, and keeps nothing.

python bench/query.py
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from random import Random

RUNS = 3
SERIES, SAMPLES, SCRAPE = 1500, 10_000, 5  # s
START = 1_794_614_400  # 2026-11-14T00:00:00Z: the whole recording lies in one block of a day
ENERGY, FEATURE = "kepler_node_package_joules", "kepler_container_bpf_cpu_time_ms"
NODES = 10
NOTES = "requests.json"

OURS = """
import json, resource, sys, time
import requests
began, asked, once = time.perf_counter(), [], requests.Session.request
def recorded(session, method, url, **options):
    asked.append((method, url, dict(options.get("data") or {}), dict(options.get("params") or {})))
    return once(session, method, url, **options)
requests.Session.request = recorded
from pathlib import Path
from kepler_train.query.prometheus import Prometheus
from kepler_train.query.samples import write_samples
from kepler_train.samples.metrics import RequiredMetrics
url, out, energy, feature, start, end, notes = sys.argv[1:]
required = RequiredMetrics("legacy", "instance", [energy], [feature], frozenset())
figures = write_samples(Prometheus(url), required, [], float(start), float(end), Path(out))
seconds = time.perf_counter() - began
Path(notes).write_text(json.dumps(asked))
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, figures["samples"]]))
"""
PLAIN = """
import json, sys, time
from pathlib import Path
import requests
asked = json.loads(Path(sys.argv[1]).read_text())
began = time.perf_counter()
with requests.Session() as session:
    session.headers["Accept-Encoding"] = "identity"
    for method, url, data, params in asked:
        with session.request(method, url, data=data, params=params, stream=True) as answer:
            size = sum(map(len, answer.iter_content(1 << 20)))
print(json.dumps([time.perf_counter() - began]))
"""


def recording() -> Iterator[str]:
    """OpenMetrics text of counters that rise by some random amount with each scrape."""
    chance = Random(1)
    stamps = [f" {START + SCRAPE * number}.{number % 997:03}\n" for number in range(SAMPLES)]
    steps = [chance.randrange(5000) for _ in range(SAMPLES)]
    for metric, count in ((ENERGY, NODES), (FEATURE, SERIES - NODES)):
        yield f"# TYPE {metric} counter\n"
        for number in range(count):
            name = f'{metric}_total{{instance="node-{number % NODES}",container_id="{number:08x}"}} '
            values = accumulate(steps[number:] + steps[:number])
            yield "".join([f"{name}{value}{stamp}" for value, stamp in zip(values, stamps, strict=True)])
    yield "# EOF\n"


def child(program: str, *arguments: str) -> list[float]:
    """What a new Python prints last."""
    done = subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True)
    return [float(figure) for figure in json.loads(done.stdout.splitlines()[-1])]


def query(url: str, end: float, folder: Path) -> list[float]:
    """Wall (s), peak memory (MB) and samples of a query until `end` (Unix s); its requests are noted."""
    out = folder / "out"
    metrics, window = [f"{ENERGY}_total", f"{FEATURE}_total"], [str(START), str(end)]
    figures = child(OURS, url, str(out), *metrics, *window, str(folder / NOTES))
    shutil.rmtree(out)
    return figures


def row(name: str, figure: float, limit: float, unit: str) -> None:
    """One line of the table."""
    print(f"{name:<52} {figure:7.2f} {unit:<2} {limit:7.2f} {unit:<2}  {'kept' if figure <= limit else 'BROKEN'}")


def main() -> None:
    """Print one row per figure."""
    from kepler_train.local.prometheus import PrometheusServer

    if not shutil.which("prometheus"):
        print("Left out: Debian's prometheus is not there (apt-get install prometheus).")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server, text = PrometheusServer(folder / "data"), folder / "recording.om"
        with text.open("w") as file:
            file.writelines(recording())
        server.fill(text)
        text.unlink()
        with server:
            end = START + SCRAPE * SAMPLES
            pairs = [(query(server.url, end, folder), child(PLAIN, str(folder / NOTES))) for _ in range(RUNS)]
            thirds = [query(server.url, START + SCRAPE * SAMPLES / 3, folder) for _ in range(RUNS)]
    ours, plain = zip(*pairs, strict=True)
    seconds, third = (min(run[0] for run in runs) for runs in (ours, thirds))
    assert all(run[2] == SERIES * SAMPLES for run in ours), ours
    print(f"{SERIES * SAMPLES:,} samples   (median and least of {RUNS}, load {os.getloadavg()[0]:.1f})")
    print(f"{'query':<52} {seconds:7.2f} s")
    print(f"{'plain download':<52} {min(run[0] for run in plain):7.2f} s")
    ratio = statistics.median(mine[0] / other[0] for mine, other in pairs)
    row("query / plain download", ratio, 1.5, "")
    row("query, peak memory", max(run[1] for run in ours), 400, "MB")
    growth = (seconds / ours[0][2]) / (third / thirds[0][2])
    row("time per sample, all / a third of them", growth, 1.25, "")


if __name__ == "__main__":
    main()
