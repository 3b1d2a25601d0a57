"""The registry of steps and the one runner."""
