"""Node types: machines of equal attributes share a number, and with it the models trained on any of them."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from kepler_train import strict_json
from kepler_train.errors import UserError, first_problem
from kepler_train.machine.node_attributes import WEIGHTS, NodeAttributes, similarity

NODE_TYPES = "node_type_index.json"
"""The file of a pipeline's node types."""
MOST_GAPS = 20


class NodeType(BaseModel):
    """Machines of equal attributes: the attributes, and the ids of the machines."""

    model_config = ConfigDict(frozen=True)

    attrs: NodeAttributes
    members: list[str]


@dataclass(frozen=True)
class Match:
    """The node type that fits a machine, and how well.

    `uncertainty` is the share of the machines, among those of all types that would fit as well, that are not of this
    type: 1 − members / members of all of them. `looseness` is 1 − similarity where an attribute had to be ignored,
    else 0. Both are 0 for an exact match.
    """

    number: int
    uncertainty: float = 0.0
    looseness: float = 0.0
    ignored: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Return whether all attributes are known and equal."""
        return not self.ignored and not self.unknown


@dataclass(frozen=True)
class NodeTypeIndex:
    """The contents of a node_type_index.json; unknown keys are kept as they are."""

    types: dict[int, NodeType]
    _document: dict[str, Any]
    _ending: str = "\n"

    @classmethod
    def empty(cls) -> NodeTypeIndex:
        """Return an index without node types."""
        return cls({}, {})

    @classmethod
    def parse(cls, text: str, where: object) -> NodeTypeIndex:
        """Return the index in a JSON text."""
        try:
            document = strict_json.parse(text)
        except strict_json.NotStrict as error:
            raise UserError(f"{where} is not JSON: {error}. Restore it from a copy.") from None
        if not isinstance(document, dict):
            raise UserError(f'{where} is not an index of node types: it must be {{"0": {{…}}, "1": {{…}}, …}}.')
        types = {_number(key, where): _node_type(key, entry, where) for key, entry in document.items()}
        return cls(types, document, "\n" if text.endswith("\n") else "")

    @classmethod
    def read(cls, path: Path) -> NodeTypeIndex:
        """Return the index in a file."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise UserError(f"There is no index of node types at {path}: give its file, or begin one.") from None
        except OSError as error:
            raise UserError(f"The index of node types {path} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise UserError(f"{path} is not JSON: it is not text in UTF-8. Restore it from a copy.") from None
        return cls.parse(text, path)

    def text(self) -> str:
        """Return the JSON text, in the form that was read."""
        return json.dumps(self._document) + self._ending

    def gaps(self, most: int = MOST_GAPS) -> list[int]:
        """Return unused numbers below the highest, up to so many; they stay unused, since models carry these numbers.

        An index may have a number by mistake that is larger than all memory.
        """
        unused = (number for number in range(max(self.types, default=-1)) if number not in self.types)
        return list(itertools.islice(unused, most))

    def exact(self, machine: NodeAttributes) -> int | None:
        """Return the lowest number of a type whose attributes all equal the machine's; None for an unknown machine."""
        attributes = machine.attributes()
        if not any(attributes.values()):
            return None
        return min(
            (number for number, kind in self.types.items() if kind.attrs.attributes() == attributes), default=None
        )

    @property
    def next_number(self) -> int:
        """Return the number of the next new type."""
        return max(self.types, default=-1) + 1

    def of_member(self, names: Collection[str], machine: NodeAttributes) -> int | None:
        """Return the lowest number of a type that has a machine of these names, and no other attribute than it."""
        fitting = (
            number
            for number, kind in self.types.items()
            if set(names) & set(kind.members) and not machine.contradicting(kind.attrs)
        )
        return min(fitting, default=None)

    def with_type(self, number: int, kind: NodeType) -> NodeTypeIndex:
        """Return the index with a type, or with what it adds to the attributes and members of the type there."""
        entry, before = self._document.get(str(number), {}), self.types.get(number)
        known = before.attrs.completed(kind.attrs) if before else kind.attrs
        members = dict.fromkeys([*(before.members if before else ()), *kind.members])
        entry = entry | {"attrs": known.attributes(), "members": list(members)}
        document = self._document | {str(number): entry}
        return replace(self, types=self.types | {number: NodeType.model_validate(entry)}, _document=document)

    def add(self, machine_id: str, machine: NodeAttributes) -> tuple[NodeTypeIndex, int]:
        """Return the index with this machine in the type equal to it, else in a new one; and that type's number."""
        if machine.unknown():
            raise UserError(
                f"{machine_id} cannot join the node types: its {', '.join(machine.unknown())} is not known."
                " Write what is missing into its machine spec."
            )
        number = self.exact(machine)
        if number is None:
            number = self.next_number
            entry: dict[str, Any] = {"attrs": machine.attributes(), "members": [machine_id]}
        else:
            entry = self._document[str(number)]
            if machine_id not in entry["members"]:
                entry = entry | {"members": [*entry["members"], machine_id]}
        document, types = self._document | {str(number): entry}, self.types | {number: NodeType.model_validate(entry)}
        return replace(self, types=types, _document=document), number

    def look_up(self, machine: NodeAttributes) -> Match | None:
        """Return the best type for a machine with unknown or unusual attributes; None without any types.

        1. A type whose attributes all equal the machine's: exact.
        2. Else, of the types that agree with all that is known, the one with most machines; it is uncertain by the
           share of the others.
        3. Else the most similar type (of equally similar ones that with most machines). The attributes in which it
           differs are ignored; it is loose by 1 − similarity, and uncertain by the share of the other types that agree
           with the rest.
        """
        if not self.types:
            return None
        unknown, equal = tuple(machine.unknown()), self.exact(machine)
        if equal is not None and not unknown:
            return Match(equal)
        fitting = self._agreeing(machine, ignoring=())
        if fitting:
            best = max(fitting, key=self._machines)
            return Match(best, self._uncertainty(best, fitting), unknown=unknown)
        best = max(sorted(self.types), key=lambda number: (self._similarity(machine, number), self._machines(number)))
        ignored = tuple(machine.differing(self.types[best].attrs))
        fitting = self._agreeing(machine, ignored)
        looseness = 1 - self._similarity(machine, best)
        return Match(best, self._uncertainty(best, fitting), looseness, ignored, unknown)

    def _agreeing(self, machine: NodeAttributes, ignoring: tuple[str, ...]) -> list[int]:
        """Return the types that differ from the machine only in ignored attributes, lowest number first."""
        return [number for number in sorted(self.types) if self._differs_only_in(ignoring, machine, number)]

    def _differs_only_in(self, names: tuple[str, ...], machine: NodeAttributes, number: int) -> bool:
        return set(machine.differing(self.types[number].attrs)) <= set(names)

    def _similarity(self, machine: NodeAttributes, number: int) -> float:
        return similarity(machine, self.types[number].attrs)

    def _machines(self, number: int) -> int:
        return len(self.types[number].members)

    def _uncertainty(self, best: int, fitting: list[int]) -> float:
        machines = sum(map(self._machines, fitting))
        # Types without a single machine are equally likely.
        return 1 - (self._machines(best) / machines if machines else 1 / len(fitting))


def _number(key: str, where: object) -> int:
    if not re.fullmatch("0|[1-9][0-9]{0,8}", key):
        raise UserError(f"{where}: {strict_json.shown(key)} is not the number of a node type; they are 0, 1, 2, ….")
    return int(key)


def _node_type(key: str, entry: Any, where: object) -> NodeType:
    try:
        kind = NodeType.model_validate(entry)
    except ValidationError as error:
        place, problem = first_problem(error)
        raise UserError(f"{where}: node type {key}: {place or 'its entry'}: {problem}.") from None
    missing = [name for name in WEIGHTS if name not in entry["attrs"]]
    if missing:
        raise UserError(f"{where}: node type {key}: attrs has no {', '.join(missing)}; an unknown one is null.")
    return kind
