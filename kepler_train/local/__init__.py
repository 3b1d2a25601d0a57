"""The embedded stack: PostgreSQL, Prometheus, an S3 server and Airflow as child processes of one supervisor."""
