"""Results for people and other tools: the kepler-model-db layout, a report, a plot."""
