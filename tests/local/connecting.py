"""A connection to the database of a server under test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kepler_train.local.postgres import PostgresServer


@contextmanager
def connected(server: PostgresServer) -> Iterator[Any]:
    import psycopg2

    connection = psycopg2.connect(host=server.address, dbname="airflow", user="postgres")
    connection.autocommit = True
    try:
        yield connection.cursor()
    finally:
        connection.close()
