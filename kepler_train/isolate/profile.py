"""The background profile of a node type: power and usage of a machine on which nothing but its services run."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from kepler_train.collect.machine import MachineSpec
from kepler_train.errors import UserError
from kepler_train.isolate.idle import Chosen, idle_rows, window_seconds
from kepler_train.isolate.isolators import power_columns
from kepler_train.spec import Time


class Watts(BaseModel):
    """Power of one component at idle (W): mean and median, and how far single windows lie from the mean."""

    model_config = ConfigDict(frozen=True)

    mean: float
    median: float
    deviation: float


class Background(BaseModel):
    """What one machine of a node type needs when it is idle, and who runs on it then.

    `power` is by column of the frames (`<source>/<component>_power`); `usage` and `containers` are mean rates (1/s) of
    the features, of the node and of each container that did any work.
    """

    model_config = ConfigDict(frozen=True)

    node_type: int
    node: str
    machine: MachineSpec | None = None
    chosen: Chosen
    start: Time
    end: Time
    rows: int
    window_seconds: float
    power: dict[str, Watts]
    usage: dict[str, float]
    containers: dict[str, dict[str, float]]


def background(
    node: pd.DataFrame, containers: pd.DataFrame, main: str, seconds: float, node_type: int, machine: MachineSpec | None
) -> Background:
    """The profile of one node from its frames, over an idle window of `seconds` at least."""
    idle, chosen = idle_rows(node, main, seconds)
    step = window_seconds(node.sort_values("time"))
    columns = power_columns(node)
    features = [name for name in node.columns if name not in ("time", "node", "workload", *columns)]
    ran = containers[containers["time"].isin(idle["time"])]
    usage = ran.groupby("container")[features].sum() / len(idle)
    return Background(
        node_type=node_type,
        node=str(idle["node"].iloc[0]),
        machine=machine,
        chosen=chosen,
        start=idle["time"].iloc[0].to_pydatetime() - timedelta(seconds=step),
        end=idle["time"].iloc[-1].to_pydatetime(),
        rows=len(idle),
        window_seconds=step,
        power={name: _watts(idle[name]) for name in columns},
        usage={name: float(idle[name].mean()) for name in features},
        containers={str(name): {f: float(row[f]) for f in features} for name, row in usage.iterrows()},
    )


def _watts(power: pd.Series[float]) -> Watts:
    return Watts(mean=power.mean(), median=power.median(), deviation=power.std(ddof=0))


def profile_file(folder: Path, node_type: int) -> Path:
    """Where the profile of a node type is kept."""
    return folder / f"node_type_{node_type}.json"


def read_background(folder: Path, node_type: int) -> Background | None:
    """The stored profile of a node type, if there is one."""
    file = profile_file(folder, node_type)
    try:
        found = Background.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"The background profile {file} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
        raise UserError(f"{file} is not a background profile: {place or 'its JSON'} is wrong.") from None
    if found.node_type != node_type:
        raise UserError(f"{file} is the background profile of node type {found.node_type}, not of {node_type}.")
    return found
