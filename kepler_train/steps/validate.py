"""Validate: a verdict on the samples that a person can read, before anything is trained on them."""

from __future__ import annotations

import json
from pathlib import Path

from kepler_train.collect.verdict import check_verdict, verdict
from kepler_train.events import say
from kepler_train.spec import RunSpec
from kepler_train.workspace import Figures, Inputs

VERDICT = "verdict.json"


def validate(inputs: Inputs, spec: RunSpec, out: Path) -> Figures:
    """Write the verdict; refuse samples that cannot serve."""
    return judge_samples(inputs.folder("query"), spec, out / VERDICT)


def judge_samples(samples: Path, spec: RunSpec, out: Path, *, every_group: bool = True) -> Figures:
    """Write the verdict on a folder of samples, say it, and refuse what cannot serve."""
    found = verdict(spec, samples)
    out.write_text(json.dumps(found, indent=1), encoding="utf-8")
    for metric, by_node in found["metrics"].items():
        for node, counts in by_node.items():
            say(
                f"validate: {metric} on {node}: {counts['series']} series, {counts['samples']} samples"
                f" every {counts['scrape_interval'] or 0:g} s, {counts['gaps']} gaps, {counts['resets']} resets"
            )
    for group, state in found["groups"].items():
        lacking = "; ".join(f"{node} lacks {', '.join(names)}" for node, names in state["missing"].items())
        say(f"validate: feature group {group} is {'valid' if state['valid'] else 'not valid: ' + lacking}")
    check_verdict(spec, found, every_group=every_group)
    return {"dialect": found["dialect"], "nodes": len(found["nodes"]), "groups": len(found["groups"])}
