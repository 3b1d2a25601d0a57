"""The embedded stack: PostgreSQL, Prometheus, an S3 server and Airflow as child processes of one supervisor.

`Stack` and `find` of `stack` are what others use; `PrometheusServer`, `SeaweedServer` and `PostgresServer` also serve
alone, as context managers. Nothing is imported here, so that naming one server does not load the others.
"""
