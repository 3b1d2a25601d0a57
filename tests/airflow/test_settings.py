import pytest

from kepler_airflow.settings import settings
from kepler_train.errors import UserError


@pytest.fixture
def read(monkeypatch):
    """Settings as read from an environment that holds these variables only."""

    def with_environment(**variables):
        for name in ("RUNTIME", "WORKSPACE", "DEFAULTS", "PAIRS", "PROMETHEUS_URL"):
            monkeypatch.delenv(f"KEPLER_TRAIN_{name}", raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(f"KEPLER_TRAIN_{name}", value)
        settings.cache_clear()
        return settings()

    yield with_environment
    settings.cache_clear()


def test_a_workspace_is_all_that_must_be_set(read):
    chosen = read(WORKSPACE="s3://bucket/kepler")
    assert chosen.runtime == "local"
    assert chosen.pairs == [("rapl-sysfs", "BPFOnly")]
    assert chosen.workspace == "s3://bucket/kepler"


def test_the_prometheus_of_the_installation_is_a_default_that_its_file_may_change(read, tmp_path):
    file = tmp_path / "defaults.json"
    file.write_text('{"folds": 5}')
    chosen = read(WORKSPACE="/w", DEFAULTS=str(file), PROMETHEUS_URL="http://one:9090")
    assert chosen.defaults == {"prometheus": "http://one:9090", "folds": 5}
    file.write_text('{"prometheus": "http://two:9090"}')
    assert read(WORKSPACE="/w", DEFAULTS=str(file), PROMETHEUS_URL="http://one:9090").defaults == {
        "prometheus": "http://two:9090"
    }


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"WORKSPACE": "/w", "RUNTIME": "pod"}, "no runtime 'pod': did you mean 'pods'"),
        ({"WORKSPACE": "/w", "PAIRS": "rapl-sysfs/BPFonly"}, "did you mean 'BPFOnly'"),
        ({}, "KEPLER_TRAIN_WORKSPACE is not set"),
        ({"WORKSPACE": "/w", "DEFAULTS": "/not/there.json"}, "KEPLER_TRAIN_DEFAULTS"),
    ],
)
def test_a_wrong_setting_is_a_sentence(read, environment, sentence):
    with pytest.raises(UserError, match=sentence):
        read(**environment)
