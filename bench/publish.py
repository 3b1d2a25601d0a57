"""Publishing against plain copies of the same bytes, memory of a large file, and lists of many pipelines, on S3.

    .venv/bin/python bench/publish.py

A real S3 server on this machine, without a network between: what is ours is all the larger.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from kepler_train.local.seaweedfs import SeaweedServer
from kepler_train.publish.publishing import pack, publish_version
from kepler_train.publish.store_index import PipelineEntry, StoreIndex, index_pipeline
from kepler_train.publish.target import open_target
from kepler_train.publish.version_record import ErrorFigure, VersionRecord, Versions

MODELS, FILES, BYTES = 200, 10, 40_000  # models, files of each, bytes of a file on average
ROUNDS = 3
PIPELINES, VERSIONS = 1_000, 20
END = datetime(2026, 11, 14, 2, tzinfo=UTC)
WINDOW = (END - timedelta(hours=2), END)
LARGE = 256 << 20  # bytes
MOST_TIMES, MOST_SECONDS, MOST_MEMORY = 1.5, 2.0, 64 << 20
_PEAK = """
import re, sys
from pathlib import Path
from kepler_train.publish.publishing import pack, publish_version
from kepler_train.publish.target import open_target
from datetime import UTC, datetime
target, folder, end = open_target("s3://lab/large"), Path(sys.argv[1]), datetime(2026, 11, 14, 2, tzinfo=UTC)
def publish(name):
    version, package = pack(folder / name, end, folder / f"{name}-packed")
    publish_version(target, package, name, version, (end, end))
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
publish("small")
before = peak()
publish("large")
print(1024 * (peak() - before))
"""


def main() -> int:
    """Measure everything; return 1 when a limit is passed."""
    with tempfile.TemporaryDirectory(prefix="kt-bench-") as name:
        folder = Path(name)
        with SeaweedServer(folder / "s3", buckets=["lab"]) as server:
            os.environ.update(server.client_environment())
            os.environ.pop("AWS_CA_BUNDLE", None)
            good = [_speed(server, folder), _memory(folder), _list(server)]
    return 0 if all(good) else 1


def _speed(server: SeaweedServer, folder: Path) -> bool:
    """Publish a complete training and copy the same bytes, in turn; compare the fastest of each."""
    ours: list[float] = []
    plain: list[float] = []
    client = server.client()
    for number in range(ROUNDS):
        exported = _export(folder / f"export-{number}", number)
        files = [path for path in exported.rglob("*") if path.is_file()]
        with _timed(plain), ThreadPoolExecutor(16) as pool:
            keys = [f"plain/{number}/{path.relative_to(exported)}" for path in files]
            list(pool.map(lambda path, key: client.upload_file(str(path), "lab", key), files, keys))
        with _timed(ours):
            target = open_target("s3://lab/models")
            version, package = pack(exported, END + timedelta(days=number), folder / f"packed-{number}")
            publish_version(target, package, "lab", version, WINDOW)
            index_pipeline(target, "lab")
    size = sum(path.stat().st_size for path in files)
    ratio = min(ours) / min(plain)
    print(
        f"publish: {MODELS} models, {len(files)} files, {size / 1e6:.0f} MB: {min(ours):.1f} s,"
        f" plain copies in parallel {min(plain):.1f} s: {ratio:.2f} times (at most {MOST_TIMES})"
    )
    return bool(ratio <= MOST_TIMES)


def _export(folder: Path, seed: int) -> Path:
    """Write as many files as a complete training has; no two nights are the same."""
    chance = np.random.default_rng(seed)
    for model in range(MODELS):
        place = folder / "rapl-sysfs" / "AbsPower" / f"Group{model % 10}" / f"Trainer{model}_0"
        place.mkdir(parents=True)
        for file in range(FILES):
            (place / f"file-{file}").write_bytes(chance.bytes(int(chance.integers(1, 2 * BYTES))))
        (place.parent / f"{place.name}.zip").write_bytes(chance.bytes(BYTES))
    (folder / "metadata.json").write_text(json.dumps({"name": "lab", "seed": seed}))
    return folder


def _memory(folder: Path) -> bool:
    """Publish a large file in a process of its own, and see how much its memory grows over that of a small one."""
    for name, size in (("small", 1000), ("large", LARGE)):
        (folder / "memory" / name).mkdir(parents=True)
        with (folder / "memory" / name / "model.zip").open("wb") as file:
            for _ in range(max(1, size >> 20)):
                file.write(os.urandom(min(size, 1 << 20)))
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, str(folder / "memory")], capture_output=True, text=True, check=True
    )
    grown = int(done.stdout.split()[-1])
    print(f"memory: a file of {LARGE >> 20} MB takes {grown / 2**20:.0f} MB (at most {MOST_MEMORY >> 20})")
    return grown <= MOST_MEMORY


def _list(server: SeaweedServer) -> bool:
    """List many pipelines by the command, with the start of its process."""
    versions = [f"202611{night:02d}T020000Z-{night:032x}" for night in range(1, VERSIONS + 1)]
    figure = {"rapl-sysfs/AbsPower": ErrorFigure(mae=2.5, mape=4.2, model="a/b/c/d")}
    records = [VersionRecord(version=name, published=END, window=WINDOW, errors=figure) for name in versions]
    content = Versions(versions=records).as_bytes()
    pointer = json.dumps({"version": versions[-1]}).encode()
    names = [f"pipeline-{number:04d}" for number in range(PIPELINES)]
    client = server.client()

    def put(name: str) -> None:
        client.put_object(Bucket="lab", Key=f"many/{name}/versions.json", Body=content)
        client.put_object(Bucket="lab", Key=f"many/{name}/latest.json", Body=pointer)
        for version in versions:
            client.put_object(Bucket="lab", Key=f"many/{name}/{version}/metadata.json", Body=b"{}")

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(put, names))
    entry = PipelineEntry(latest=versions[-1], versions=VERSIONS, published=END, window=WINDOW, errors=figure)
    index = StoreIndex(pipelines=dict.fromkeys(names, entry))
    client.put_object(Bucket="lab", Key="many/index.json", Body=index.model_dump_json().encode())
    times: list[float] = []
    for _ in range(ROUNDS):
        with _timed(times):
            command = [sys.executable, "-m", "kepler_train", "models", "list", "-t", "s3://lab/many"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{PIPELINES} pipelines at s3://lab/many." in done.stdout
    print(
        f"list: {PIPELINES} pipelines of {VERSIONS} versions: {min(times):.2f} s with the start of the command"
        f" (at most {MOST_SECONDS:.0f})"
    )
    return min(times) <= MOST_SECONDS


@contextmanager
def _timed(times: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    times.append(time.perf_counter() - began)


if __name__ == "__main__":
    sys.exit(main())
