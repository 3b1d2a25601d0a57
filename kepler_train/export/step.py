"""Export: models that pass the gate in the layout of kepler-model-db, with a report."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from kepler_train.evaluate.evaluation import Evaluation
from kepler_train.evaluate.judged import HELD_OUT, MODEL, HeldOut
from kepler_train.export.champion import compare_with_kept, write_comparison, write_window_rows
from kepler_train.export.html_report import write_html_report
from kepler_train.export.layout import export_model, export_pipeline
from kepler_train.export.pictures import draw_pictures
from kepler_train.export.report import REPORT, write_report
from kepler_train.isolate.background import pass_on_profile
from kepler_train.isolate.outcome import ISOLATION, Isolation
from kepler_train.isolate.preprocessed import copy_preprocessed_data
from kepler_train.machine.choice import RunNodeType
from kepler_train.model_key import ModelKey
from kepler_train.models.artifact import read_metadata
from kepler_train.records import read_record
from kepler_train.spec import RunSpec
from kepler_train.validate.outcome import VERDICT, Verdict
from kepler_train.workspace import Figures, Inputs


def export(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Export the models of the run that pass the gate."""
    return _export(inputs, spec, out, every=False)


def keep(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Write every model of the run with its verdict, as `kepler-train train` keeps them: the gate is at its export."""
    return _export(inputs, spec, out, every=True)


def _export(inputs: Inputs, spec: RunSpec, out: Path, *, every: bool) -> Figures:
    isolated = inputs.folder("isolate")
    spec = RunNodeType.read(isolated).settled(spec)
    pass_on_profile(isolated, out)
    trained = {ModelKey.parse(part): folder for part, folder in inputs.parts("train").items()}
    verdict = inputs.folder("validate") / VERDICT  # which a run on a given frame does not have
    judged = Verdict.read(verdict) if verdict.exists() else None
    manifests = [inputs.run.manifest("train", part) for part in inputs.parts("train")]
    times = [(manifest.started, manifest.ended) for manifest in manifests if manifest]
    span = (min(start for start, _ in times), max(end for _, end in times)) if times else None
    evaluated, plan = inputs.folder("evaluate"), inputs.folder("plan")
    return export_models(trained, isolated, evaluated, judged, spec, inputs.run.name, out, plan, span, every=every)


def export_models(
    trained: Mapping[ModelKey, Path],
    isolated: Path,
    evaluated: Path,
    verdict: Verdict | None,
    spec: RunSpec,
    run: str,
    out: Path,
    plan: Path | None = None,
    span: tuple[datetime, datetime] | None = None,
    *,
    every: bool = False,
) -> Figures:
    """Write `<pipeline>/…` for every passing model, and a report on all of them, for editors and for browsers.

    They are compared with the models that are published now, if `plan` has any. `span` is when training began and
    ended, where that is known. With `every` models that do not pass are written too, with the reason in their metadata.
    """
    evaluation = Evaluation.read(evaluated)
    isolation = read_record(Isolation, (isolated / ISOLATION).read_bytes(), str(isolated / ISOLATION))
    home = out / spec.pipeline
    home.mkdir()
    copy_preprocessed_data(isolated, home)
    passing = evaluation.passing
    for key in evaluation.models if every else passing:
        export_model(trained[key], home, key, evaluation, pickles=spec.legacy_pickles)
    kind = RunNodeType.read(isolated)
    export_pipeline(home, spec, isolation.isolator, evaluation, kind, span, every=every)
    draw_pictures(evaluation, lambda key: HeldOut.read(trained[key] / HELD_OUT), home)
    write_window_rows(home, evaluation, trained, spec.folds, kind.number)
    comparison = compare_with_kept(home, plan, kind.number)
    write_comparison(comparison, out)
    write_report(home / REPORT, spec, evaluation, isolation, run, comparison)
    machine = next((read_metadata(folder / MODEL).machine_spec for folder in trained.values()), {})
    write_html_report(home, spec, evaluation, isolation, run, verdict, machine, comparison)
    return {"models": len(passing), "refused": len(trained) - len(passing), "report": f"{spec.pipeline}/{REPORT}"}
