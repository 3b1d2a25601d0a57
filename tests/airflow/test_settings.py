import pytest

from kepler_airflow.command import environment
from kepler_airflow.settings import settings
from kepler_train.errors import UserError


@pytest.fixture
def read(monkeypatch):
    """Settings as read from an environment that holds these variables only."""

    def with_environment(**variables):
        for name in (
            "SETTINGS",
            "SCHEDULE",
            "RUNTIME",
            "WORKSPACE",
            "DEFAULTS",
            "PAIRS",
            "PROMETHEUS_URL",
            "TRUSTED_SERVERS",
        ):
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
    assert chosen.pairs == ["rapl-sysfs/BPFOnly"]
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


def test_the_servers_that_get_credentials_are_the_installations_own_and_those_it_lists(read, tmp_path):
    assert read(WORKSPACE="/w").trusted_servers == ["http://127.0.0.1:9090"]
    assert read(WORKSPACE="/w", PROMETHEUS_URL="https://one:443/x").trusted_servers == ["https://one"]
    file = tmp_path / "defaults.json"
    file.write_text('{"prometheus": "http://two:9090"}')
    both = read(WORKSPACE="/w", DEFAULTS=str(file), PROMETHEUS_URL="http://one", TRUSTED_SERVERS="https://three:1")
    assert both.trusted_servers == ["http://two:9090", "http://one", "https://three:1"]


@pytest.mark.parametrize("step", ["plan", "stress", "query", "train"])
def test_a_pod_is_told_which_servers_get_its_credentials(read, step):
    read(WORKSPACE="/w", PROMETHEUS_URL="https://one", TRUSTED_SERVERS="https://two, https://three:1/")
    assert environment(step)["KEPLER_TRAIN_TRUSTED_SERVERS"] == "https://one,https://two,https://three:1"


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"WORKSPACE": "s3://AKIA:hunter22@b/w"}, "KEPLER_TRAIN_WORKSPACE: The address has a user or a password in"),
        ({"WORKSPACE": "s3://b/w?token=hunter22"}, "KEPLER_TRAIN_WORKSPACE: The address has a token or a key in it"),
        (
            {"WORKSPACE": "/w", "PROMETHEUS_URL": "http://me:hunter22@p"},
            "KEPLER_TRAIN_PROMETHEUS_URL: prometheus: cred",
        ),
        (
            {"WORKSPACE": "/w", "TRUSTED_SERVERS": "http://me:hunter22@p"},
            "KEPLER_TRAIN_TRUSTED_SERVERS: The address has",
        ),
        ({"WORKSPACE": "/w", "RUNTIME": "pod"}, "no runtime 'pod': did you mean 'pods'"),
        ({}, "KEPLER_TRAIN_WORKSPACE is not set"),
        ({"WORKSPACE": "/w", "DEFAULTS": "/not/there.json"}, "KEPLER_TRAIN_DEFAULTS"),
    ],
)
def test_a_wrong_setting_is_a_sentence(read, environment, sentence):
    with pytest.raises(UserError, match=sentence) as refused:
        read(**environment)
    assert "hunter22" not in str(refused.value)
