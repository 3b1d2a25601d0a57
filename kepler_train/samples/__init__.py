"""Collected samples as files: Parquet, kepler_query.json, schedules."""
