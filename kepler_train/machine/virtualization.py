"""Detect virtual machines and containers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

NONE = "none"

# What the firmware of virtual machines calls itself, by the words of systemd-detect-virt.
_FIRMWARE = {
    "kvm": "kvm",
    "openstack": "kvm",
    "qemu": "qemu",
    "bochs": "bochs",
    "vmware": "vmware",
    "virtualbox": "oracle",
    "innotek": "oracle",
    "xen": "xen",
    "parallels": "parallels",
    "google compute engine": "google",
    "amazon ec2": "amazon",
    "virtual machine": "microsoft",  # Microsoft's own computers have the same vendor, but not this product
}


def virtual_machine(root: Path, below_hypervisor: bool | None) -> str | None:
    """Return the hypervisor as systemd-detect-virt names it, `none` for hardware, None where nothing tells.

    `below_hypervisor` is the processor's own flag; None where it has none.
    """
    detected = _detect_virt("--vm") if root == Path("/") else None
    if detected:
        return detected
    if below_hypervisor is False:
        return NONE
    name = read(root / "sys/hypervisor/type") or read(root / "proc/device-tree/hypervisor/compatible")
    if name:
        return name.strip("\0").removeprefix("linux,")
    dmi = root / "sys/class/dmi/id"
    return by_firmware(read(dmi / "product_name"), read(dmi / "sys_vendor")) or (
        "vm-other" if below_hypervisor else None
    )


def by_firmware(product: str, vendor: str) -> str | None:
    """Return the hypervisor that the firmware's product and vendor give away."""
    if product.endswith(".metal"):  # EC2's hardware carries the same vendor as its virtual machines
        return NONE
    text = f"{product} / {vendor}".lower()
    return next((name for word, name in _FIRMWARE.items() if word in text), None)


def container(root: Path) -> str | None:
    """Return the kind of container this process runs in, `none` for none."""
    detected = _detect_virt("--container") if root == Path("/") else None
    if detected:
        return detected
    name = read(root / "run/systemd/container")
    if name:
        return name
    for marker, kind in {".dockerenv": "docker", "run/.containerenv": "podman"}.items():
        if (root / marker).exists():
            return kind
    kinds: Mapping[str, str] = {"kubepods": "kubernetes", "docker": "docker", "libpod": "podman", "lxc": "lxc"}
    mark = re.search("|".join(kinds), read(root / "proc/1/cgroup"))
    return kinds[mark[0]] if mark else NONE


def read(path: Path) -> str:
    """Return the stripped text of a file of the kernel; nothing where it is missing or forbidden."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _detect_virt(kind: str) -> str | None:
    """Return the answer of systemd-detect-virt, which also asks the processor, as no file can."""
    try:
        answer = subprocess.run(["systemd-detect-virt", kind], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None
