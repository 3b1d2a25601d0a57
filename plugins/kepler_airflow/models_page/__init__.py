"""Pages of published models inside Airflow's UI, behind its login."""
