"""Export: models that pass the gate in the layout of kepler-model-db, with a report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kepler_train.evaluate.judged import HELD_OUT, MODEL, HeldOut
from kepler_train.evaluate.judging import EVALUATION
from kepler_train.export.layout import export_model, export_pipeline
from kepler_train.export.pictures import draw_pictures
from kepler_train.export.report import REPORT, write_report
from kepler_train.isolate.background import pass_on_profile
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.isolate.preprocessed import copy_preprocessed_data
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures, Inputs

# Figures of trivial models that stand on a card beside the model's own.
_SHOWN = (
    "mae",
    "mape",
    "rmse",
    "p95",
    "idle_bias",
    "worst_workload",
    "worst_workload_mae",
    "energy_error",
    "energy_worst_workload",
)


def export(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Export the models of the run."""
    folders = inputs.folder("isolate"), inputs.folder("evaluate")
    pass_on_profile(inputs.folder("isolate"), out)
    return export_models(inputs.parts("train"), *folders, spec, inputs.run.name, out)


def export_models(
    trained: Mapping[str, Path], isolated: Path, evaluated: Path, spec: RunSpec, run: str, out: Path
) -> Figures:
    """Write `<pipeline>/…` for every passing model, and a report on all of them."""
    evaluation = json.loads((evaluated / EVALUATION).read_text(encoding="utf-8"))
    isolation = Isolation.model_validate_json((isolated / ISOLATION).read_bytes())
    home = out / spec.pipeline
    home.mkdir()
    copy_preprocessed_data(isolated, home)
    passing = {part: verdict for part, verdict in evaluation["models"].items() if verdict["passes"]}
    for part, verdict in passing.items():
        held_out = HeldOut.read(trained[part] / HELD_OUT)
        judged = verdict | {"trivial": _trivial(evaluation, part)}
        export_model(trained[part] / MODEL, held_out, home, part, judged, pickles=spec.legacy_pickles)
    export_pipeline(home, spec, isolation.isolator, evaluation)
    draw_pictures(evaluation, lambda part: HeldOut.read(trained[part] / HELD_OUT), home)
    write_report(home / REPORT, spec, evaluation, isolation, run)
    return {"models": len(passing), "refused": len(trained) - len(passing), "report": f"{spec.pipeline}/{REPORT}"}


def _trivial(evaluation: Mapping[str, Any], part: str) -> dict[str, Any]:
    """What the card shows of the trivial models on the rows of a model, by name, protocol and component."""
    return {
        name: {
            protocol: {component: {figure: own[figure] for figure in _SHOWN} for component, own in found.items()}
            for protocol, found in figures.items()
        }
        for name, figures in evaluation["baselines"].get(part.rpartition("/")[0], {}).items()
    }
