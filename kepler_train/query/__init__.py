"""The Prometheus client: credentials, chunks, retries, dialects."""
