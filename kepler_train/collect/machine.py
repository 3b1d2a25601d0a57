"""The machine that was measured: what decides its node type, and what explains its figures later."""

from __future__ import annotations

from pydantic import Field

from kepler_train.catalog.node_attributes import Count, Name, NodeAttributes


class MachineSpec(NodeAttributes):
    """A machine as other tools of Kepler describe it, and more where it is known; None is unknown."""

    vendor: Name = Field(None, description="Vendor of the processor, as genuineintel.")
    threads_per_core: Count = None
    kernel: Name = Field(None, description="Release of the kernel, as uname -r prints it.")
    virtualization: Name = Field(None, description="none, or what the machine runs in, as kvm or docker.")
    kepler_version: Name = None
