"""One module per step: read inputs from the workspace, call the library, write outputs."""

from __future__ import annotations

from kepler_train.spec import RunSpec
from kepler_train.workspace import Step, part_of


def nodes_of(spec: RunSpec) -> list[str]:
    """The nodes of a run, as parts of the extract step; a run that names none has one, whichever is there."""
    return [part_of(node) for node in spec.nodes] or [""]


def models_of(spec: RunSpec) -> list[str]:
    """The models of a run, as parts of the train step: `<source>/<output type>/<group>/<trainer>`."""
    return [
        f"{source}/{output_type}/{group}/{trainer}"
        for source in spec.energy_sources
        for output_type in spec.output_types
        for group in spec.feature_groups
        for trainer in spec.trainers(output_type)
    ]


def stressed(spec: RunSpec) -> tuple[str, ...]:
    """The stress step, for what reads its load phases in a run that has it."""
    return ("stress",) if spec.stress else ()


def if_stressed(spec: RunSpec) -> list[str]:
    """The one part of the stress step, in a run that has it."""
    return [""] if spec.stress else []


STEPS = {
    step.name: step
    for step in (
        Step("plan", "kepler_train.steps.plan:plan", always=True),
        Step("stress", "kepler_train.steps.stress:stress", needs=("plan",), parts=if_stressed),
        Step("query", "kepler_train.steps.query:query", needs=("plan",), needs_by=stressed),
        Step("validate", "kepler_train.steps.validate:validate", needs=("plan", "query"), needs_by=stressed),
        Step(
            "extract",
            "kepler_train.steps.extract:extract",
            needs=("plan", "query", "validate"),
            needs_by=stressed,
            parts=nodes_of,
        ),
        Step("isolate", "kepler_train.steps.isolate:isolate", needs=("plan",), gathers=("extract",)),
        Step(
            "train",
            "kepler_train.steps.train:train",
            needs=("plan", "isolate"),
            gathers=("extract",),
            parts=models_of,
        ),
        Step("evaluate", "kepler_train.steps.evaluate:evaluate", needs=("plan",), gathers=("train",)),
        Step("export", "kepler_train.steps.export:export", needs=("plan", "isolate", "evaluate"), gathers=("train",)),
        Step("publish", "kepler_train.steps.publish:publish", needs=("plan", "export")),
    )
}
