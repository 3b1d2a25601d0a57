"""Load on the machine, phase by phase."""
