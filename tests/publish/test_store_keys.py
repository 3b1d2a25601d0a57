"""Keys of an object store from a mounted secret, of AWS and of IBM Cloud; without one, publishing is skipped."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from ibm_cloud import API_KEY, IbmCloud
from published_pipelines import pipeline, published, window
from real_s3 import s3_server

from kepler_train.cli import main
from kepler_train.errors import Skipped, UserError
from kepler_train.publish.step import publish
from kepler_train.publish.target import open_target
from kepler_train.spec import RunSpec
from kepler_train.workspace import Inputs, Run, open_store, store_keys
from kepler_train.workspace.store_keys import SECRETS, grant

AWS = {"accessKeyID": "a-key-id", "accessSecret": "a-secret-of-aws", "regionName": "us-east-1", "bucketName": "lab"}
IBM = {"serviceEndpoint": "s3.example.com", "apiKey": API_KEY, "serviceInstanceID": "crn:1", "bucketName": "lab"}


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither keys of the environment nor such of other tests."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(store_keys, "_by_bucket", {})
    monkeypatch.setenv(SECRETS, str(tmp_path / "secrets"))


def mount(folder: Path, keys: dict[str, str], name: str = "cos") -> None:
    (folder / "secrets" / name).mkdir(parents=True)
    for key, value in keys.items():
        (folder / "secrets" / name / key).write_text(f"{value}\n")


@pytest.mark.parametrize(("provider", "keys"), [("aws", AWS), ("ibmcloud", IBM)])
def test_a_missing_key_is_named(tmp_path: Path, provider: str, keys: dict[str, str]) -> None:
    for number, missing in enumerate(keys):
        mount(tmp_path, {key: value for key, value in keys.items() if key != missing}, f"cos-{number}")
        with pytest.raises(UserError, match=rf"^The secret cos-{number} has no key {missing}: COS_PROVIDER {provider}"):
            grant(provider, f"cos-{number}", "")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("apiKey", "", "The key apiKey of the secret cos is empty or is not one line of text"),
        ("apiKey", "two\nlines", "The key apiKey of the secret cos is empty or is not one line of text"),
        ("serviceEndpoint", "http://user:pass@host", "The key serviceEndpoint of the secret cos is not the address"),
    ],
)
def test_a_key_that_is_none_is_one_sentence_without_it(tmp_path: Path, key: str, value: str, words: str) -> None:
    mount(tmp_path, IBM | {key: value})
    with pytest.raises(UserError, match=words) as refused:
        grant("ibmcloud", "cos", "")
    assert "pass" not in str(refused.value)
    assert "two" not in str(refused.value)


@pytest.mark.parametrize("name", ["../other", "/etc", "a b", "A"])
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="is not the name of a Kubernetes secret"):
        grant("aws", name, "")


def test_the_bucket_of_the_secret_is_the_target_unless_another_is_named(tmp_path: Path) -> None:
    mount(tmp_path, AWS)
    assert grant("aws", "cos", "") == "s3://lab/models"
    assert grant("aws", "cos", "s3://other/prefix") == "s3://other/prefix"
    with pytest.raises(UserError, match=r"publish_to is the folder /models, and cos_provider aws is for a bucket"):
        grant("aws", "cos", "/models")


def run_publish(tmp_path: Path, **more: object) -> dict[str, object]:
    """Publish a night as a run does whose workspace is a folder."""
    start, end = window(1)
    exported = tmp_path / "export" / "lab"
    if not exported.exists():
        pipeline(exported, "lab", 1)
    spec = RunSpec.model_validate({"pipeline": "lab", "start": start, "end": end, **more})
    (tmp_path / "out").mkdir(exist_ok=True)
    run = Run(open_store(str(tmp_path / "w")), "lab", "1")
    return publish(Inputs(run, "", {"export": tmp_path / "export"}), spec, tmp_path / "out")


@pytest.mark.parametrize("name", ["", "cos"])
def test_without_its_secret_a_run_publishes_nothing_and_says_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(Skipped) as skipped:
        run_publish(tmp_path, cos_provider="ibmcloud", cos_secret_name=name)
    assert skipped.value.exit_code == 99
    assert "nothing is published" in str(skipped.value)
    assert not (tmp_path / "w" / "models").exists()
    assert (tmp_path / "export" / "lab" / "metadata.json").exists()


@pytest.mark.integration
def test_keys_of_a_secret_are_enough_for_a_bucket_of_aws_kind(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = s3_server(request.config)
    right = {"accessKeyID": server.access_key, "accessSecret": server.secret_key, "serviceEndpoint": server.endpoint}
    mount(tmp_path, AWS | right)
    prefix = uuid.uuid4().hex
    done = run_publish(tmp_path, cos_provider="aws", cos_secret_name="cos", publish_to=f"s3://lab/{prefix}")
    assert open_target(f"s3://lab/{prefix}").latest("lab") == done["version"]
    monkeypatch.setattr(store_keys, "_by_bucket", {})
    mount(tmp_path, AWS | right | {"accessSecret": "a-wrong-secret"}, "wrong")
    with pytest.raises(UserError, match=r"refused the keys \(SignatureDoesNotMatch\): check the secret wrong") as said:
        run_publish(tmp_path, cos_provider="aws", cos_secret_name="wrong", publish_to=f"s3://lab/{prefix}")
    assert "a-wrong-secret" not in str(said.value)


@pytest.mark.integration
def test_ibm_cloud_gets_a_token_with_every_request_which_is_renewed_before_it_ends(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with IbmCloud(s3_server(request.config), life=11) as cloud:  # renewed after a second
        monkeypatch.setenv("IBM_IAM_ENDPOINT", cloud.iam)
        mount(tmp_path, IBM | {"serviceEndpoint": cloud.endpoint})
        prefix = uuid.uuid4().hex
        address = grant("ibmcloud", "cos", f"s3://lab/{prefix}")
        target = open_target(address)
        for night in (1, 2, 3, 4):
            version = published(target, tmp_path, "lab", night).record.version
        large = tmp_path / "large"
        large.write_bytes(b"0123456789abcdef" * (1 << 20))  # 16 MB: in parts
        target.store.upload(large, "large")
        assert target.store.sha256("large") is not None
        cloud.life = 3600
        assert target.latest("lab") == version
        assert cloud.refused == []
        assert len(cloud.tokens) >= 2
        assert cloud.requests > 5 * len(cloud.tokens)  # and not one for each request


@pytest.mark.integration
def test_a_wrong_api_key_is_one_sentence_without_it(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with IbmCloud(s3_server(request.config)) as cloud:
        monkeypatch.setenv("IBM_IAM_ENDPOINT", cloud.iam)
        mount(tmp_path, IBM | {"serviceEndpoint": cloud.endpoint, "apiKey": "a-revoked-key"})
        monkeypatch.setenv("COS_PROVIDER", "ibmcloud")
        monkeypatch.setenv("COS_SECRET_NAME", "cos")
        monkeypatch.setattr("sys.argv", ["kepler-train", "models", "list"])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        assert end.value.code == 2
        assert said.err == (
            f"error: {cloud.iam} refused the apiKey of the secret cos (400): it is wrong or was revoked.\n"
        )
        assert cloud.requests == 0


def test_keys_are_in_no_picture_of_an_object(tmp_path: Path) -> None:
    mount(tmp_path, AWS)
    grant("aws", "cos", "")
    shown = repr(store_keys.keys_of("lab"))
    assert "lab" in shown
    assert "a-secret-of-aws" not in shown
