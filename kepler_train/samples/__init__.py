"""What was collected, as files: Parquet, kepler_query.json, schedules."""
