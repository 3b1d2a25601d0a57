from pathlib import Path

import pytest
from pydantic import ValidationError

from kepler_train.catalog import catalog, read_catalog
from kepler_train.catalog.model import EnergyNames
from kepler_train.errors import UserError


def test_a_group_is_its_sets_sorted_by_name():
    assert catalog().features_of("Basic") == [
        "bpf_cpu_time_ms",
        "bpf_page_cache_hit",
        "cache_miss",
        "cpu_cycles",
        "cpu_instructions",
    ]


def test_full_is_workload_only_and_the_system_features():
    extra = set(catalog().features_of("Full")) - set(catalog().features_of("WorkloadOnly"))
    assert extra == {"node_info", "cpu_scaling_frequency_hertz"}


def test_the_fourteen_groups_six_sources_and_eighteen_trainers_are_there():
    assert len(catalog().feature_groups) == 14
    assert len(catalog().energy_sources) == 6
    assert len(catalog().trainers) == 18


def test_third_party_features_join_only_the_groups_that_take_them():
    assert catalog().features_of("ThirdParty", ["node_disk_io"]) == ["node_disk_io"]
    assert "node_disk_io" in catalog().features_of("Full", ["node_disk_io"])
    assert "node_disk_io" not in catalog().features_of("Basic", ["node_disk_io"])


def test_dram_has_a_main_feature_of_its_own():
    group = catalog().group("CounterOnly")
    assert group.main_feature("package") == "cpu_instructions"
    assert group.main_feature("dram") == "cache_miss"


@pytest.mark.parametrize("asked", ["rapl-sysfs", "rapl-msr", "intel_rapl", ""])
def test_every_rapl_is_served_as_rapl_sysfs(asked):
    assert catalog().served_source(asked) == "rapl-sysfs"


def test_metric_names_follow_the_dialect():
    legacy, current = catalog().dialect("legacy"), catalog().dialect("current")
    assert legacy.features.metrics_of("cpu_cycles") == ["kepler_container_cpu_cycles_total"]
    assert legacy.features.metrics_of("node_info") == ["kepler_node_node_info"]
    assert legacy.energy.metric_of("dram") == "kepler_node_dram_joules_total"
    assert current.energy.metric_of("dram") == "kepler_node_cpu_joules_total"
    assert current.energy.metric_of("platform") == "kepler_platform_watts"
    assert current.features.metrics_of("cpu_seconds")[-1] == "kepler_process_cpu_seconds_total"


def test_the_current_dialect_has_no_hardware_counters():
    assert catalog().dialect("current").features.metrics_of("cpu_cycles") == []


def test_the_legacy_dialect_has_no_cpu_seconds_but_any_kepler_may_have_node_exporter_beside_it():
    legacy = catalog().dialect("legacy")
    assert catalog().metrics_of("cpu_seconds", legacy) == []
    assert catalog().metrics_of("node_page_faults", legacy) == ["node_vmstat_pgfault"]


def test_a_metric_counts_as_the_catalog_says_else_by_its_name():
    assert catalog().is_counter("node_vmstat_pgfault")
    assert catalog().is_counter("anything_total")
    assert not catalog().is_counter("kepler_node_cpu_usage_ratio")
    assert not catalog().is_counter("kepler_platform_watts")
    assert not catalog().is_counter("anything_bytes")


def test_an_exporters_feature_leaves_out_what_would_count_twice():
    received = catalog().exporter_features["node_network_receive_bytes"]
    assert received.takes({"device": "eth0"})
    assert not received.takes({"device": "lo"})
    assert not received.takes({"device": "veth12ab"})
    user = catalog().exporter_features["node_cpu_user_seconds"]
    assert user.takes({"cpu": "0", "mode": "user"})
    assert not user.takes({"cpu": "0", "mode": "idle"})


def test_nothing_computed_from_cpu_time_is_an_energy_label():
    for dialect in catalog().dialects.values():
        for source in catalog().energy_sources.values():
            for component in source.components:
                assert dialect.energy.metric_of(component) not in dialect.computed.metrics


def test_an_unknown_name_gets_the_nearest_right_one():
    with pytest.raises(UserError, match="no feature group 'BPFonly': did you mean 'BPFOnly'"):
        catalog().group("BPFonly")


def test_a_users_file_changes_the_settings_of_a_trainer_and_not_its_module(tmp_path: Path):
    own = tmp_path / "own.toml"
    own.write_text("[trainers.PolynomialRegressionTrainer]\nsettings = { degree = 3 }\n")
    entry = read_catalog(own).trainer("PolynomialRegressionTrainer")
    assert (entry.module, entry.settings) == ("polynomial", {"degree": 3})


def test_keys_that_earlier_versions_had_are_ignored_in_a_users_file(tmp_path: Path):
    own = tmp_path / "own.toml"
    own.write_text(
        '[trainers.LinearRegressionTrainer]\nmodel_class = "scikit"\nformula = "linear"\n'
        '[energy_sources.acpi]\ncomponents = ["platform"]\nmeter = "whole machine, ACPI power meter"\n'
        '[isolators]\nnone = "removes nothing"\n'
    )
    assert read_catalog(own) == read_catalog()


def test_a_users_file_adds_a_group(tmp_path: Path):
    own = tmp_path / "own.toml"
    own.write_text(
        '[feature_groups.CyclesOnly]\nsets = ["CYCLES"]\nmain = "cpu_cycles"\n[feature_sets]\nCYCLES = ["cpu_cycles"]\n'
    )
    extended = read_catalog(own)
    assert extended.features_of("CyclesOnly") == ["cpu_cycles"]
    assert "BPFOnly" in extended.feature_groups


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[feature_groups.X]\nsets = ['COUNTR']\n", "no feature set 'COUNTR': did you mean 'COUNTER'"),
        (
            "[feature_groups.X]\nsets = ['BPF']\nmain = 'cpu_cycles'\n",
            "cpu_cycles is not one of its features",
        ),
        ("[energy_sources.x]\ncomponents = 'package'\nmeter = 'm'\n", "energy_sources.x.components"),
        ("feature_groups = 3\n", "must be a table"),
        ("[trainers]\nauto = 3\n", "trainers.auto"),
        ("[trainers.MineTrainer]\nsettings = {}\n", "no trainer 'MineTrainer'.*KEPLER_TRAIN_TRAINERS"),
        ("[energy_sources.x]\ncomponents = ['a']\nmetre = 'm'\n", "energy_sources.x.metre"),
        ("[feature_groups", "is not TOML"),
        ("x = " + 5000 * "[", "is not TOML"),
        ("x = " + 5000 * "9", "is not TOML"),
        ("[energy_sources.'../../x']\ncomponents = ['a']\n", "energy_sources"),
        ("[energy_sources.x]\ncomponents = ['a/b']\n", "energy_sources.x.components.0"),
        ("[feature_groups." + 5000 * "x" + "]\nsets = ['BPF']\n", "feature_groups"),
        ("[feature_sets]\nX = ['a b']\n", "feature_sets.X.0"),
        ("[exporter_features.bpf_cpu_time_ms]\nmetric = '{__name__=~\".+\"}'\n", "exporter_features.*metric"),
        (
            "[exporter_features.bpf_cpu_time_ms]\nmetric = 'm'\nskip = { a = '" + 500 * "(" + "' }\n",
            "regular expression",
        ),
        ("[feature_aliases.x]\nfeature = 'bpf_cpu_time_ms'\nfactor = inf\n", "feature_aliases.x.factor"),
    ],
)
def test_a_wrong_users_file_gets_one_sentence(tmp_path: Path, text: str, sentence: str):
    own = tmp_path / "own.toml"
    own.write_text(text)
    with pytest.raises(UserError, match=sentence):
        read_catalog(own)


@pytest.mark.parametrize(
    "metric",
    ["m_{component", "m_{}", "m_{zone}", "m_{component.x}", "m_{component:>99999999}", "../{component}", "a b"],
)
def test_a_metric_of_a_dialect_is_one_for_every_component(metric: str):
    names = {"metric": metric, "vm_metric": "kepler_vm_{component}_joules_total", "vm_label": "vm_id"}
    with pytest.raises(ValidationError, match=r"is not the name of a metric, with {component} in it"):
        EnergyNames.model_validate(names)
    assert EnergyNames.model_validate(names | {"metric": "a_{component}_b"}).metric_of("dram") == "a_dram_b"


def test_a_file_that_cannot_be_read_gets_one_sentence(tmp_path: Path):
    with pytest.raises(UserError, match=r"cannot be read: .*directory"):
        read_catalog(tmp_path)
    (tmp_path / "own.toml").write_bytes(b"\xff")
    with pytest.raises(UserError, match="cannot be read: "):
        read_catalog(tmp_path / "own.toml")
