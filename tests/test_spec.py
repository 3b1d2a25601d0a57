import contextlib
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.catalog import catalog
from kepler_train.catalog.methods import ISOLATORS
from kepler_train.errors import UserError
from kepler_train.spec import RunSpec, form_schema, read_spec

TEKTON = {
    "PIPELINE_NAME": "std",
    "OUTPUT_TYPE": "AbsPower",
    "ENERGY_SOURCE": "acpi,rapl-sysfs",
    "FEATURE_GROUP": "BPFOnly",
    "IDLE_COLLECT_INTERVAL": "100",
    "STRESS_BREAK_INTERVAL": "5",
    "STRESS_TIMEOUT": "30",
    "STRESS_ARGS": ["cpu;none;none", "vm-rw;vm-rw-bytes;4G"],
    "EXTRACTOR": "default",
    "ISOLATOR": "min",
    "ABS_TRAINERS": "SGDRegressorTrainer",
    "DYN_TRAINERS": "SGDRegressorTrainer,XgboostFitTrainer",
    "THIRDPARTY_METRICS": "",
    "ABS_PIPELINE_NAME": "",
    "TARGET_HINTS": "stress",
    "BG_HINTS": "",
    "COS_PROVIDER": "aws",
    "COS_SECRET_NAME": "cos",
    "MACHINE_ID": "m5.metal",
    "CPU_FREQUENCY_ENABLED": "true",
}


def test_the_tekton_names_are_read():
    spec = read_spec(TEKTON)
    assert spec.energy_sources == ["acpi", "rapl-sysfs"]
    assert spec.output_types == ["AbsPower"]
    assert spec.stress_timeout == 30
    assert spec.dyn_trainers == ["SGDRegressorTrainer", "XgboostFitTrainer"]
    assert spec.target_hints == ["stress"]
    assert spec.cpu_frequency_enabled is True


def test_trainers_of_tekton_means_both_output_types():
    spec = read_spec({"TRAINERS": "XgboostFitTrainer"})
    assert spec.abs_trainers == spec.dyn_trainers == ["XgboostFitTrainer"]


def test_a_stored_spec_reads_back_equal_with_an_equal_digest():
    spec = read_spec({**TEKTON, "start": "2026-11-14T03:00:00+01:00", "end": "2026-11-15T02:00:00Z"})
    again = read_spec(json.loads(spec.model_dump_json()))
    assert again == spec
    assert again.digest() == spec.digest()
    assert again.start == datetime(2026, 11, 14, 2, tzinfo=UTC)


def test_loads_are_lines_with_as_many_options_as_they_need():
    loads = ["cpu", "vm-rw;vm-rw-bytes;4G", "cpu;cpu-method;fft;cpu-load;50"]
    assert read_spec({"STRESS_ARGS": "\n".join([*loads, ""])}).stress_args == loads
    with pytest.raises(UserError, match="not of the form"):
        read_spec({"stress_args": ["cpu;cpu-method;fft;cpu-load"]})


def test_the_window_that_stress_makes_is_no_part_of_what_was_asked():
    night = {"start": "2026-11-14T02:00:00Z", "end": "2026-11-15T02:00:00Z"}
    assert read_spec({"stress": True, **night}).digest() == read_spec({"stress": True}).digest()
    assert read_spec(night).digest() != read_spec({}).digest()
    assert read_spec({"stress": True}).digest() != read_spec({}).digest()


def test_a_field_left_empty_in_the_form_has_its_default():
    assert read_spec(dict.fromkeys(RunSpec.model_fields)) == read_spec({})


@pytest.mark.parametrize(
    ("given_", "sentence"),
    [
        ({"FEATURE_GROUP": "BPFonly"}, "no feature group 'BPFonly': did you mean 'BPFOnly'"),
        ({"energy_sources": ["rapl"]}, "no energy source 'rapl': did you mean 'rapl-"),
        ({"abs_trainers": ["Xgboost"]}, "no trainer 'Xgboost': did you mean 'XgboostFitTrainer'"),
        ({"isolator": "minimum"}, "no isolator 'minimum': did you mean 'min'"),
        ({"trainer": "x"}, "no parameter 'trainer': did you mean"),
        ({"gate_mae": "ten"}, r"gate_mae: .*number.*given: 'ten'"),
        ({"start": "2026-01-01T00:00:00"}, "needs its zone"),
        ({"start": "0001-01-01T00:00:00+05:00"}, "beyond the calendar"),
        ({"prometheus": "http://me:secret@p:9090"}, "credentials do not belong into an address"),
        ({"FEATURE_GROUP": "AcceleratorOnly"}, "has no DynPower: choose AbsPower"),
        ({"FEATURE_GROUP": "ThirdParty"}, "needs thirdparty_metrics"),
        ({"stress_args": ["cpu; rm -rf /"]}, "not of the form load;extra key;extra value"),
        ({"pipeline": "../escape"}, "pipeline"),
        ([1, 2], "dictionary"),
    ],
)
def test_a_wrong_spec_gets_one_sentence(given_, sentence):
    with pytest.raises(UserError, match=sentence) as caught:
        read_spec(given_)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


@given(
    st.dictionaries(
        st.sampled_from(sorted(RunSpec.model_fields)), st.none() | st.text() | st.integers() | st.lists(st.text())
    )
)
def test_whatever_is_given_either_reads_or_is_refused_in_words(data):
    with contextlib.suppress(UserError):  # any other error fails the test
        spec = read_spec(data)
        assert read_spec(json.loads(spec.model_dump_json())) == spec


def test_the_form_offers_the_catalogs_names_and_every_field_has_a_section_and_a_description():
    form = form_schema()
    assert form["abs_trainers"]["items"]["enum"] == list(catalog().trainers)
    assert form["isolator"]["enum"] == list(ISOLATORS)
    assert form["start"]["type"] == ["string", "null"]
    assert form["publisher"]["type"] == ["string", "null"]
    assert form["nodes"]["type"] == ["array", "null"]
    for name, schema in form.items():
        assert schema["section"], name
        assert schema["description"], name
        assert "anyOf" not in schema, name


@pytest.mark.parametrize("metric", ["kepler_container_cpu_joules_total", "kepler_container_package_joules_total"])
def test_what_kepler_computes_from_cpu_time_is_no_feature(metric):
    with pytest.raises(UserError, match="learns that arithmetic"):
        read_spec({"feature_groups": "ThirdParty", "thirdparty_metrics": metric})
