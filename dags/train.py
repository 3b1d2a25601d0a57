"""
### Power models for Kepler

Learns the power of a machine from what Kepler measured on it: takes raw samples of a window from Prometheus, checks
them, turns counters into rates, removes idle power, trains one model per output type and trainer, judges them on rows
they have not seen, and publishes those that pass.

**Window.** A run that you trigger learns from `start` to `end` where they are given, else from the last
`window_seconds` before its logical date. The nightly run and the runs of a backfill learn from their data interval. The
log of `plan` says which window it took, and why. With `stress` on, a run first puts the machine under load (the machine
that its steps run on, or the node named in `nodes` where they are pods) and learns from that time.

**Parameters.** A `preset` sets several at once; what you change yourself wins. Worth knowing: `prometheus` (address),
`nodes` (when several are scraped: those that share a model, each with an `extract` task of its own), `schedule` (file
of load phases, so that errors are told by workload), `abs_trainers` and `dyn_trainers`, `gate_mae` and `gate_mape`
(what may be published), `publish_to` (folder or `s3://…`).

**Results.** Files and manifests of each step are in the workspace under `runs/<pipeline>/<run id>/<step>/`; the log
of `publish` names the place of the models. Their `README.md` is the report: error of every model by component, held
out in four ways. A run in which a node or a trainer failed is red, and publishes what is good.
"""

from __future__ import annotations

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import TriggerRule, chain

from kepler_airflow.steps import models, nodes, plan, step, step_in_parts, stress_when_asked
from kepler_airflow.training_dag import training_dag, wanted_dags

for wanted in wanted_dags():
    with training_dag(wanted, doc_md=__doc__):
        planned = plan()
        query = step("query", trigger_rule=TriggerRule.NONE_FAILED)  # stress may be skipped
        # One failed node or trainer must not keep the others' models from being published …
        extracted = step_in_parts("extract", planned >> nodes())
        isolated = step("isolate", trigger_rule=TriggerRule.ALL_DONE_MIN_ONE_SUCCESS)
        trained = step_in_parts("train", planned >> models())
        judged = step("evaluate", trigger_rule=TriggerRule.ALL_DONE_MIN_ONE_SUCCESS)
        published = step("publish")
        # … nor the run from being red.
        nothing_failed = EmptyOperator(task_id="nothing_failed")

        chain(planned, stress_when_asked(), query, step("validate"), extracted, isolated, trained)
        chain(trained, judged, step("export"), published, nothing_failed)
        chain([extracted, trained], nothing_failed)
