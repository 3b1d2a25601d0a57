"""What a plan finds out about the places that a run needs."""

import os
from pathlib import Path

import pytest
from real_s3 import s3_server

from kepler_train.errors import TryAgain, UserError
from kepler_train.plan.places import check_places
from kepler_train.simulate.history import exported, write_history
from kepler_train.spec import RunSpec
from kepler_train.workspace import open_store


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory, two_nodes):
    from kepler_train.local.prometheus import SimulatedPrometheus

    folder = tmp_path_factory.mktemp("recording")
    write_history(folder / "history.om", exported(two_nodes[:1], "legacy", ["rapl-sysfs"], frozenset(), 0))
    with SimulatedPrometheus(folder / "history.om") as served:
        yield served.url


def test_places_that_work_are_said_in_a_sentence_each_and_left_as_they_were(prometheus, tmp_path, capsys):
    check_places(RunSpec(prometheus=prometheus, publish_to=f"{tmp_path}/models"), open_store(f"{tmp_path}/w"))
    assert capsys.readouterr().out.splitlines() == [
        f"plan: files of the run are kept in {tmp_path}/w",
        f"plan: models are published to {tmp_path}/models",
        f"plan: Prometheus at {prometheus} answers",
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_cannot_be_written_is_refused_before_anything_is_done(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file/models cannot hold the models \(publish_to\): .*file is a file\."):
        check_places(RunSpec(publish_to=f"{tmp_path}/file/models"), open_store(f"{tmp_path}/w"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_somebody_else_is_refused():
    with pytest.raises(UserError, match="/usr cannot be written by this user"):
        check_places(RunSpec(publish_to="/usr/kepler-models"), open_store("kepler"))


@pytest.mark.integration
def test_a_bucket_is_tried_and_left_as_it_was(request, monkeypatch, prometheus, tmp_path):
    for name, value in s3_server(request.config).client_environment().items():
        monkeypatch.setenv(name, value)
    check_places(RunSpec(prometheus=prometheus, publish_to="s3://lab/check"), open_store(f"{tmp_path}/w"))
    assert open_store("s3://lab/check").sizes("") == {}
    with pytest.raises(UserError, match=r"^s3://nowhere/x cannot hold the models \(publish_to\)\. There is no bucket"):
        check_places(RunSpec(publish_to="s3://nowhere/x"), open_store(f"{tmp_path}/w"))


def test_a_prometheus_that_does_not_answer_is_for_another_time(tmp_path, monkeypatch):
    monkeypatch.setattr("kepler_train.query.retry.ATTEMPTS", 1)
    with pytest.raises(TryAgain, match=r"127\.0\.0\.1:9"):
        check_places(RunSpec(prometheus="http://127.0.0.1:9"), open_store(f"{tmp_path}/w"))
    assert not Path(tmp_path, "w").exists()
