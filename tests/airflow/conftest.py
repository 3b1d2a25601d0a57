"""Airflow makes its home when it is imported: not in the home of whoever runs the tests."""

import os
import tempfile

os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="kepler-train-airflow-"))
