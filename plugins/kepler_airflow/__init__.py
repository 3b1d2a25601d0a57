"""How Airflow runs the steps of kepler-train: as pods or as local processes."""
