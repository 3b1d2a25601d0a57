"""A pipeline in short, for readers who look for one among many: a row of a list, and a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from html import escape
from urllib.parse import quote

from kepler_train import strict_json
from kepler_train.errors import UserError
from kepler_train.export.arguments import ARGUMENTS, TrainArguments
from kepler_train.export.pictures import TablePictures
from kepler_train.export.pipeline_metadata import PipelineMetadata
from kepler_train.export.published_table import folder_name, read_table
from kepler_train.export.templating import template
from kepler_train.model_key import Family, error_table, table_name
from kepler_train.models.files import DETAILS, METADATA

COLUMNS = ["pipeline", "machine", "best models, error in blocks of time", "collected", "updated", "publisher", "report"]


@dataclass(frozen=True)
class BestModel:
    """The first of a table of models, with the errors (W, %) of its worst component in blocks of time."""

    source: str
    output_type: str
    group: str
    name: str
    mae: float
    mape: float | None
    models: int

    @property
    def table(self) -> str:
        """Return what files on this source and output type begin with."""
        return table_name(self.source, self.output_type)

    @property
    def folder(self) -> str:
        """Return the folder of the model below that of its pipeline."""
        return f"{Family(self.source, self.output_type, self.group)}/{self.name}"

    @property
    def error(self) -> str:
        """Return the error in words."""
        return f"{self.mae:.2f} W" + (f" ({self.mape:.1f} %)" if self.mape is not None else "")


@dataclass(frozen=True)
class Overview:
    """A pipeline whose files are below `home`: metadata, arguments, best models, and the loads they learnt from."""

    name: str
    home: str
    metadata: PipelineMetadata
    arguments: TrainArguments
    best: list[BestModel]
    workloads: list[str]

    @property
    def machine(self) -> str:
        """Return the machine, and the node type that the models are for."""
        return f"{self.arguments.machine_id or 'unnamed'}, node type {self.arguments.node_type}"

    def row(self, page: str) -> str:
        """Return the row of the list, with a link to the page."""
        best = [_plain(f"{model.output_type} of {model.source}: {model.error}") for model in self.best]
        times = [_minute(moment) for moment in (self.metadata.collect_time, self.metadata.last_update_time)]
        plain = [_plain(text) for text in (*times, self.metadata.publisher or "–")]
        report = f"[{sum(model.models for model in self.best)} models]({self.home}/README.md)"
        return f"| {' | '.join([f'[{self.name}]({page})', _plain(self.machine), '<br>'.join(best), *plain, report])} |"

    def page(self, up: str) -> str:
        """Return the page on the pipeline; `up` leads from it to where `home` is."""
        page = template("pipeline.md", plain=_plain, minute=_minute, link=quote)
        return page.render(about=self, home=f"{up}/{self.home}", pictures=TablePictures)


def read_overview(read: Callable[[str], bytes | None], name: str, home: str) -> Overview | None:
    """Return the overview of the pipeline below `home`, whose files `read` finds; None where one cannot be made."""
    try:
        metadata = PipelineMetadata.model_validate(strict_json.parse(read(f"{home}/{METADATA}") or b""))
        arguments = TrainArguments.model_validate(strict_json.parse(read(f"{home}/{ARGUMENTS}") or b""))
        best = [
            model
            for source in map(folder_name, arguments.energy_sources)
            for output_type in map(folder_name, arguments.output_types)
            if (model := _best(read, home, source, output_type))
        ]
        first = f"{home}/{best[0].folder}"
        learnt = [strict_json.parse(read(f"{first}/{file}") or b"{}") for file in (METADATA, DETAILS)]
        workloads = [str(name) for about in learnt for name in about.get("workloads", {})]
        return Overview(name, home, metadata, arguments, best, workloads)
    except (UserError, ValueError, LookupError, TypeError, AttributeError):  # written by another tool
        return None


def _best(read: Callable[[str], bytes | None], home: str, source: str, output_type: str) -> BestModel | None:
    """Return the first row of a table of models, which is the best."""
    file = f"{home}/{error_table(source, output_type)}"
    models = read_table(read(file), file)
    if not models:
        return None
    name, group, mae, mape = models[0]
    return BestModel(source, output_type, group, name, mae, mape, len(models))


def _minute(moment: str | datetime | None) -> str:
    """Return a time as people read it; a dash for none, or for what is none."""
    try:
        time = datetime.fromisoformat(moment) if isinstance(moment, str) and moment else moment
        return f"{time:%Y-%m-%d %H:%M} UTC" if time else "–"
    except ValueError:
        return "–"


def _plain(text: object) -> str:
    """Return a text that is neither markup nor the end of a cell or a comment, whatever is in it."""
    return escape(" ".join(str(text).split()), quote=False).replace("|", r"\|")
