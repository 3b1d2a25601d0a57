"""What an installation decides once, for all DAGs: read from the environment of Airflow's processes.

| variable | meaning | default |
|---|---|---|
| KEPLER_TRAIN_RUNTIME | `local`: steps are processes of the worker; `pods`: each is a pod | local |
| KEPLER_TRAIN_WORKSPACE | folder or s3://bucket/prefix for the files of runs | required |
| KEPLER_TRAIN_DEFAULTS | JSON file with defaults of run parameters, shown in the trigger form | none |
| KEPLER_TRAIN_PROMETHEUS_URL | default of the parameter `prometheus`; it gets the credentials | http://127.0.0.1:9090 |
| KEPLER_TRAIN_TRUSTED_SERVERS | other servers that runs may name and that get the credentials too | none |
| KEPLER_TRAIN_PAIRS | DAGs to make, `source/group`, separated by commas | rapl-sysfs/BPFOnly |
| KEPLER_TRAIN_SCHEDULE | cron expression (UTC) of the nightly run | 0 2 * * * |
| KEPLER_TRAIN_IMAGE | pods: image of the steps | kepler-train-step:<version> |
| KEPLER_TRAIN_NAMESPACE | pods: namespace | kepler-train |
| KEPLER_TRAIN_POD_TEMPLATE | pods: template file | docker/step/pod.yaml |
| KEPLER_TRAIN_STRESS_POD_TEMPLATE | pods: template file of the stress step | the one above, without a limit of CPU |
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kepler_train import __version__, strict_json
from kepler_train.addresses import BadAddress, files_at, origin_of
from kepler_train.catalog import catalog
from kepler_train.errors import UserError, unknown_name
from kepler_train.query.trusted_servers import LISTED, OWN, trusted_servers
from kepler_train.spec import read_spec

RUNTIMES = ("local", "pods")


@dataclass(frozen=True)
class Settings:
    """The environment, read and checked."""

    runtime: str
    workspace: str
    defaults: dict[str, Any]
    trusted_servers: list[str]
    pairs: list[tuple[str, str]]
    schedule: str
    image: str
    namespace: str
    pod_template: str
    stress_pod_template: str


@cache
def settings() -> Settings:
    """Return the settings of this installation."""
    runtime = os.environ.get("KEPLER_TRAIN_RUNTIME", "local")
    if runtime not in RUNTIMES:
        raise UserError(f"KEPLER_TRAIN_RUNTIME: {unknown_name('runtime', runtime, RUNTIMES)}")
    workspace = os.environ.get("KEPLER_TRAIN_WORKSPACE", "")
    if not workspace:
        raise UserError("KEPLER_TRAIN_WORKSPACE is not set: name the folder or s3:// address for the files of runs.")
    try:
        files_at(workspace)
    except BadAddress as error:
        raise UserError(f"KEPLER_TRAIN_WORKSPACE: {error}.") from None
    defaults = _defaults(os.environ.get("KEPLER_TRAIN_DEFAULTS", ""))
    template = Path(__file__).resolve().parents[2] / "docker" / "step" / "pod.yaml"
    return Settings(
        runtime=runtime,
        workspace=workspace,
        defaults=defaults,
        trusted_servers=_trusted_servers(defaults),
        pairs=_pairs(os.environ.get("KEPLER_TRAIN_PAIRS", "rapl-sysfs/BPFOnly")),
        schedule=os.environ.get("KEPLER_TRAIN_SCHEDULE", "0 2 * * *"),
        image=os.environ.get("KEPLER_TRAIN_IMAGE", f"kepler-train-step:{__version__}"),
        namespace=os.environ.get("KEPLER_TRAIN_NAMESPACE", "kepler-train"),
        pod_template=os.environ.get("KEPLER_TRAIN_POD_TEMPLATE", str(template)),
        stress_pod_template=os.environ.get("KEPLER_TRAIN_STRESS_POD_TEMPLATE", ""),
    )


def _trusted_servers(defaults: dict[str, Any]) -> list[str]:
    """Return the servers that may have the credentials: of the environment, and that of the defaults."""
    own = origin_of(read_spec(defaults, "KEPLER_TRAIN_DEFAULTS").prometheus)
    named = trusted_servers() if any(map(os.environ.get, (OWN, LISTED))) else []
    return [str(origin) for origin in dict.fromkeys([own, *named])]


def _defaults(file: str) -> dict[str, Any]:
    server = os.environ.get(OWN)
    own = {"prometheus": read_spec({"prometheus": server}, OWN).prometheus} if server else {}
    if not file:
        return own
    try:
        text = Path(file).read_bytes()
    except OSError as error:
        raise UserError(f"The defaults {file} (KEPLER_TRAIN_DEFAULTS) cannot be read: {error.strerror}.") from None
    defaults = strict_json.read(text, f"The defaults {file} (KEPLER_TRAIN_DEFAULTS)")
    if not isinstance(defaults, dict):
        raise UserError(f"The defaults {file} (KEPLER_TRAIN_DEFAULTS) must be a JSON object of run parameters.")
    return own | defaults


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = []
    for pair in filter(None, (part.strip() for part in text.split(","))):
        source, _, group = pair.partition("/")
        catalog().source(source)
        catalog().group(group)
        pairs.append((source, group))
    return pairs
