"""A namespace of its own on any cluster, servers that its pods can reach, and an Airflow that runs steps as pods."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from steps_cluster import Cluster

from kepler_train import __version__
from kepler_train.local.outside_home import sweep
from kepler_train.local.seaweedfs import SeaweedServer
from kepler_train.local.stack import Stack
from kepler_train.local.stack_services import make_prometheus
from kepler_train.local.state import Settings

BUCKET = "lab"
IMAGE = os.environ.get("KEPLER_TRAIN_IMAGE", f"kepler-train-step:{__version__}")
_HISTORY = timedelta(hours=6)


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """Short, and reachable by the user that PostgreSQL runs as when the tests run as root."""
    made = Path(tempfile.mkdtemp(prefix="kt-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)
    sweep()  # root's database was outside of it


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The manifests of docker/kubernetes in a new namespace, and an image that its node has."""
    for variable in ("KUBECONFIG", "CLUSTER_HOST_IP"):
        if not os.environ.get(variable):
            pytest.skip(f"no cluster: {variable} is not set (see docs/kubernetes.md)")
    made = Cluster(IMAGE)
    made.create()
    try:
        yield made
    finally:
        made.remove()


@dataclass(frozen=True)
class Lab:
    """What pods reach on this side: a Prometheus with six hours of a simulated node, and a bucket."""

    s3: SeaweedServer
    prometheus: str
    start: datetime
    end: datetime

    def read(self, key: str) -> bytes:
        content: bytes = self.s3.client().get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return content

    def files(self, prefix: str) -> dict[str, bytes]:
        """Everything below a prefix of the bucket."""
        found = self.s3.client().list_objects_v2(Bucket=BUCKET, Prefix=prefix)["Contents"]
        return {item["Key"].removeprefix(prefix): self.read(item["Key"]) for item in found}


@pytest.fixture(scope="session")
def lab(cluster: Cluster, folder: Path) -> Iterator[Lab]:
    end = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    start = end - _HISTORY
    recording, schedule = folder / "history.om", folder / "schedule.json"
    length = f"{_HISTORY.total_seconds():.0f}s"
    options = ["--start", start.isoformat(), "--duration", length, "--phase", "5m", "--idle", "5m", "--containers", "4"]
    simulate = [sys.executable, "-m", "kepler_train", "simulate", "history", *options]
    subprocess.run([*simulate, "--out", recording, "--schedule", schedule], check=True, stdout=subprocess.DEVNULL)
    host = os.environ["CLUSTER_HOST_IP"]
    with (
        make_prometheus(folder, recording, host, folder / "prometheus.log") as prometheus,
        SeaweedServer(folder / "s3", host=host, buckets=[BUCKET]) as s3,
    ):
        s3.client().upload_file(str(schedule), BUCKET, "schedule.json")
        cluster.secret("kepler-train-s3", dict(s3.client_environment()))
        yield Lab(s3, prometheus.address, start, end)


@pytest.fixture(scope="session")
def airflow(cluster: Cluster, lab: Lab, folder: Path) -> Iterator[Any]:
    """Airflow with the rights of docker/kubernetes/worker.yaml and no keys of the bucket."""
    defaults = folder / "defaults.json"
    window = {"start": lab.start.isoformat(), "end": lab.end.isoformat()}
    defaults.write_text(
        json.dumps({"prometheus": lab.prometheus, "schedule": f"s3://{BUCKET}/schedule.json", **window})
    )
    settings = Settings(runtime="pods", workspace=f"s3://{BUCKET}/work", defaults=str(defaults))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KUBECONFIG", str(cluster.worker_access(folder / "worker.kubeconfig")))
        environment.setenv("KEPLER_TRAIN_NAMESPACE", cluster.namespace)
        environment.setenv("KEPLER_TRAIN_IMAGE", IMAGE)
        environment.setenv("KEPLER_TRAIN_SCHEDULE", "0 0 29 2 *")  # no nightly run beside those of the tests
        with Stack(folder / "stack", settings).running() as stack:
            yield stack.api
