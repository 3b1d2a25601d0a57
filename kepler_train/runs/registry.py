"""The steps of a run: what each reads, and which parts it is done in."""

from __future__ import annotations

from kepler_train.parts import model_parts, nodes_of
from kepler_train.spec import RunSpec
from kepler_train.workspace import Step


def stressed(spec: RunSpec) -> tuple[str, ...]:
    """Return the stress step for a run that has it: other steps read its load phases."""
    return ("stress",) if spec.stress else ()


def if_stressed(spec: RunSpec) -> list[str]:
    """Return the one part of the stress step, or none for a run without it."""
    return [""] if spec.stress else []


STEPS = {
    step.name: step
    for step in (
        Step("plan", "kepler_train.plan.step:plan", always=True),
        Step("stress", "kepler_train.stress.step:stress", needs=("plan",), parts=if_stressed, outside="collects"),
        Step("query", "kepler_train.query.step:query", needs=("plan",), needs_by=stressed, outside="collects"),
        Step("validate", "kepler_train.validate.step:validate", needs=("plan", "query"), needs_by=stressed),
        Step(
            "extract",
            "kepler_train.extract.step:extract",
            needs=("plan", "query", "validate"),
            needs_by=stressed,
            parts=nodes_of,
        ),
        Step("isolate", "kepler_train.isolate.step:isolate", needs=("plan",), gathers=("extract",)),
        Step(
            "train",
            "kepler_train.train.step:train",
            needs=("plan", "isolate"),
            gathers=("extract",),
            parts=model_parts,
        ),
        Step("evaluate", "kepler_train.evaluate.step:evaluate", needs=("plan",), gathers=("train",)),
        Step(
            "export",
            "kepler_train.export.step:export",
            needs=("plan", "validate", "isolate", "evaluate"),
            gathers=("train",),
        ),
        Step("publish", "kepler_train.publish.step:publish", needs=("plan", "export"), outside="changes"),
    )
}
