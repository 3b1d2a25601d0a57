"""Kill the everyday commands at random moments, with and without an earlier result in their place, and go on."""

from __future__ import annotations

import random
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from children import Place, Undisturbed, measured, run, start
from counts import Row, progress
from killed_steps import MOMENTS, last_words
from lab import HOURS, Files, Lab, sha256, timeless

_ATTEMPTS = 5
_TRAINED = ["-fg", "BPFOnly", "--gate-mae", "40", "--gate-limit", "1000", "--folds", "2", "--node-type", "0"]
_LINEAR = "LinearRegressionTrainer"
_MODEL = "mine/rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0"


@dataclass(frozen=True)
class Command:
    """A command on the data of an hour; a unit is a file or folder that it writes, whole or not at all."""

    words: Callable[[int], list[str]]
    units: list[str]
    models: Callable[[int], str] = lambda _: "models"  # MODEL_PATH

    def at(self, place: Place, hour: int) -> tuple[Place, list[str]]:
        """Return where it runs, and its words."""
        return place.seeing(MODEL_PATH=self.models(hour)), self.words(hour)

    def written(self, place: Place) -> list[Files]:
        """Return the files of each unit."""
        units = []
        for unit in self.units:
            path = place.folder / unit
            files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
            units.append({str(file.relative_to(place.folder)): _content(file) for file in files})
        return units


def _content(file: Path) -> str:
    """Return the hash of a file without times; that of a zip is one of its files, as it has their times too."""
    if file.suffix != ".zip" or not zipfile.is_zipfile(file):
        return timeless(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        return sha256("".join(f"{name} {timeless(archive.read(name))}\n" for name in archive.namelist()).encode())


@dataclass(frozen=True)
class Bench:
    """A folder with what the commands read: queries, rows and models of two hours."""

    lab: Lab
    data: Path

    def commands(self) -> dict[str, Command]:
        """Return every command that writes something."""

        def of(name: str) -> Callable[[int], str]:
            return lambda hour: str(self.data / f"{name}{hour}")

        query, rows, models = of("query"), of("rows"), of("models")
        return {
            "query": Command(self.query, ["out"]),
            "validate": Command(lambda hour: ["validate", "-i", query(hour), "-o", "out"], ["out.json"]),
            "plot": Command(lambda hour: ["plot", "-i", query(hour), "-o", "out.png"], ["out.png"]),
            "profile": Command(lambda hour: ["profile", "-i", query(hour)], ["profiles/node_type_0.json"]),
            "extract": Command(self.extract, ["out.parquet"]),
            "isolate": Command(
                lambda hour: ["isolate", "-i", query(hour), "-fg", "BPFOnly", "-o", "out.csv"], ["out.csv"]
            ),
            "isolate-from-data": Command(
                lambda hour: ["isolate-from-data", "-i", rows(hour), "--isolator", "min", "-o", "out"], ["out.parquet"]
            ),
            "train": Command(self.train, ["models/mine"]),
            "train-from-data": Command(
                lambda hour: ["train-from-data", "-i", rows(hour), "-p", "mine", *_TRAINED, "--trainers", _LINEAR],
                ["models/mine"],
            ),
            "estimate": Command(
                lambda hour: ["estimate", "--model", f"{models(0)}/{_MODEL}", "--data", query(hour), "-o", "out"],
                ["out.parquet"],
            ),
            "export": Command(
                lambda _: ["export", "-p", "mine", "-o", "db"],
                [f"db/v0.7/{name}" for name in ("mine", "mine.zip", "README.md", ".doc/mine.md")],
                models,
            ),
        }

    def query(self, hour: int) -> list[str]:
        """Return the words that collect an hour."""
        window = ["--start-time", HOURS[hour], "--end-time", HOURS[hour + 1]]
        return ["query", "--server", self.lab.prometheus, *window, "-fg", "BPFOnly", "-e", "rapl-sysfs", "-o", "out"]

    def extract(self, hour: int) -> list[str]:
        """Return the words that make rows of an hour."""
        return ["extract", "-i", str(self.data / f"query{hour}"), "-fg", "BPFOnly", "-o", "out.parquet"]

    def train(self, hour: int) -> list[str]:
        """Return the words that train models of an hour."""
        trainers = ["--abs-trainers", _LINEAR, "--dyn-trainers", _LINEAR]
        return ["train", "-i", str(self.data / f"query{hour}"), "-p", "mine", *_TRAINED, *trainers]

    def prepare(self) -> None:
        """Make what the commands read."""
        for hour in (0, 1):
            place = self.lab.place(f"prepare-{hour}")
            for words, made, name in (
                (self.query(hour), "out", f"query{hour}"),
                (self.extract(hour), "out.parquet", f"rows{hour}.parquet"),
                (self.train(hour), "models", f"models{hour}"),
            ):
                measured(place, *words)
                shutil.move(place.folder / made, self.data / name)


@dataclass
class Reference:
    """The units of a command as undisturbed commands leave them: earlier ones, and all good new ones."""

    earlier: Path
    usual: Undisturbed
    before: list[Files] = field(default_factory=list)
    after: list[list[Files]] = field(default_factory=list)


def killed_commands(lab: Lab, seed: int, kills: int) -> list[Row]:
    """Kill every command `kills` times."""
    data = lab.folder / "data"
    data.mkdir()
    bench = Bench(lab, data)
    bench.prepare()
    row = Row("everyday commands")
    for name, command in bench.commands().items():
        chance = random.Random(f"{seed} {name}")
        reference = _reference(lab, name, command)
        wanted = row.tried + kills
        for number in range(_ATTEMPTS * kills):
            if row.tried == wanted:
                break
            _kill(lab, f"{name}-{number}", command, reference, row, chance)
        progress(f"{name}: {row.tried} kills, {len(row.problems)} problems")
    return [row]


def _reference(lab: Lab, name: str, command: Command) -> Reference:
    """Let a command write in the place of nothing, of an earlier result, and of its own."""
    fresh, over = lab.place(f"{name}-fresh"), lab.place(f"{name}-over")
    usual = _measured(fresh, command, 1)
    _measured(over, command, 0)
    earlier = lab.folder / f"{name}-earlier"
    shutil.copytree(over.folder, earlier, ignore=shutil.ignore_patterns("tmp"))
    reference = Reference(earlier, usual, before=command.written(over))
    _measured(over, command, 1)
    states = [command.written(fresh), command.written(over)]
    for place in (fresh, over):
        _measured(place, command, 1)
        states.append(command.written(place))
    reference.after = [list(of_unit) for of_unit in zip(*states, strict=True)]
    return reference


def _measured(place: Place, command: Command, hour: int) -> Undisturbed:
    place, words = command.at(place, hour)
    return measured(place, *words)


def _kill(lab: Lab, name: str, command: Command, reference: Reference, row: Row, chance: random.Random) -> None:
    place, earlier = lab.place(name), chance.random() < 0.5
    if earlier:
        shutil.copytree(reference.earlier, place.folder, dirs_exist_ok=True)
    moment = chance.random() < 0.5
    seconds, operation = chance.uniform(0, reference.usual.seconds), chance.randrange(reference.usual.operations)
    at, words = command.at(place, 1)
    child = start(at, *words, kill_at=None if moment else operation)
    ended = child.ended(seconds) if moment else child.ended()
    if ended.killed:
        row.count(MOMENTS[0] if moment else MOMENTS[1])
        check(name, command, place, reference, row, killed=True, had_earlier=earlier)
    elif ended.code != 0:
        row.problem("other failures", f"{name}: {last_words(ended)}")
    again = run(at, *words)
    if again.code != 0:
        row.problem("other failures", f"{name} does not work after a kill: {last_words(again)}")
    check(name, command, place, reference, row, killed=False, had_earlier=earlier)
    left = place.left() + [path.name for path in place.folder.rglob(".*-*") if "tmp" not in path.parts]
    if left:
        row.problem("left in temporary folders", f"{name}: {left}")
    shutil.rmtree(place.folder)


def check(
    name: str, command: Command, place: Place, reference: Reference, row: Row, killed: bool, had_earlier: bool
) -> None:
    """Every unit is there as a good command leaves it; after a kill the earlier one, or none where there was none."""
    for unit, found, before, after in zip(
        command.units, command.written(place), reference.before, reference.after, strict=True
    ):
        if found in after or (killed and found == (before if had_earlier else {})):
            continue
        if not found:
            row.problem("lost results", f"{name}: {unit} is gone")
        elif set(found) < set(after[0]) or any(found.items() & good.items() for good in [before, *after]):
            row.problem("half results", f"{name}: {unit} is part of a result")
        else:
            row.problem("wrong results", f"{name}: {unit} is no result of this command")
