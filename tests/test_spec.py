import contextlib
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import ValidationError as InvalidForm
from jsonschema import validate
from pydantic import ValidationError

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


SECRET = "hunter22"


@pytest.mark.parametrize("name", ["prometheus", "schedule", "publish_to"])
@pytest.mark.parametrize(
    "address",
    [
        f"http://me:{SECRET}@prom",
        f"HTTPS://ME:{SECRET}@prom",
        f"s3://AKIA:{SECRET}@bucket/x",
        f"s3://bucket/x?X-Amz-Signature={SECRET}",
        f"http://prom/?access_token={SECRET}",
        f"http://me:{SECRET} 7@prom",
        f"http%3A//me%3A{SECRET}%40prom",
    ],
)
def test_a_secret_in_an_address_is_refused_without_a_word_of_it(name, address):
    for given_ in ({name: address}, {name: [address]}, {name: {"a": address}}, {name: address, "seed": "many"}):
        with pytest.raises(UserError, match=f"{name}: credentials do not belong into an address") as refused:
            read_spec(given_)
        assert SECRET not in str(refused.value)
        with pytest.raises(ValidationError) as refused_by_pydantic:
            RunSpec.model_validate(given_)
        assert SECRET not in str(refused_by_pydantic.value)


@pytest.mark.parametrize("name", [*RunSpec.model_fields, "no_such_parameter", f"http://me:{SECRET}@prom"])
def test_no_parameter_repeats_the_password_of_an_address(name):
    with pytest.raises(UserError) as refused:
        read_spec({name: f"http://me:{SECRET}@prom"})
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("given_", "sentence"),
    [
        ({"prometheus": "prom:9090"}, "prometheus: 'prom:9090' is not of the form http://host:9090/path"),
        ({"prometheus": "http://prom/?x=private"}, "prometheus: 'http://prom/' is followed by a query string"),
        ({"publish_to": "s3://bucket/x?endpoint=private"}, "publish_to: 's3://bucket/x' is followed by a query string"),
        ({"publish_to": "ftp://host/x"}, "publish_to: 'ftp://host/x' is neither a folder nor an s3:// address"),
        ({"schedule": "s3://bucket:9000/x"}, "schedule: 's3://bucket:9000/x' is not of the form s3://bucket/prefix"),
        ({"publish_to": "/models\0"}, "publish_to: '/models\\x00' has control characters in it"),
    ],
)
def test_an_address_that_names_another_server_or_none_is_one_sentence(given_, sentence):
    with pytest.raises(UserError) as refused:
        read_spec(given_)
    assert sentence in str(refused.value)
    assert "private" not in str(refused.value)


def test_the_scheme_and_the_end_of_an_address_are_stored_in_one_spelling():
    assert read_spec({"prometheus": "HTTP://Prom:9090/x/"}).prometheus == "http://Prom:9090/x"


def test_the_form_refuses_addresses_with_secrets_before_a_run_is_stored():
    form = form_schema()
    for name, good in (("prometheus", "http://prom:9090/x"), ("schedule", "s3://b/x.json"), ("publish_to", "/models")):
        validate(good, form[name])
        validate(form[name]["default"], form[name])
        for bad in (f"http://me:{SECRET}@prom", f"s3://K:{SECRET}@b/x", f"s3://b/x?token={SECRET}", f"//me:{SECRET}@h"):
            with pytest.raises(InvalidForm, match="does not match"):
                validate(bad, form[name])


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
