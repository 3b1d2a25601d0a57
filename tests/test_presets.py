"""Presets: what they set, and what wins over them."""

import json
from pathlib import Path

import pytest

from kepler_train.errors import UserError
from kepler_train.presets import PRESETS, with_preset
from kepler_train.spec import read_spec

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DEFAULTS = {"folds": 5, "abs_trainers": ["XgboostFitTrainer"], "gate_mae": 10}


def test_a_preset_replaces_defaults_and_a_value_that_somebody_changed_wins_over_it():
    given = DEFAULTS | {"preset": "quick", "abs_trainers": ["SVRRegressorTrainer"]}
    chosen = with_preset(given, DEFAULTS)
    assert (chosen["folds"], chosen["abs_trainers"], chosen["gate_mae"]) == (3, ["SVRRegressorTrainer"], 10)
    assert "preset" not in chosen


@pytest.mark.parametrize("preset", [None, "none", ""])
def test_without_a_preset_parameters_stay_as_they_are(preset):
    assert with_preset(DEFAULTS | {"preset": preset}, DEFAULTS) == DEFAULTS
    assert with_preset(DEFAULTS, DEFAULTS) == DEFAULTS


def test_an_unknown_preset_is_refused():
    with pytest.raises(UserError, match="There is no preset 'quik': did you mean 'quick'"):
        with_preset({"preset": "quik"}, {})


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "none"])
def test_every_preset_can_be_run_and_is_an_example_and_leaves_source_and_group_alone(name):
    read_spec(PRESETS[name])
    assert not {"energy_sources", "feature_groups", "pipeline"} & set(PRESETS[name])
    assert json.loads((EXAMPLES / f"{name.lower().replace(' ', '-')}.json").read_text()) == PRESETS[name]
