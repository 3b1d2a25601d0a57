"""`kepler-train estimate`: what a model says about a machine, from a frame or from a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kepler_train.cli import options as o
from kepler_train.cli.files import frame_file, model_path, query_samples, scratch, table_path, whole_file
from kepler_train.cli.parameters import given, takes
from kepler_train.columns import CONTAINER
from kepler_train.errors import UserError
from kepler_train.events import say, warn

if TYPE_CHECKING:
    import pandas as pd

    from kepler_train.estimate.estimable_rows import EstimableRows
    from kepler_train.estimate.summary import ComponentFigures
    from kepler_train.models import PowerModel
    from kepler_train.models.metadata import ModelMetadata

Model = Annotated[
    str,
    typer.Option(
        "-m", "--model", help="The model: its folder, .zip or .json of weights, as it is or below MODEL_PATH."
    ),
]
Data = Annotated[
    str, typer.Option("--data", "-i", "--input", help="A frame (.csv or .parquet) or a query, below DATAPATH.")
]


@takes("machine_id", "nodes", "thirdparty_metrics", "metric_prefix", "schedule")
def estimate(
    context: typer.Context,
    model: Model,
    data: Data = "kepler_query",
    output: o.Output = "estimated",
) -> None:
    """Estimate power with a model: a table, .parquet or .csv, with a row for every row of the data.

    A query is of machines with a power meter or without. Each component has <component>_power, and _low and _high of
    its interval (W); containers have their share of what the model says of their node. `outside` marks rows that are
    unlike any that the model was trained on. Where the data have measured power, the error is said.
    """
    from kepler_train.estimate.estimates import estimate_table, estimates
    from kepler_train.estimate.summary import Summary
    from kepler_train.extract.table_parts import TableInParts
    from kepler_train.extract.training_table import write_table

    place = table_path(output)
    learnt, metadata = model_of(model)
    about = {"model": learnt.name, "output_type": metadata.output_type, "energy_source": metadata.energy_source}
    summary = Summary(metadata)
    with rows_for(metadata, data, given(context)) as rows, whole_file(place) as file:

        def parts() -> Iterator[pd.DataFrame]:
            for part in rows.parts():
                estimated = estimates(learnt, metadata, part)
                summary.add(part, estimated)
                yield estimate_table(estimated, rows)

        write_table(TableInParts(rows.labels, rows.count, rows.nodes, parts), file, about)
    for component, figures in summary.components.items():
        say(f"  {component}: {figures.mean:.2f} W on average{_off(figures, CONTAINER in rows.labels)}")
    warn_of_rows_trained_on(learnt, metadata, summary.rows_trained_on, rows.count)
    if summary.outside:
        warn(
            f"{summary.outside} of {rows.count} rows are unlike any that {learnt.name} was trained on: their estimates"
            " are guesses."
        )
    say(f"Wrote {place}: {rows.count:,} rows by {learnt.name}, trained on {metadata.feature_group}.")


def model_of(name: str) -> tuple[PowerModel, ModelMetadata]:
    """Return a model and its metadata, by the name of its folder or archive."""
    from kepler_train.models.artifact import read_model
    from kepler_train.models.public import is_public_model, read_public_model

    place = next((path for path in (Path(name).expanduser(), model_path(name)) if path.exists()), None)
    if place is None:
        raise UserError(f"There is no model {name}, neither here nor below {model_path('')}: name its folder or .zip.")
    if is_public_model(place):
        return read_public_model(place)
    model, metadata = read_model(place)
    lacking = [name for name in ("output_type", "energy_source", "feature_group") if not getattr(metadata, name)]
    needed = {
        "interval": set(metadata.interval),
        "hull": set(metadata.hull),
        "main_features": set(metadata.main_features),
    }
    lacking += [name for name, components in needed.items() if not model.components.keys() <= components]
    if lacking:
        raise UserError(f"{place} is not a model to estimate with: its metadata have no {', '.join(lacking)}.")
    return model, metadata


@contextmanager
def rows_for(metadata: ModelMetadata, data: str, options: Mapping[str, Any]) -> Iterator[EstimableRows]:
    """Yield the rows of a frame, or of a query, as the model of these metadata needs them."""
    from kepler_train.estimate.estimates import rows_of_frame, rows_of_query

    phases, machine_id = o.schedule_of(options["schedule"]), options["machine_id"]
    frame = frame_file(data, or_query=True)
    if frame is not None:
        yield rows_of_frame(frame, metadata, machine_id, phases, o.spec_of({"nodes": options.get("nodes", "")}).nodes)
        return
    names = ("nodes", "thirdparty_metrics", "metric_prefix")
    chosen = {name: options[name] for name in names if options.get(name)}
    with query_samples(data) as samples, scratch() as work:
        yield rows_of_query(samples, metadata, phases, chosen, work)


def warn_of_rows_trained_on(model: PowerModel, metadata: ModelMetadata, known: int, rows: int) -> None:
    """Warn when measured power is no test of a model, because it was trained on that time."""
    if known:
        held_out = metadata.mae
        expected = f", which is {held_out:.2f} W (of a node, worst component, blocked)" if held_out is not None else ""
        warn(
            f"{known} of {rows} rows are of the time that {model.name} was trained on: its error there is not the"
            f" error to expect elsewhere{expected}."
        )


def _off(figures: ComponentFigures, of_containers: bool) -> str:
    """Return a phrase on how far estimates are from what was measured; empty where nothing was."""
    if not figures.measured:
        return ""
    how = "attributed to it" if of_containers else "measured"  # no meter knows a container
    sentence = f"; {figures.off:.2f} W off what was {how}"
    if not figures.with_interval:  # another tool's model
        return sentence
    return f"{sentence}, of which {100 * figures.inside:.0f} % lies in the interval"
