"""Which DAGs an installation has: of its environment, and of its settings file."""

import json
from pathlib import Path

import pytest

from kepler_airflow.dag_plans import DagPlan, UnusablePlan, dag_plans
from kepler_airflow.settings import settings
from kepler_airflow.settings_file import SettingsFile
from kepler_train.errors import UserError

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "kepler-train.schema.json"


@pytest.fixture
def plans(monkeypatch, tmp_path):
    """The DAGs by name, of a settings file and of variables."""

    def read(text="", **variables):
        for name in ("DEFAULTS", "PAIRS", "PROMETHEUS_URL", "TRUSTED_SERVERS", "SCHEDULE", "SETTINGS"):
            monkeypatch.delenv(f"KEPLER_TRAIN_{name}", raising=False)
        file = tmp_path / "kepler-train.yaml"
        file.write_text(text)
        for name, value in {"WORKSPACE": "/w", "SETTINGS": str(file), **variables}.items():
            monkeypatch.setenv(f"KEPLER_TRAIN_{name}", value)
        settings.cache_clear()
        return {plan.dag_id: plan for plan in dag_plans(settings())}

    yield read
    settings.cache_clear()


def test_a_wrong_pair_is_a_dag_that_says_so_and_the_others_stay(plans):
    made = plans(PAIRS="rapl-sysfs/BPFonly, rapl-sysfs/BPFOnly, acpy/BPFOnly, x y")
    assert isinstance(made["train_rapl-sysfs_BPFOnly"], DagPlan)
    assert {name: plan.problem.partition("?")[0] for name, plan in made.items() if isinstance(plan, UnusablePlan)} == {
        "train_rapl-sysfs_BPFonly": "There is no feature group 'BPFonly': did you mean 'BPFOnly'",
        "train_acpy_BPFOnly": "There is no energy source 'acpy': did you mean 'acpi'",
        "train_x_y_": made["train_x_y_"].problem.partition("?")[0],
    }
    assert "There is no energy source 'x y'" in made["train_x_y_"].problem


def test_groups_get_dags_that_fit_them(plans):
    made = plans(PAIRS="acpi/NodeExporter,acpi/ThirdParty,acpi/BPFOnly")
    assert made["train_acpi_NodeExporter"].spec.output_types == ["AbsPower"]  # it has nothing of containers
    assert made["train_acpi_BPFOnly"].spec.output_types == ["AbsPower", "DynPower"]
    asks = made["train_acpi_ThirdParty"]
    assert (asks.needs, asks.schedule) == ({"thirdparty_metrics"}, "")  # nobody can guess them at night
    made = plans("{defaults: {thirdparty_metrics: [fan_rpm]}}", PAIRS="acpi/ThirdParty")
    assert (made["train_acpi_ThirdParty"].needs, made["train_acpi_ThirdParty"].schedule) == (frozenset(), "0 2 * * *")


def test_the_file_sets_what_holds_for_all_dags_and_what_is_different_for_one(plans):
    made = plans("""
        pairs: [rapl-sysfs/BPFOnly, acpi/CounterOnly]
        schedule: 0 4 * * *
        defaults: {folds: 3, gate_mae: 8}
        nodes: [worker-1]
        dags:
          train_acpi_CounterOnly:
            schedule:
            defaults: {folds: 4}
            nodes: [worker-2, worker-3]
            publish_to: s3://models/acpi
          train_fleet:
            pairs: [rapl-sysfs/BPFOnly, rapl-sysfs/Basic]
    """)
    assert list(made) == ["train_rapl-sysfs_BPFOnly", "train_acpi_CounterOnly", "train_fleet"]
    usual, other, fleet = made.values()
    assert (usual.schedule, other.schedule, fleet.schedule) == ("0 4 * * *", "", "0 4 * * *")
    assert (usual.spec.folds, other.spec.folds, usual.spec.gate_mae, other.spec.gate_mae) == (3, 4, 8, 8)
    assert (usual.spec.nodes, other.spec.nodes) == (["worker-1"], ["worker-2", "worker-3"])
    assert (usual.spec.publish_to, other.spec.publish_to) == ("", "s3://models/acpi")
    assert (fleet.spec.pipeline, fleet.spec.feature_groups) == ("train_fleet", ["BPFOnly", "Basic"])


def test_variables_win_over_the_file_but_for_what_it_says_of_one_dag(plans):
    made = plans(
        "{pairs: [acpi/Basic], schedule: 0 4 * * *, dags: {train_hmc_Basic: {schedule: 0 5 * * *}}}",
        PAIRS="hmc/Basic,redfish/Basic",
        SCHEDULE="0 6 * * *",
        PROMETHEUS_URL="http://prometheus:9090",
    )
    assert {name: plan.schedule for name, plan in made.items()} == {
        "train_hmc_Basic": "0 5 * * *",
        "train_redfish_Basic": "0 6 * * *",
    }
    assert {plan.spec.prometheus for plan in made.values()} == {"http://prometheus:9090"}


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("schedule: at night", "the schedule 'at night' is not a cron expression: write it as '0 2 * * *'"),
        ("defaults: {fold: 3}", "There is no parameter 'fold': did you mean 'folds'?"),
        ("publish_to: http://u:hunter22@x/", "publish_to: credentials do not belong into an address"),
        ("pairs: [acpi/Basic, hmc/Full]", "trains every group on every source, and acpi/Full, hmc/Basic is missing"),
        ("pairs: []", "there is no such pair among rapl-sysfs/BPFOnly: give the DAG pairs"),
    ],
)
def test_what_is_wrong_with_one_dag_is_its_own_problem(plans, entry, sentence):
    made = plans(
        f"dags: {{train_odd: {{pairs: [acpi/Basic], {entry}}}}}".replace("pairs: [acpi/Basic], pairs", "pairs")
    )
    assert isinstance(made["train_rapl-sysfs_BPFOnly"], DagPlan)
    assert sentence in made["train_odd"].problem
    assert "kepler-train.yaml: dags.train_odd" in made["train_odd"].problem
    assert "hunter22" not in made["train_odd"].problem


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("pairs: [acpi/Basic\nschedule: x", r"kepler-train\.yaml, line 2 is not YAML: "),
        ("- acpi/Basic", r"kepler-train\.yaml, line 1: Input should be a valid dictionary"),
        ("schedule: 0 2 * * *\n\npair: acpi/Basic", r"line 3: pair: Extra inputs are not permitted\.$"),
        ("dags:\n  train_x:\n    nodes: 3", r"line 3: dags\.train_x\.nodes: Input should be a valid list\.$"),
        ("defaults:\n  seed: many", r"kepler-train\.yaml: defaults: seed: Input should be a valid integer"),
    ],
)
def test_what_is_wrong_with_the_file_is_a_sentence_with_its_line_or_key(plans, text, sentence):
    with pytest.raises(UserError, match=sentence):
        plans(text)


def test_a_file_that_is_named_must_be_there(plans):
    with pytest.raises(UserError, match=r"The settings /not/there\.yaml cannot be read: No such file"):
        plans(SETTINGS="/not/there.yaml")


def test_the_documented_schema_is_that_of_the_file():
    assert json.loads(SCHEMA.read_text()) == SettingsFile.model_json_schema()
