"""Judge a folder of samples, and say the verdict to a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kepler_train.catalog import catalog
from kepler_train.events import blank, say, warn
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.validate.text import group_lines, node_lines
from kepler_train.validate.verdict import verdict

VERDICT = "verdict.json"


def judge_samples(samples: Path, spec: RunSpec, schedule: Schedule) -> dict[str, Any]:
    """The verdict on a folder of samples, said aloud."""
    found = verdict(spec, samples, schedule)
    versions = catalog().dialect(found["dialect"]).kepler_versions
    say(f"validate: {len(found['metrics'])} metrics of Kepler {versions} ({found['dialect']} names)")
    for node, health in found["health"].items():
        blank()
        for number, line in enumerate(node_lines(node, health)):
            say(line, **({} if number else {"node": node, "health": health}))
    blank()
    say("feature groups", groups=found["groups"])
    for line in group_lines(found["groups"], found["nodes"]):
        say(line)
    if found["warnings"]:
        blank()
    for finding in found["warnings"]:
        where = f"{finding['node']}: " if finding["node"] else ""
        warn(f"{where}{finding['text']}.", importance=finding["importance"])
    return found


def write_verdict(found: dict[str, Any], file: Path) -> None:
    """Write the verdict as JSON."""
    file.write_text(json.dumps(found, indent=1, allow_nan=False), encoding="utf-8")
