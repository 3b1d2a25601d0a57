"""Counters to rates to training frames."""
