"""Machine specs and node types."""
