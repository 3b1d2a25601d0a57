"""What commands say of addresses: as much as a person needs, and no secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kepler_train.errors import UserError
from kepler_train.workspace import open_store

KeplerTrain = Callable[..., tuple[int, list[str], list[str]]]
SECRET = "hunter22"


@pytest.mark.parametrize(
    "arguments",
    [
        "query",
        "query --interval 60 --server",
        "query --interval 60 --id",
        "machine --server",
        "extract --schedule",
        "extract -i",
        "train -p lab --continue-from",
        "run-step",
        "run-step plan --run lab/1 --workspace",
        "run-step plan --workspace w --run",
        "local up --home home --workspace",
        "local up --home home --prometheus-url",
        "",
    ],
)
@pytest.mark.parametrize(
    "address", [f"http://me:{SECRET}@prom", f"S3://AKIA:{SECRET}@bucket/x", f"http://p/?token={SECRET}"]
)
def test_whatever_is_typed_its_secret_is_neither_said_nor_stored(
    arguments: str, address: str, kepler_train: KeplerTrain, tmp_path: Path
) -> None:
    code, said, errors = kepler_train(*arguments.split(), address)
    assert code == 2
    assert SECRET not in "\n".join([*said, *errors])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_the_parser_of_options_repeats_is_shown_as_far_as_it_may(kepler_train: KeplerTrain) -> None:
    _, _, errors = kepler_train("query", f"http://me:{SECRET}@prom")
    assert errors[-1] == "Error: Got unexpected extra argument(s) (http://***@prom)"


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
@pytest.mark.parametrize(
    "address", [f"http://me:{SECRET}@127.0.0.1:9", f"HTTP://{SECRET}@127.0.0.1:9", f"nonsense:{SECRET} 1@h"]
)
def test_an_s3_server_whose_address_has_a_password_is_not_asked(
    variable: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, address)
    with pytest.raises(UserError) as refused:
        open_store("s3://lab/w")
    assert str(refused.value) == (
        f"The address of the S3 server ({variable}) has a user or a password in it: set AWS_ACCESS_KEY_ID and"
        " AWS_SECRET_ACCESS_KEY instead."
    )


def test_an_s3_server_of_the_aws_configuration_is_judged_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(f"[default]\nendpoint_url = http://me:{SECRET}@127.0.0.1:9\n")
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)  # it has read the configuration of other tests
    with pytest.raises(UserError, match="endpoint_url of the AWS configuration") as refused:
        open_store("s3://lab/w")
    assert SECRET not in str(refused.value)


def test_a_session_token_that_the_s3_server_repeats_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from botocore.exceptions import ClientError

    monkeypatch.setenv("AWS_SESSION_TOKEN", SECRET)
    store = open_store("s3://lab/w")
    answer = {"Error": {"Code": "InvalidToken", "Message": f"{SECRET} is malformed"}}
    with pytest.raises(UserError, match=r"refused the request: .*: \*\*\* is malformed\."), store._explained():
        raise ClientError({**answer, "ResponseMetadata": {"HTTPStatusCode": 400}}, "GetObject")


def test_a_file_that_is_no_schedule_is_refused_without_its_content(tmp_path: Path, kepler_train: KeplerTrain) -> None:
    contents = [
        f"root:{SECRET}:0:0::/root:/bin/sh\n",
        f'{{"auths": "{SECRET}"}}',
        f'{{"phases": "{SECRET}"}}',
        f'{{"phases": [{{"load": "{SECRET}", "start": "{SECRET}", "end": "{SECRET}"}}], "machine": "{SECRET}"}}',
        f'{{"phases": [], "machine": {{"cores": "{SECRET}"}}, "notes": "{SECRET}"}}',
        f'["{SECRET}"]',
        SECRET,
    ]
    for content in contents:
        (tmp_path / "file").write_text(content)
        (tmp_path / "spec.json").write_text(f'{{"schedule": "{tmp_path}/file"}}')
        code, _, errors = kepler_train("run-step", "plan", "--workspace", "w", "--run", "lab/1", "--spec", "spec.json")
        assert (code, len(errors)) == (2, 1)
        assert re.search("is not a schedule|is cut short or not JSON", errors[0])
        assert SECRET not in errors[0]
