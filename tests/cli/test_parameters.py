"""Options of the commands that are parameters of a run: once in the spec, from there in every command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import typer

from kepler_train.cli.app import app
from kepler_train.cli.parameters import SpecCommand, given, takes
from kepler_train.spec import RunSpec, form_schema

Ended = tuple[int, list[str], list[str]]  # exit code, lines on stdout, lines on stderr
# What users of Kepler and of earlier versions type.
KNOWN = {
    "stress": "--timeout --break --idle --frequency-sweep --no-frequency-sweep --id",
    "machine": "--server --id --metric-prefix",
    "query": "--server --start-time --end-time --interval --id -e --energy-source -fg --feature-group"
    " --thirdparty-metrics --metric-prefix --vm-train --node --nodes --dialect",
    "validate": "-e --energy-source -fg --feature-group --thirdparty-metrics --metric-prefix --vm-train --nodes"
    " --schedule",
    "plot": "-p --pipeline-name -e --energy-source -fg --feature-group --metric-prefix --id --schedule",
    "profile": "--node-type -e --energy-source -fg --feature-group --metric-prefix --nodes --schedule",
    "extract": "-e --energy-source -fg --feature-group -ot --output-type --extractor --thirdparty-metrics"
    " --metric-prefix --vm-train --schedule",
    "isolate": "-e -fg -ot --extractor --isolator --abs-pipeline-name --target-hints --bg-hints --attribution"
    " --node-type --thirdparty-metrics --metric-prefix --vm-train --schedule",
    "train": "-p --pipeline-name --id -e -fg -ot --abs-trainers --dyn-trainers --extractor --isolator"
    " --abs-pipeline-name --target-hints --bg-hints --attribution --node-type --thirdparty-metrics --metric-prefix"
    " --vm-train --nodes --schedule --preprocessed-data --continue-from",
    "isolate-from-data": "-e -fg --isolator --abs-pipeline-name --target-hints --bg-hints --attribution --id"
    " --node-type --nodes --thirdparty-metrics",
    "train-from-data": "-p --pipeline-name -e -fg -ot --id --node-type --nodes --thirdparty-metrics --schedule"
    " --continue-from",
    "estimate": "--id --nodes --thirdparty-metrics --metric-prefix --schedule",
    "export": "-p --pipeline-name --publisher --legacy-pickles",
}


def options(command: str) -> dict[str, Any]:
    """The options of a command that are parameters, by the name of the parameter."""
    found = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    own = {option.name for option in found.params}
    return {option.name: option for option in found.get_params(typer.Context(found)) if option.name not in own}


@pytest.mark.parametrize("command", KNOWN)
def test_every_option_that_users_know_is_there(command: str) -> None:
    there = {name for option in options(command).values() for name in (*option.opts, *option.secondary_opts)}
    assert set(KNOWN[command].split()) <= there


@pytest.mark.parametrize("command", KNOWN)
def test_help_section_and_bounds_of_an_option_are_those_of_the_form(command: str) -> None:
    form = form_schema()
    for name, option in options(command).items():
        if name != "help":
            assert option.help.startswith(form[name]["description"]), name
            assert option.rich_help_panel == form[name]["section"], name
            assert option.min == form[name].get("minimum"), name


def test_help_has_the_sections_of_the_form_with_defaults_and_known_names(
    kepler_train: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, lines, _ = kepler_train("train", "--help")
    assert code == 0
    assert [line for line in lines if line.endswith(":") and not line.startswith(" ")] == [
        "Options:",
        "What to train:",
        "What to collect:",
        "How to judge:",
        "Where to publish:",
    ]
    text = " ".join(" ".join(lines).split())
    assert "Known: auto, none, min, profile, trainer. [default: auto]" in text
    assert "--folds <int range> Parts that the rows are cut into for held-out error. [default: 5; 2<=x<=100]" in text


def ask(*arguments: str, **taken: Any) -> dict[str, Any]:
    """What a command that takes some parameters is given by arguments."""
    seen: dict[str, Any] = {}

    @takes(**taken)
    def command(context: typer.Context) -> None:
        seen.update(given(context))

    own = typer.Typer(add_completion=False)
    own.command(cls=SpecCommand)(command)
    own(list(arguments), standalone_mode=False)
    return seen


def test_lists_are_separated_by_commas_or_repeated() -> None:
    assert ask("--node", "a,b", "--nodes", "c", nodes="") == {"nodes": "a,b,c"}
    assert ask(nodes="") == {"nodes": ""}


def test_a_default_of_the_command_stands_for_that_of_the_spec() -> None:
    assert ask(output_types="AbsPower", seed=7, stress_timeout=3) == {
        "output_types": "AbsPower",
        "seed": 7,
        "stress_timeout": 3.0,
    }
    assert ask("--timeout", "2.5", stress_timeout=3) == {"stress_timeout": 2.5}


def test_commands_take_only_parameters_of_a_run() -> None:
    for command in KNOWN:
        assert set(options(command)) - {"help"} <= set(RunSpec.model_fields)


def test_the_list_of_commands_is_shown_without_reading_the_spec() -> None:
    script = (
        "import sys; from kepler_train.cli import main\n"
        "try: main()\n"
        "finally: print('pydantic' in sys.modules, 'rich' in sys.modules, file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", script, "--help"], capture_output=True, text=True, check=True)
    assert "train-from-data" in ended.stdout
    assert ended.stderr.split() == ["False", "False"]
