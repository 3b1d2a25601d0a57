"""The gate: which errors a model may have and still be published."""

from __future__ import annotations

from collections.abc import Mapping

from kepler_train.evaluate.protocols import Protocol
from kepler_train.spec import RunSpec


def refusal(worsts: Mapping[str, tuple[float | None, float | None]], spec: RunSpec) -> str:
    """Return why a model does not pass the gate; empty when it does.

    (MAE ≤ 10 W or MAPE ≤ 20 %) for blocks of time, and both ≤ 100 for blocks of time, for loads that were never seen
    and forward in time, with the limits of the spec. A missing figure does not help a model to pass.
    """
    for protocol in (Protocol.BLOCKED, Protocol.WORKLOAD, Protocol.FORWARD):
        for value, unit in zip(worsts.get(protocol, ()), ("W", "%"), strict=False):
            if value is not None and not value <= spec.gate_limit:  # NaN is above every limit
                return f"{protocol} {value:.0f} {unit}, above {spec.gate_limit:g}"
    mae, mape = worsts[Protocol.BLOCKED]
    if mae is not None and (mae <= spec.gate_mae or (mape is not None and mape <= spec.gate_mape)):
        return ""
    errors = [f"{value:.1f} {unit}" for value, unit in ((mae, "W"), (mape, "%")) if value is not None]
    return f"blocked {' and '.join(errors) or 'nothing'}, above {spec.gate_mae:g} W and {spec.gate_mape:g} %"


def rule(spec: RunSpec) -> str:
    """Return the gate of a spec in words."""
    limit = f"{spec.gate_limit:g}"
    return (
        f"its worst component errs by at most {spec.gate_mae:g} W or {spec.gate_mape:g} % in blocks of time, and by at"
        f" most {limit} W and {limit} % in blocks of time, under unseen load and forward"
    )
