"""One module per step: read inputs from the workspace, call the library, write outputs."""

from __future__ import annotations

from kepler_train.spec import RunSpec
from kepler_train.workspace import Step


def models_of(spec: RunSpec) -> list[str]:
    """The models of a run, as parts of the train step: `<source>/<output type>/<group>/<trainer>`."""
    return [
        f"{source}/{output_type}/{group}/{trainer}"
        for source in spec.energy_sources
        for output_type in spec.output_types
        for group in spec.feature_groups
        for trainer in spec.trainers(output_type)
    ]


STEPS = {
    step.name: step
    for step in (
        Step("plan", "kepler_train.steps.plan:plan", always=True),
        Step("query", "kepler_train.steps.query:query", needs=("plan",)),
        Step("validate", "kepler_train.steps.validate:validate", needs=("plan", "query")),
        Step("extract", "kepler_train.steps.extract:extract", needs=("plan", "query", "validate")),
        Step("isolate", "kepler_train.steps.isolate:isolate", needs=("plan", "extract")),
        Step("train", "kepler_train.steps.train:train", needs=("plan", "extract", "isolate"), parts=models_of),
        Step("evaluate", "kepler_train.steps.evaluate:evaluate", needs=("plan",), gathers=("train",)),
        Step("export", "kepler_train.steps.export:export", needs=("plan", "isolate", "evaluate"), gathers=("train",)),
        Step("publish", "kepler_train.steps.publish:publish", needs=("plan", "export")),
    )
}
