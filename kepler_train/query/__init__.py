"""The Prometheus client: windows, chunks, dialects."""
