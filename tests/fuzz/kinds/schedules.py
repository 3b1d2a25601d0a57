"""Schedules, benchmarks and background profiles: read, and used to label windows, to plan and to isolate."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import numpy as np

from fuzz.case import Case
from fuzz.json_mutations import mutate_json
from kepler_train.extract.workloads import label_windows
from kepler_train.isolate.profile import merge_profiles, read_profile
from kepler_train.plan.window import Due, settle
from kepler_train.samples.benchmark import is_benchmark, read_benchmark, stressed_machine
from kepler_train.samples.schedule import read_schedule
from kepler_train.spec import RunSpec
from kepler_train.workspace import Run, open_store

_START = 1_794_614_400.0  # 2026-11-14T00:00:00Z
_NOW = datetime(2026, 11, 15, tzinfo=UTC)
_PROFILE = "node_type_0.json"


def seeds(folder: Path) -> list[Case]:
    """Return a schedule of a stress run, a benchmark and a profile."""
    machine = {
        "processor": "intel_xeon",
        "cores": 8,
        "chips": 1,
        "memory": 32,
        "frequency": 2400,
        "vendor": "genuineintel",
    }
    times = [f"2026-11-14T00:{minute:02}:00Z" for minute in (0, 5, 10, 15)]
    phases = [
        {"name": f"{load} x2", "load": load, "instances": 2, "node": node, "start": start, "end": end, "status": "done"}
        for load, node, start, end in zip(("idle", "cpu", "vm"), ("", "a", "a"), times, times[1:], strict=False)
    ]
    phases[1] |= {"frequency_mhz": 2400.0, "exit_code": 0, "bogo_ops": 12, "command": ["stress-ng", "--cpu", "2"]}
    schedule = {"machine_id": "m", "machine": machine, "phases": phases, "notes": ["no frequency was set"]}
    benchmark = {"startTimeUTC": times[0], "endTimeUTC": times[-1]}
    usage = {"bpf_cpu_time_ms": 12.5, "bpf_page_cache_hit": 3.0}
    profile = {
        "node_type": 0,
        "node": "a",
        "machine": machine,
        "chosen": "schedule",
        "start": times[0],
        "end": times[1],
    }
    profile |= {"rows": 20, "window_seconds": 15.0, "usage": usage, "containers": {"c1/p/n/s": usage}}
    profile["power"] = {"rapl-sysfs/package_power": {"mean": 20.0, "median": 20.1, "deviation": 0.5}}
    documents = {"schedule.json": schedule, "benchmark.json": benchmark, _PROFILE: profile}
    cases = [Case(name, json.dumps(document).encode()) for name, document in documents.items()]
    return [*[cases[0]] * 4, Case("benchmark.json", cases[0].content), *cases[1:]]


def mutate(case: Case, random: Random) -> Case:
    """Return a changed file."""
    return Case(case.form, mutate_json(case.content, random))


def call(case: Case, seeds: Path, work: Path) -> None:
    """Read the file, and use what it says."""
    file = work / case.form
    file.write_bytes(case.content)
    if case.form == _PROFILE:
        profile = read_profile(work, 0)
        if profile:
            profile.misfit(0, profile.machine, ["rapl-sysfs/package_power"], ["bpf_cpu_time_ms"])
            merge_profiles(profile, profile).model_dump_json()
    elif case.form == "benchmark.json":
        is_benchmark(file)
        start, end = read_benchmark(file)
        stressed_machine(file)
        RunSpec(start=start, end=end).model_dump_json()
    else:
        schedule = read_schedule(str(file))
        ends = _START + 15.0 * np.arange(1, 61)
        label_windows(ends - 15, ends, "a", schedule)
        (work / "again.json").write_text(schedule.model_dump_json(), encoding="utf-8")
        settle(RunSpec(schedule=str(file)), Run.named(open_store(str(work)), "default/1"), Due(_NOW))
