"""Protocols, figures, intervals, trivial models, the gate."""
