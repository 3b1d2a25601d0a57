"""What an installation decides once, for all DAGs: read from the environment of Airflow's processes and its file.

A variable wins over what the file says for all DAGs; what the file says of one DAG stays.

| variable | meaning | default |
|---|---|---|
| KEPLER_TRAIN_RUNTIME | `local`: steps are processes of the worker; `pods`: each is a pod | local |
| KEPLER_TRAIN_WORKSPACE | folder or s3://bucket/prefix for the files of runs | required |
| KEPLER_TRAIN_SETTINGS | the settings file (YAML) | `kepler-train.yaml` in the home of Airflow, if there is one |
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

from kepler_airflow.settings_file import NO_FILE, SettingsFile, read_settings_file
from kepler_train import __version__, strict_json
from kepler_train.addresses import BadAddress, files_at, origin_of
from kepler_train.errors import UserError, unknown_name
from kepler_train.query.trusted_servers import LISTED, OWN, trusted_servers
from kepler_train.spec import read_spec, set_values

RUNTIMES = ("local", "pods")
DEFAULT_PAIR = "rapl-sysfs/BPFOnly"
DEFAULT_SCHEDULE = "0 2 * * *"


@dataclass(frozen=True)
class Settings:
    """The environment, read and checked."""

    runtime: str
    workspace: str
    defaults: dict[str, Any]
    trusted_servers: list[str]
    pairs: list[str]
    schedule: str
    image: str
    namespace: str
    pod_template: str
    stress_pod_template: str
    file: SettingsFile = NO_FILE
    file_name: str = ""


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
    file = _file()
    content = read_settings_file(file) if file else NO_FILE
    defaults = _defaults(content, str(file), os.environ.get("KEPLER_TRAIN_DEFAULTS", ""))
    template = Path(__file__).resolve().parents[2] / "docker" / "step" / "pod.yaml"
    return Settings(
        runtime=runtime,
        workspace=workspace,
        defaults=defaults,
        trusted_servers=_trusted_servers(defaults),
        pairs=_pairs(content),
        schedule=_schedule(content),
        image=os.environ.get("KEPLER_TRAIN_IMAGE", f"kepler-train-step:{__version__}"),
        namespace=os.environ.get("KEPLER_TRAIN_NAMESPACE", "kepler-train"),
        pod_template=os.environ.get("KEPLER_TRAIN_POD_TEMPLATE", str(template)),
        stress_pod_template=os.environ.get("KEPLER_TRAIN_STRESS_POD_TEMPLATE", ""),
        file=content,
        file_name=str(file or ""),
    )


def _file() -> Path | None:
    """Return the settings file, if there is one; one that is named must be there."""
    if named := os.environ.get("KEPLER_TRAIN_SETTINGS", ""):
        return Path(named)
    usual = Path(os.environ.get("AIRFLOW_HOME") or "~/airflow").expanduser() / "kepler-train.yaml"
    return usual if usual.exists() else None


def _trusted_servers(defaults: dict[str, Any]) -> list[str]:
    """Return the servers that may have the credentials: of the environment, and that of the defaults."""
    own = origin_of(read_spec(defaults, "KEPLER_TRAIN_DEFAULTS").prometheus)
    named = trusted_servers() if any(map(os.environ.get, (OWN, LISTED))) else []
    return [str(origin) for origin in dict.fromkeys([own, *named])]


def _defaults(settings_file: SettingsFile, name: str, file: str) -> dict[str, Any]:
    """Return the defaults of run parameters that hold for all DAGs, by the parameters' own names."""
    server = os.environ.get(OWN)
    own = set_values(read_spec(settings_file.run_defaults(), f"{name}: defaults"))
    own |= {"prometheus": read_spec({"prometheus": server}, OWN).prometheus} if server else {}
    if not file:
        return own
    try:
        text = Path(file).read_bytes()
    except OSError as error:
        raise UserError(f"The defaults {file} (KEPLER_TRAIN_DEFAULTS) cannot be read: {error.strerror}.") from None
    defaults = strict_json.read(text, f"The defaults {file} (KEPLER_TRAIN_DEFAULTS)")
    if not isinstance(defaults, dict):
        raise UserError(f"The defaults {file} (KEPLER_TRAIN_DEFAULTS) must be a JSON object of run parameters.")
    return own | set_values(read_spec(defaults, "KEPLER_TRAIN_DEFAULTS"))


def _pairs(file: SettingsFile) -> list[str]:
    """Return the wanted pairs, as somebody wrote them; a wrong one is the problem of its DAG alone."""
    named = os.environ.get("KEPLER_TRAIN_PAIRS")
    if named is None:
        return [DEFAULT_PAIR] if file.pairs is None else file.pairs
    return [pair.strip() for pair in named.split(",") if pair.strip()]


def _schedule(file: SettingsFile) -> str:
    named = os.environ.get("KEPLER_TRAIN_SCHEDULE")
    if named is not None:
        return named
    return (file.schedule or "") if "schedule" in file.model_fields_set else DEFAULT_SCHEDULE
