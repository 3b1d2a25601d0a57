"""From Prometheus to files: the client, what a run asks for, and the samples as they were scraped."""
