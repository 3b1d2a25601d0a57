"""The load phases of a window. They are the workload labels of all evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from kepler_train import strict_json
from kepler_train.addresses import BadAddress, files_at
from kepler_train.errors import UserError, first_problem
from kepler_train.machine.by_node import ANY_NODE
from kepler_train.machine.spec import MachineSpec
from kepler_train.spec import Time
from kepler_train.workspace import Inputs, open_store

IDLE = "idle"
SCHEDULE = "schedule.json"
"""The file of a run's load phases, in the folder of the step that settled them: plan, or stress."""

Status = Literal["done", "failed", "missing", "stopped"]
"""missing: the machine's stress-ng does not have the load; stopped: somebody ended the run during the phase."""


class Phase(BaseModel):
    """One load at one level, from start to end (UTC). Without a node it ran on every node."""

    model_config = ConfigDict(frozen=True)

    name: str = ""
    load: str = Field(min_length=1)
    instances: int = 0
    frequency_mhz: float | None = Field(
        default=None, description="CPU frequency that was asked for; None: the governor's."
    )
    frequency_seen_mhz: float | None = Field(
        default=None, description="Mean over all CPUs and the phase, as the kernel says."
    )
    node: str = ANY_NODE
    start: Time
    end: Time
    status: Status = "done"
    reason: str = Field(default="", description="What did not go as planned, in one sentence.")
    exit_code: int | None = Field(
        default=None, description="Of the load; of the first instance that failed, if one did."
    )
    bogo_ops: int | None = Field(
        default=None, description="Work done as stress-ng counts it, summed over the instances."
    )
    command: list[str] = Field(default=[], description="What was started, once for each instance.")

    def ran_on(self, node: str) -> bool:
        """Return whether it ran on a node: the one it names, or every one."""
        return self.node in (ANY_NODE, node)


def _in_order(phases: list[Phase]) -> list[Phase]:
    for phase in phases:
        # What could not run may have taken no time at all.
        if phase.start > phase.end or (phase.start == phase.end and phase.status == "done"):
            raise ValueError(f"the phase {phase.name or phase.load} ends before it starts")
    return sorted(phases, key=lambda phase: (phase.node, phase.start))


class Schedule(BaseModel):
    """All phases that are known of a machine, sorted by node and time."""

    model_config = ConfigDict(frozen=True)

    machine_id: str = ""
    machine: MachineSpec | None = None
    phases: Annotated[list[Phase], AfterValidator(_in_order)] = []
    notes: list[str] = Field(
        default=[], description="What a reader of the phases must know, as that no frequency was set."
    )

    def span(self) -> tuple[datetime, datetime]:
        """Return the start of the first phase and the end of the last."""
        return min(phase.start for phase in self.phases), max(phase.end for phase in self.phases)

    def labelled(self) -> Iterator[Phase]:
        """Return the phases that ran whole, and so say which load ran."""
        return (phase for phase in self.phases if phase.status == "done")


def read_schedule(address: str) -> Schedule:
    """Return the schedule of a file or an s3:// address; an empty one without an address."""
    if not address:
        return Schedule()
    try:
        files_at(address)
    except BadAddress as error:
        raise UserError(f"{error}.") from None
    folder, slash, name = address.rpartition("/")
    content = open_store(folder or slash or ".").read(name)
    if content is None:
        raise UserError(f"There is no schedule at {address}: give the file of load phases, or leave it empty.")
    return parse_schedule(content, address)


def parse_schedule(content: bytes, where: object) -> Schedule:
    """Return the schedule in a JSON text."""
    return schedule_in(strict_json.read(content, where), where)


def schedule_in(content: Any, where: object) -> Schedule:
    """Return the schedule that the content of a file is."""
    try:
        schedule = Schedule.model_validate(content)
    except ValidationError as error:
        raise UserError(f"{where} is not a schedule: {': '.join(first_problem(error))}.") from None
    if "phases" not in schedule.model_fields_set:
        raise UserError(f"{where} is not a schedule: it has no phases.")
    return schedule


def run_schedule(inputs: Inputs) -> Schedule:
    """Return the load phases of the run, as the plan settled them or as the stress step recorded them."""
    file = inputs.folder("stress" if "stress" in inputs.folders else "plan") / SCHEDULE
    return parse_schedule(file.read_bytes(), file)
