"""The card of a model: what it is, what it was made of, how wrong it is and where it must not be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from kepler_train import __version__
from kepler_train.evaluate.baselines import title
from kepler_train.evaluate.judged import HeldOut
from kepler_train.evaluate.protocols import FORWARD, Protocol
from kepler_train.export.pictures.held_out import draw_held_out
from kepler_train.export.standings import of_component
from kepler_train.export.templating import template
from kepler_train.models.hull import Hull
from kepler_train.models.metadata import ErrorFigures, ModelMetadata, TrivialFigures

CARD, PICTURE = "model_card.md", "held_out.svg"


def write_card(folder: Path, metadata: ModelMetadata, held_out: HeldOut) -> None:
    """Write the card of a model, with a picture of its held-out rows, from its complete metadata."""
    protocols = [protocol for protocol in Protocol if protocol in metadata.figures]
    farthest = Protocol.WORKLOAD if Protocol.WORKLOAD in protocols else Protocol.BLOCKED
    content = template(CARD, figure=_figure, error=_error, energy=_energy).render(
        about=metadata,
        figures=metadata.figures,
        lines=list(_lines(metadata)),
        protocols=protocols,
        farthest=farthest,
        ranges=ranges(metadata.hull),
        forward=round(100 * (1 - FORWARD)),
        files=sorted(file.name for file in folder.iterdir()),
        picture=PICTURE,
        version=__version__,
    )  # fmt: skip
    (folder / CARD).write_text(content, encoding="utf-8")
    draw_held_out({metadata.key: held_out}, folder / PICTURE)


def _lines(metadata: ModelMetadata) -> Iterator[tuple[str, Mapping[str, ErrorFigures] | Mapping[str, TrivialFigures]]]:
    """Yield every component with its figures by protocol, and after it its trivial models in italics."""
    for component in metadata.figures[Protocol.BLOCKED]:
        yield component, of_component(component, metadata.figures)
        for name, figures in metadata.trivial.items():
            yield f"*{component}: {title(name, metadata, [component])}*", of_component(component, figures)


def ranges(hulls: Mapping[str, Mapping[str, object]]) -> dict[str, tuple[float, float]]:
    """Return the smallest and the largest value (1/s) of each feature among the training rows."""
    limits = {}
    for hull in map(Hull.read, hulls.values()):
        for number, feature in enumerate(hull.features):
            limits[feature] = (hull.low[number] * hull.scale[number], hull.high[number] * hull.scale[number])
    return limits


def _figure(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:z,.{digits}f}"  # z: no -0.00


def _error(figures: ErrorFigures | TrivialFigures) -> str:
    """Return the mean error (W), and its share of measured power where there is one."""
    share = "" if figures.mape is None else f" ({_figure(figures.mape, 1)} %)"
    return f"{_figure(figures.mae)}{share}"


def _energy(figures: ErrorFigures | TrivialFigures) -> str:
    """Return the workload whose energy is farthest off, and by how much."""
    off = figures.energy_error
    if off is None:
        return "–"
    size = _figure(abs(off), 1)
    way = "" if float(size.replace(",", "")) == 0 else " too high" if off > 0 else " too low"
    return f"{figures.energy_worst_workload}: {size} %{way}"
