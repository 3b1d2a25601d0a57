"""A client of boto3: for the keys of the environment, a profile or a role, or for those of a mounted secret."""

from __future__ import annotations

import os
from typing import Any

from kepler_train.workspace.ibm_token import IbmToken, send_token
from kepler_train.workspace.s3_endpoint import check_endpoint
from kepler_train.workspace.store_keys import StoreKeys

AT_ONCE = 16  # requests


def make_client(keys: StoreKeys | None) -> Any:
    """Return a client for these keys; None takes those that boto3 finds."""
    import boto3
    from botocore import UNSIGNED
    from botocore.config import Config

    # A server that does not answer is noticed within half a minute: then it is Airflow's turn to wait.
    config = Config(
        retries={"total_max_attempts": 4, "mode": "standard"},
        connect_timeout=5,
        read_timeout=30,
        s3={"addressing_style": "path"},
        max_pool_connections=2 * AT_ONCE,
    )
    if keys is None:
        for variable in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
            check_endpoint(os.environ.get(variable, ""), variable)
        client = boto3.client("s3", config=config)
        check_endpoint(client.meta.endpoint_url, "endpoint_url of the AWS configuration")
        return client
    if keys.api_key:
        # The check sums that boto3 adds by itself come in a trailer, which not every server reads; ETags are compared.
        bearer = Config(signature_version=UNSIGNED, request_checksum_calculation="when_required")
        client = boto3.client("s3", endpoint_url=keys.endpoint, region_name="us-standard", config=config.merge(bearer))
        send_token(client, IbmToken(keys.api_key, keys.name))
        return client
    return boto3.client(
        "s3",
        endpoint_url=keys.endpoint or None,
        region_name=keys.region,
        aws_access_key_id=keys.access_key,
        aws_secret_access_key=keys.access_secret,
        config=config,
    )
