"""A Kepler node that does not exist, with known truth; it shares no code with extraction."""

from kepler_train.simulate.machine import Machine
from kepler_train.simulate.meter import noise_deviation, noise_floor
from kepler_train.simulate.node import NodeRun, Scenario, run_node, run_nodes

__all__ = ["Machine", "NodeRun", "Scenario", "noise_deviation", "noise_floor", "run_node", "run_nodes"]
