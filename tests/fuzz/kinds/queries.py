"""Query files: `kepler_query.json`, plain and packed, and folders of Parquet samples; validated and extracted.

The form of a Parquet file is its name: the others of the folder are as they were.
"""

from __future__ import annotations

import gzip
import shutil
import zlib
from pathlib import Path
from random import Random

from fuzz.case import Case
from fuzz.commands import command
from fuzz.json_mutations import mutate_json
from fuzz.mutations import mutate_bytes
from fuzz.parquet_mutations import mutate_parquet
from fuzz.simulated_node import SAMPLES, write_small_node
from kepler_train.samples.kepler_query_json import export_json

_JSON, _PACKED = "kepler_query.json", "kepler_query.json.gz"


def seeds(folder: Path) -> list[Case]:
    """Return the samples of a simulated node in every form, JSON as often as Parquet."""
    samples = write_small_node(folder)
    export_json(samples, folder / _JSON)
    content = (folder / _JSON).read_bytes()
    files = [Case(file.name, file.read_bytes()) for file in sorted(samples.glob("*.parquet"))]
    return [*files, *[Case(_JSON, content)] * len(files), Case(_PACKED, gzip.compress(content, mtime=0))]


def mutate(case: Case, random: Random) -> Case:
    """Return a changed file."""
    if case.form == _JSON:
        return Case(case.form, mutate_json(case.content, random))
    if case.form == _PACKED:
        changed = gzip.compress(mutate_json(gzip.decompress(case.content), random), 1, mtime=0)
        return Case(case.form, changed if random.random() < 0.5 else mutate_bytes(case.content, random))
    return Case(case.form, mutate_parquet(case.content, random))


def call(case: Case, seeds: Path, work: Path) -> None:
    """Validate the query, then extract or isolate it, by chance of its bytes."""
    if case.form in (_JSON, _PACKED):
        name = case.form
        (work / case.form).write_bytes(case.content)
    else:
        name = f"{SAMPLES}/"
        shutil.copytree(seeds / SAMPLES, work / SAMPLES)
        (work / SAMPLES / case.form).write_bytes(case.content)
    command("validate", "-i", name, "-fg", "BPFOnly", "-e", "rapl-sysfs")
    if zlib.crc32(case.content) % 2:
        command("extract", "-i", name, "-o", "extracted.parquet", "-ot", "DynPower")
    else:
        command("isolate", "-i", name, "-o", "isolated.csv", "--isolator", "min")
