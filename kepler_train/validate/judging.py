"""Judge a folder of samples, and say the verdict to a person."""

from __future__ import annotations

from pathlib import Path

from kepler_train.catalog import catalog
from kepler_train.events import blank, say, warn
from kepler_train.samples.schedule import Schedule
from kepler_train.spec import RunSpec
from kepler_train.validate.outcome import Verdict
from kepler_train.validate.text import group_lines, node_lines
from kepler_train.validate.verdict import verdict


def judge_samples(samples: Path, spec: RunSpec, schedule: Schedule) -> Verdict:
    """Return the verdict on a folder of samples, after saying it."""
    judged = verdict(spec, samples, schedule)
    content, versions = judged.content(), catalog().dialect(judged.dialect).kepler_versions
    say(f"validate: {len(judged.metrics)} metrics of Kepler {versions} ({judged.dialect} names)")
    for node, health in judged.health.items():
        blank()
        for number, line in enumerate(node_lines(node, health)):
            say(line, **({} if number else {"node": node, "health": content["health"][node]}))
    blank()
    say("feature groups", groups=content["groups"])
    for line in group_lines(judged.groups, judged.nodes):
        say(line)
    if judged.warnings:
        blank()
    for finding in judged.warnings:
        where = f"{finding.node}: " if finding.node else ""
        warn(f"{where}{finding.text}.", importance=finding.importance)
    return judged
