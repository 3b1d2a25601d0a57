"""What the pages show: pipelines, versions and models at the installation's place of models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kepler_airflow.dag_plans import DagPlan, dag_plans
from kepler_airflow.settings import settings
from kepler_train import strict_json
from kepler_train.errors import UserError
from kepler_train.export.leaderboard import LEADERBOARD, ListedModel, ModelError, read_leaderboard
from kepler_train.export.published_table import read_table
from kepler_train.model_key import node_type_of_name, trainer_of
from kepler_train.models.files import METADATA
from kepler_train.models.metadata import ModelMetadata
from kepler_train.publish.ledger import read_versions
from kepler_train.publish.store_index import PipelineEntry, read_index
from kepler_train.publish.target import Target, open_target
from kepler_train.publish.version_record import VersionRecord, Versions
from kepler_train.records import validated
from kepler_train.spec import NAME_PATTERN, read_spec

_MODEL = re.compile(r"[^/]+/[^/]+/[^/]+/[^/]+")
_TABLE = re.compile(r"(?P<source>.+)_(?P<output_type>[A-Za-z]+)_model_metadata\.csv")


class NotThere(UserError):
    """Something that an address names does not exist."""


def models_target() -> Target:
    """Return where the installation publishes unless a run says otherwise."""
    default = read_spec(settings().defaults, "KEPLER_TRAIN_DEFAULTS").publish_to
    return open_target(default or f"{settings().workspace}/models")


def pipelines() -> Mapping[str, PipelineEntry]:
    """Return all pipelines by name."""
    return read_index(models_target())


def pipeline_name(dag_id: str) -> str:
    """Return the pipeline that a training DAG publishes; empty for another DAG."""
    plan = next(dag_plans(settings(), only=dag_id), None)
    return plan.spec.pipeline if isinstance(plan, DagPlan) else ""


@dataclass(frozen=True)
class Pipeline:
    """A pipeline with all that is known of its versions."""

    target: Target
    name: str
    versions: Versions
    latest: str

    @classmethod
    def named(cls, name: str) -> Pipeline:
        """Return the pipeline of a name."""
        target = models_target()
        if not re.fullmatch(NAME_PATTERN, name):
            raise NotThere(f"{name!r} is not the name of a pipeline.")
        versions, latest = read_versions(target, name), target.latest(name)
        if not versions.versions and not latest:
            raise NotThere(f"There is no published pipeline {name} at {target.uri}.")
        return cls(target, name, versions, latest)

    def version(self, name: str) -> VersionRecord:
        """Return the record of a version; `latest` is understood."""
        record = self.versions.of(self.latest if name == "latest" else name)
        if record is None:
            raise NotThere(f"{self.name} has no version {name}.")
        return record

    def models(self, version: VersionRecord) -> list[ListedModel]:
        """Return the models of a version."""
        return _cached_models(self.target.uri, f"{self.name}/{version.version}")

    def model(self, version: VersionRecord, folder: str) -> ModelMetadata:
        """Return the metadata of a model, whose folder is `<source>/<output type>/<group>/<model name>`."""
        listed = next((model for model in self.models(version) if model.folder == folder), None)
        content = self.read(version, f"{folder}/{METADATA}") if listed and _MODEL.fullmatch(folder) else None
        if content is None:
            raise NotThere(f"{self.name} {version.version} has no model {folder}.")
        return validated(ModelMetadata, strict_json.read(content, folder), folder)

    def read(self, version: VersionRecord, path: str) -> bytes | None:
        """Return a small file of a version."""
        return self.target.store.read(f"{self.name}/{version.version}/{path}")

    def files(self, version: VersionRecord) -> dict[str, int]:
        """Return the files of a version with their sizes (bytes)."""
        return _files(self.target, f"{self.name}/{version.version}")

    def fetch(self, version: VersionRecord, path: str, folder: Path) -> Path:
        """Bring a file of a version into a folder of this machine."""
        if path not in self.files(version):
            raise NotThere(f"{self.name} {version.version} has no file {path}.")
        return self.target.store.download(f"{self.name}/{version.version}/{path}", folder)


@lru_cache(maxsize=256)  # a version never changes
def _cached_models(uri: str, home: str) -> list[ListedModel]:
    target = open_target(uri)
    content = target.store.read(f"{home}/{LEADERBOARD}")
    if content is not None:
        return read_leaderboard(content, f"{uri}/{home}/{LEADERBOARD}")
    return [model for file in _files(target, home) for model in _models_of_table(target, home, file)]


def _models_of_table(target: Target, home: str, file: str) -> list[ListedModel]:
    """Return the models of an error table: all that is known of versions from before there were leaderboards."""
    table = _TABLE.fullmatch(file)
    if table is None:
        return []
    models = read_table(target.store.read(f"{home}/{file}"), f"{target.uri}/{home}/{file}")
    return [_listed(table["source"], table["output_type"], *model) for model in models]


def _listed(source: str, output_type: str, name: str, group: str, mae: float, mape: float | None) -> ListedModel:
    return ListedModel(
        source=source,
        output_type=output_type,
        group=group,
        trainer=trainer_of(name),
        node_type=node_type_of_name(name) or 0,
        model_name=name,
        errors={"blocked": {"worst": ModelError(mae=mae, mape=mape)}},
    )


def _files(target: Target, home: str) -> dict[str, int]:
    return {key.removeprefix(f"{home}/"): size for key, size in _cached_sizes(target.uri, home).items()}


@lru_cache(maxsize=64)
def _cached_sizes(uri: str, home: str) -> dict[str, int]:
    return open_target(uri).store.sizes(home)
