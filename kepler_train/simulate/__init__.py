"""A Kepler node that does not exist, with known truth; it shares no code with extraction."""
