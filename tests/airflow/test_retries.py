import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from kepler_airflow.retries import raise_for


def outcome(exit_code, said=""):
    try:
        raise_for("query", exit_code, said)
    except AirflowSkipException as error:
        return "skipped", str(error)
    except AirflowFailException as error:
        return "failed for good", str(error)
    except AirflowException as error:
        return "retried", str(error)
    return "done", ""


@pytest.mark.parametrize(
    ("exit_code", "what"),
    [
        (0, "done"),
        (1, "failed for good"),  # a bug does not go away
        (2, "failed for good"),
        (3, "failed for good"),
        (75, "retried"),
        (99, "skipped"),
        (-9, "retried"),  # killed, as a child process
        (137, "retried"),  # killed, as a container
        (143, "retried"),
        (None, "retried"),  # the pod vanished
    ],
)
def test_every_exit_code_has_its_outcome(exit_code, what):
    assert outcome(exit_code)[0] == what


def test_the_steps_own_sentence_is_the_tasks_error():
    sentence = "No data for feature group CounterOnly on node worker-3."
    assert outcome(3, f"error: {sentence}") == ("failed for good", sentence)


def test_a_killed_step_names_the_signal():
    assert "signal 9" in outcome(-9)[1]
    assert "signal 9" in outcome(137)[1]
