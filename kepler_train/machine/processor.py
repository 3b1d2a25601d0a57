"""Names of processors as node_type_index.json has them, from what the kernel tells on each architecture."""

from __future__ import annotations

import re

_CLOCK = re.compile(r"(\d+(?:\.\d+)?)\s*([gm])hz", re.IGNORECASE)

# Arm's kernel gives numbers where others give names; these are the names lscpu prints for processors of servers.
_ARM_IMPLEMENTERS = {0x41: "arm", 0x43: "cavium", 0x46: "fujitsu", 0x48: "hisilicon", 0x61: "apple", 0xC0: "ampere"}
_ARM_PARTS = {
    (0x41, 0xD03): "cortex_a53",
    (0x41, 0xD08): "cortex_a72",
    (0x41, 0xD0B): "cortex_a76",
    (0x41, 0xD0C): "neoverse_n1",
    (0x41, 0xD40): "neoverse_v1",
    (0x41, 0xD49): "neoverse_n2",
    (0x41, 0xD4F): "neoverse_v2",
    (0x41, 0xD8E): "neoverse_n3",
    (0x43, 0x0AF): "thunderx2_99xx",
    (0x46, 0x001): "a64fx",
    (0x48, 0xD01): "kunpeng_920",
    (0xC0, 0xAC3): "ampere_1",
    (0xC0, 0xAC4): "ampere_1a",
}


def processor_name(model: str) -> str | None:
    """Return a model name in lower case with underscores, without trade marks, brackets, CPU, @ and clock.

    >>> processor_name("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz")
    'intel_xeon_e5_2686v4'
    """
    text = re.sub(r"\(.*?\)|\[.*?\]|\d+-bit multi-core", " ", model.lower())
    words = re.findall(r"[a-z0-9][a-z0-9.+]*", _CLOCK.sub(" ", text))
    name = "_".join(word for word in words if word not in ("cpu", "processor"))
    # The version belongs to the model number before it: 2686 v4 is 2686v4.
    return re.sub(r"_v(\d)(?=_|$)", r"v\1", name) or None


def clock_of(model: str) -> float | None:
    """Return the clock in a model name (MHz)."""
    clock = _CLOCK.search(model)
    return float(clock[1]) * (1000 if clock[2].lower() == "g" else 1) if clock else None


def arm_name(implementer: int, part: int) -> str:
    """Return the name of an Arm core, or its numbers where it has none here."""
    return _ARM_PARTS.get((implementer, part)) or f"{arm_vendor(implementer)}_{part:#05x}"


def arm_vendor(implementer: int) -> str:
    """Return the maker of an Arm core."""
    return _ARM_IMPLEMENTERS.get(implementer) or f"arm_{implementer:#04x}"
