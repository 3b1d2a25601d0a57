"""The docs: links that lead somewhere, and console examples that this version would take."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import pytest
import typer
from source import ROOT

from kepler_train.cli.app import app

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(ROOT.glob("docs/*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)?(#[^)\s]+)?\)")
CONSOLE = re.compile(r"```(?:console|bash|sh)\n(.*?)```", re.DOTALL)
CODE = re.compile(r"```.*?```", re.DOTALL)


def of_pages(pattern: str) -> list[str]:
    """Commands of all pages that begin with `pattern`, whole, without their comments."""
    commands = []
    for page in PAGES:
        for block in CONSOLE.findall(page.read_text(encoding="utf-8")):
            joined = block.replace("\\\n", " ")
            lines = (line.removeprefix("$ ") for line in joined.splitlines() if line.startswith("$ "))
            commands += [line for line in lines if line.startswith(pattern)]
    return sorted(set(commands))


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path):
    dead = []
    for target, anchor in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor[1:] not in anchors(file)):
            dead.append(f"{target}{anchor}")
    assert dead == []


@pytest.mark.parametrize("command", of_pages("kepler-train "))
def test_every_kepler_train_command_of_the_docs_has_a_name_and_options_that_exist(command: str):
    words = shlex.split(command, comments=True)[1:]
    words = words[: words.index("|")] if "|" in words else words
    current = typer.main.get_command(app)
    while hasattr(current, "commands") and words and words[0] in current.commands:
        current, words = current.commands[words[0]], words[1:]
    assert not hasattr(current, "commands") or words in ([], ["--help"]), f"no such command: {words[0]}"
    if not current.context_settings.get("allow_interspersed_args", True):  # the rest is for another program
        words = list(itertools.takewhile(lambda word: word.startswith("-"), words))
    takers = [current]
    if current.name == "retrain":  # it passes on to `train` what it does not know
        takers.append(typer.main.get_command(app).commands["train"])
    options = [option for taker in takers for option in taker.get_params(typer.Context(taker))]
    known = {name for option in options for name in (*option.opts, *option.secondary_opts)} | {"--help"}
    used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    assert used - known == set()


@pytest.mark.parametrize("command", of_pages("make "))
def test_every_make_command_of_the_docs_is_a_target(command: str):
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert command.split("#")[0].split()[1] in targets


def test_every_page_is_reachable_from_the_readme():
    seen, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        seen.add(page)
        links = {
            (page.parent / target).resolve() for target, _ in LINK.findall(page.read_text(encoding="utf-8")) if target
        }
        ahead += [link for link in links if link.suffix == ".md" and link.exists() and link not in seen]
    assert {page.name for page in PAGES} - {page.name for page in seen} == set()


def test_every_function_that_the_docs_place_in_a_file_is_there():
    misplaced = []
    for page in PAGES:
        for name, file in re.findall(r"`(\w+)` in `([\w/]+\.py)`", page.read_text(encoding="utf-8")):
            source = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else ""
            if not re.search(rf"^(class|def) {name}\b", source, re.MULTILINE):
                misplaced.append(f"{page.name}: {name} in {file}")
    assert misplaced == []


def test_every_path_of_the_code_that_the_docs_name_exists():
    named = {
        (page.name, path)
        for page in PAGES
        for path in re.findall(
            r"`((?:kepler_train|plugins|dags|tests|docker|scripts|bench)/[\w/.-]*)`", page.read_text()
        )
    }
    assert sorted(f"{page}: {path}" for page, path in named if not (ROOT / path).exists()) == []
