"""Trains, judges and publishes power models for Kepler."""

__version__ = "0.1.0"
