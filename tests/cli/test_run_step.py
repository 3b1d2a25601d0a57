"""`kepler-train run-step` as pods and people call it: whatever is wrong is one line and an exit code."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from real_s3 import s3_server

PROGRAM = Path(sys.executable).with_name("kepler-train")
NIGHT = {"start": "2026-11-13T00:00:00Z", "end": "2026-11-13T02:00:00Z"}
NOW = "2026-11-14T12:00:00Z"


def kepler_train(
    *arguments: object, env: dict[str, str] | None = None, before: Callable[[], object] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program without any AWS setting but those given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "KEPLER_TRAIN_"))}
    return subprocess.run(
        [str(PROGRAM), *map(str, arguments)],
        env={**clean, "HOME": "/nonexistent", **(env or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=before,
    )


def error_of(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The one line on stderr, after a look at everything else."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert line.endswith((".", "?"))
    return line.removeprefix("error: ")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    """A folder that must not come to be: nothing half-written when a step is refused."""
    yield tmp_path / "workspace"
    assert not (tmp_path / "workspace").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plann", "--run", "lab/1"], "There is no step 'plann': did you mean 'plan'? Known: plan, stress, query, "),
        (["query", "--run", "lab/1"], "The run lab/1 has no plan yet: run the plan step first."),
        (["plan", "--run", "lab/1", "--part", "x"], "The step plan has no parts."),
        (["plan", "--run", "../../etc"], "'../../etc' does not name a run: write <pipeline>/<run id>"),
        (["plan", "--run", "lab\n/1"], "'lab\\n/1' does not name a run: write <pipeline>/<run id>"),
        (["plan", "--run", ""], "'' does not name a run: write <pipeline>/<run id>"),
        (["plan", "--run", "lab/1", "--now", "yesterday"], "'yesterday' is not a time: write it as 2026-11-14T02:00"),
        (["plan", "--run", "lab/1", "--now", "2026-11-14T02:00:00"], "The time '2026-11-14T02:00:00' needs its zone"),
        (["plan", "--run", "lab/1", "--now", "0001-01-01T00:00:00+05:00"], "'0001-01-01T00:00:00+05:00' is not a"),
        (["plan", "--run", "lab/1", "--interval", NOW], f"'{NOW}' is not an interval: write it as <start>/<end>."),
    ],
)
def test_a_wrong_argument_is_one_sentence_and_exit_code_2(arguments: list[str], said: str, workspace: Path):
    assert error_of(kepler_train("run-step", *arguments, "--workspace", workspace), 2).startswith(said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file or directory."),
        ("{'pipeline': 1}", "not JSON: Expecting property name enclosed in double quotes"),
        ("\xff\xfe", "not JSON: it is not text in UTF-8"),
        ("[1, 2]", "Input should be a valid dictionary"),
        ('{"seed": "many"}', "seed: Input should be a valid integer"),
        ('{"feature_groups": ["BPFonly"]}', "There is no feature group 'BPFonly': did you mean 'BPFOnly'?"),
        ('{"feature_grups": ["BPFOnly"]}', "There is no parameter 'feature_grups': did you mean 'feature_groups'?"),
        ('{"start": "2026-11-13T00:00:00"}', "start: a time needs its zone, as in 2026-11-14T02:00:00Z."),
        ('{"start": "2026-11-15T00:00:00Z"}', "The window lies in the future, from 2026-11-15 00:00:00 UTC"),
        ('{"start": "2026-11-13T00:00:00Z", "end": "2026-11-13T00:00:00Z"}', "The window has no length: it starts at"),
        ('{"window_seconds": 1e300}', "The window ends beyond the calendar"),
        ('{"pipeline": "../../etc"}', "pipeline: String should match pattern"),
    ],
)
def test_a_wrong_spec_is_one_sentence_and_exit_code_2(content: str | None, said: str, workspace: Path, tmp_path: Path):
    spec = tmp_path / "spec.json"
    if content is not None:
        spec.write_bytes(content.encode("latin-1"))
    step = ("run-step", "plan", "--workspace", workspace, "--run", "lab/1", "--spec", spec, "--now", NOW)
    assert said in error_of(kepler_train(*step), 2)


def test_the_spec_of_the_environment_is_judged_the_same(workspace: Path):
    step = ("run-step", "plan", "--workspace", workspace, "--run", "lab/1")
    assert error_of(kepler_train(*step, env={"KEPLER_TRAIN_SPEC": "{"}), 2).startswith(
        "KEPLER_TRAIN_SPEC is cut short or not JSON:"
    )
    future = {"KEPLER_TRAIN_SPEC": "{}", "KEPLER_TRAIN_INTERVAL": "2926-11-13T00:00:00Z/2926-11-14T00:00:00Z"}
    assert "The window lies in the future" in error_of(kepler_train(*step, env=future), 2)


def test_machines_get_the_error_as_json_too(workspace: Path):
    done = kepler_train("--log-format", "json", "run-step", "plann", "--workspace", workspace, "--run", "lab/1")
    (line,) = done.stderr.splitlines()
    said = json.loads(line)
    assert (done.returncode, said["level"], said["exit_code"], done.stdout) == (2, "error", 2, "")
    assert said["event"].startswith("There is no step 'plann'")


def plan(workspace: object, *more: object, **options: Any) -> subprocess.CompletedProcess[str]:
    env = {"KEPLER_TRAIN_SPEC": json.dumps(NIGHT), **options.pop("env", {})}
    return kepler_train(*more, "run-step", "plan", "--workspace", workspace, "--run", "lab/1", env=env, **options)


def test_a_planned_run_refuses_the_next_steps_until_their_inputs_are_there(tmp_path: Path):
    done = plan(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("plan: done in ")
    assert "start 2026-11-13 00:00:00 UTC, end 2026-11-13 02:00:00 UTC, phases 0" in done.stdout
    step = ("run-step", "--workspace", tmp_path, "--run", "lab/1")
    assert error_of(kepler_train(*step, "extract"), 2) == (
        "The run lab/1 has no result of the step query: run it first."
    )
    assert error_of(kepler_train(*step, "train", "--part", "x"), 2).startswith("There is no part of the step train 'x'")
    assert error_of(kepler_train(*step, "evaluate"), 3) == (
        "None of the 4 parts of the step train of the run lab/1 has a result."
    )
    (tmp_path / "runs/lab/1/plan/spec.json").write_text("{}")
    assert (
        error_of(kepler_train(*step, "query"), 2)
        == "The stored spec of the run lab/1 was changed: run the plan step again."
    )
    assert [path.name for path in (tmp_path / "runs/lab/1").iterdir()] == ["plan"]
    assert list((tmp_path / ".scratch").iterdir()) == []


def test_for_machines_every_line_of_a_step_is_an_object(tmp_path: Path):
    done = plan(tmp_path, "--log-format", "json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["level"], line["step"], line["figures"]["phases"]) for line in lines] == [("info", "plan", 0)]


def test_a_workspace_below_a_file_is_one_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert error_of(plan(tmp_path / "file" / "w"), 2) == (
        f"The folder {tmp_path}/file/w cannot be written: Not a directory. Choose another, or change its owner."
    )


def obey_permissions() -> None:
    """Give up root's right to write everywhere (CAP_DAC_OVERRIDE) for the program to be executed."""
    drop_from_bounding_set, dac_override = 24, 1  # linux/prctl.h, linux/capability.h
    ctypes.CDLL(None).prctl(drop_from_bounding_set, dac_override, 0, 0, 0)


def test_a_workspace_that_may_only_be_read_is_one_sentence(tmp_path: Path):
    folder = tmp_path / "w"
    folder.mkdir(mode=0o555)
    assert error_of(plan(folder, before=obey_permissions), 2) == (
        f"The folder {folder} cannot be written: Permission denied. Choose another, or change its owner."
    )
    assert list(folder.iterdir()) == []


def test_an_address_that_is_no_workspace_is_one_sentence():
    assert error_of(plan("ftp://host/x"), 2) == "'ftp://host/x' is neither a folder nor an s3:// address."
    assert error_of(plan("s3://"), 2) == "'s3://' names no bucket: write s3://bucket/prefix."


SECRET = "hunter22"


@pytest.mark.parametrize("address", [f"s3://AKIA:{SECRET}@lab/w", f"s3://lab/w?token={SECRET}", f"ftp://me:{SECRET}@h"])
def test_a_workspace_with_a_secret_in_its_address_is_refused_without_a_word_of_it(address: str):
    said = error_of(plan(address), 2)
    assert said.startswith("The address has a ")
    assert said.endswith("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead.")
    assert SECRET not in said


def test_a_run_that_names_another_prometheus_is_refused_by_its_plan(tmp_path: Path):
    env = {
        "KEPLER_TRAIN_SPEC": json.dumps({**NIGHT, "prometheus": "https://elsewhere.example/prom"}),
        "KEPLER_TRAIN_PROMETHEUS_URL": "https://prometheus.lab",
        "PROMETHEUS_USERNAME": "meter",
        "PROMETHEUS_PASSWORD": SECRET,
    }
    assert error_of(plan(tmp_path, env=env), 2).startswith(
        "PROMETHEUS_USERNAME is for https://prometheus.lab, not for https://elsewhere.example/prom, which only the run"
    )


NO_KEYS = (
    "No keys for s3://lab/w: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or COS_PROVIDER and"
    " COS_SECRET_NAME."
)
KEYS = {"AWS_ACCESS_KEY_ID": "KT", "AWS_SECRET_ACCESS_KEY": "not-a-secret"}


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, NO_KEYS),
        ({"AWS_ACCESS_KEY_ID": "KT"}, NO_KEYS),
        ({**KEYS, "AWS_ENDPOINT_URL": "nonsense"}, "s3://lab/w cannot be used: Invalid endpoint: nonsense."),
        ({"AWS_PROFILE": "nobody"}, "s3://lab/w cannot be used: The config profile (nobody) could not be found."),
    ],
)
def test_s3_without_usable_settings_is_one_sentence_and_does_not_wait(env: dict[str, str], said: str):
    started = time.monotonic()
    assert error_of(plan("s3://lab/w", env=env), 2) == said
    assert time.monotonic() - started < 20  # of which at most 2 s are for the metadata service of a cloud


def test_an_s3_server_that_is_down_is_for_another_time_and_soon_said():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    started = time.monotonic()
    done = plan("s3://lab/w", env={**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"})
    said = error_of(done, 75)
    assert said.startswith("s3://lab/w did not answer: Could not connect to the endpoint URL")
    assert "not-a-secret" not in said
    assert time.monotonic() - started < 40


@pytest.mark.integration
def test_s3_with_wrong_keys_or_without_the_bucket_is_one_sentence_and_right_keys_work(request: pytest.FixtureRequest):
    server = s3_server(request.config)
    right = dict(server.client_environment())
    wrong = error_of(plan("s3://lab/cli", env={**right, "AWS_SECRET_ACCESS_KEY": "wrong"}), 2)
    assert (
        wrong
        == "s3://lab/cli refused the keys (SignatureDoesNotMatch): check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
    )
    unknown = error_of(plan("s3://lab/cli", env={**right, "AWS_ACCESS_KEY_ID": "WRONG"}), 2)
    assert (
        unknown
        == "s3://lab/cli refused the keys (InvalidAccessKeyId): check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
    )
    missing = error_of(plan("s3://no-such-bucket/cli", env=right), 2)
    assert missing == "There is no bucket 'no-such-bucket': create it or name another in s3://no-such-bucket/cli."
    client = server.client()
    assert client.list_objects_v2(Bucket="lab", Prefix="cli/").get("Contents", []) == []
    assert "no-such-bucket" not in {bucket["Name"] for bucket in client.list_buckets()["Buckets"]}
    assert plan("s3://lab/cli", env=right).returncode == 0
    keys = [item["Key"] for item in client.list_objects_v2(Bucket="lab", Prefix="cli/")["Contents"]]
    assert keys == [f"cli/runs/lab/1/plan/{name}" for name in ("manifest.json", "schedule.json", "spec.json")]
