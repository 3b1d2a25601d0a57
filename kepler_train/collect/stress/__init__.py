"""Load on a machine, phase by phase, with every phase on record: the workload labels of all later evaluation."""
