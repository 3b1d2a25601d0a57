"""The vocabulary: every name once, and nothing in the catalog that nobody reads."""

from __future__ import annotations

from source import PACKAGE, attributes_read

from kepler_train.catalog import catalog, model
from kepler_train.train.trainer import trainer


def test_every_trainer_is_a_class_in_a_file_of_its_own():
    modules = {name: entry.module for name, entry in catalog().trainers.items()}
    files = {file.stem for file in (PACKAGE / "train/trainers").glob("*.py")} - {"__init__"}
    assert sorted(modules.values()) == sorted(files)
    assert {name for name in modules if trainer(name).name == name} == set(modules)


def test_every_key_of_an_entry_is_read_by_somebody():
    read = attributes_read(outside=set())
    kinds = [kind for kind in vars(model).values() if isinstance(kind, type) and issubclass(kind, model.Entry)]
    assert {f"{kind.__name__}.{key}" for kind in kinds for key in kind.model_fields if key not in read} == set()
