"""Machine specs from the files of the kernels that people measure."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepler_train.errors import UserError
from kepler_train.machine.processor import clock_of, processor_name
from kepler_train.machine.spec import MachineSpec, this_machine
from kepler_train.machine.spec_file import machine_text, read_machine


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    return root


def x86(model: str, vendor: str, cpus: int, chips: int, mhz: float, flags: str = "fpu vme", threads: int = 2) -> str:
    """The text of /proc/cpuinfo on x86, with the keys that matter and some that do not."""
    a_chip = cpus // chips
    return "\n".join(
        f"processor\t: {cpu}\nvendor_id\t: {vendor}\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: {model}\n"
        f"stepping\t: 7\ncpu MHz\t\t: {mhz:.3f}\nphysical id\t: {cpu % chips}\nsiblings\t: {a_chip}\n"
        f"core id\t\t: {cpu // threads}\ncpu cores\t: {a_chip // threads}\nflags\t\t: {flags}\npower management:\n"
        for cpu in range(cpus)
    )


def topology(cpus: int, chips: int, max_khz: int | None, siblings: str) -> dict[str, str]:
    home = "sys/devices/system/cpu"
    files = {f"{home}/online": f"0-{cpus - 1}", f"{home}/cpu0/topology/thread_siblings_list": siblings}
    for cpu in range(cpus):
        files[f"{home}/cpu{cpu}/topology/physical_package_id"] = str(cpu * chips // cpus)
        if max_khz:
            files[f"{home}/cpu{cpu}/cpufreq/cpuinfo_max_freq"] = str(max_khz)
    return files


def test_two_sockets_of_intel_are_the_node_type_of_the_public_index(tmp_path: Path) -> None:
    model = "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz"
    files = topology(96, 2, 3_500_000, "0,48") | {
        "proc/cpuinfo": x86(model, "GenuineIntel", 96, 2, 1199.87),
        "proc/meminfo": "MemTotal:       395935832 kB\nMemFree:        1 kB",
        "proc/sys/kernel/osrelease": "5.14.0-427.el9.x86_64",
        "sys/class/dmi/id/sys_vendor": "Amazon EC2",
        "sys/class/dmi/id/product_name": "m5.metal",
    }
    assert this_machine(tree(tmp_path, files)) == MachineSpec(
        processor="intel_xeon_platinum_8259cl",
        cores=96,
        chips=2,
        memory=377,
        frequency=3500,
        vendor="genuineintel",
        threads_per_core=2,
        kernel="5.14.0-427.el9.x86_64",
        virtualization="none",
        container="none",
    )


def test_amd_without_sysfs_is_known_from_cpuinfo_alone(tmp_path: Path) -> None:
    files = {
        "proc/cpuinfo": x86("AMD EPYC 7763 64-Core Processor", "AuthenticAMD", 256, 2, 2445.404),
        "proc/meminfo": "MemTotal:       1056000000 kB",
    }
    machine = this_machine(tree(tmp_path, files))
    assert machine.attributes() == {
        "processor": "amd_epyc_7763_64_core",
        "cores": 256,
        "chips": 2,
        "memory": 1007,
        "frequency": 2400,
    }
    assert (machine.vendor, machine.threads_per_core, machine.kernel) == ("authenticamd", 2, None)


def test_a_virtual_machine_has_the_clock_of_its_model_name(tmp_path: Path) -> None:
    files = topology(2, 1, None, "0") | {
        "proc/cpuinfo": x86("Intel(R) Xeon(R) Processor @ 2.80GHz", "GenuineIntel", 2, 1, 2799.99, "fpu hypervisor", 1),
        "proc/meminfo": "MemTotal:        400000 kB",
        "sys/class/dmi/id/sys_vendor": "QEMU",
        "sys/class/dmi/id/product_name": "Standard PC (Q35 + ICH9, 2009)",
        "proc/1/cgroup": "0::/kubepods/besteffort/pod1/2",
    }
    machine = this_machine(tree(tmp_path, files))
    assert (machine.processor, machine.frequency, machine.threads_per_core) == ("intel_xeon", 2800, 1)
    assert (machine.virtualization, machine.container) == ("qemu", "kubernetes")
    assert machine.memory == 1  # GiB: less than one is not none


ARM = """processor\t: {cpu}
BogoMIPS\t: 243.75
Features\t: fp asimd evtstrm
CPU implementer\t: {implementer}
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: {part}
CPU revision\t: 1
"""


def test_arm_has_no_model_name_but_a_stable_one_all_the_same(tmp_path: Path) -> None:
    text = "\n".join(ARM.format(cpu=cpu, implementer="0x41", part="0xd0c") for cpu in range(64))
    files = topology(64, 1, None, "0") | {"proc/cpuinfo": text, "proc/meminfo": "MemTotal: 129000000 kB"}
    files |= {f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id": "-1" for cpu in range(64)}
    machine = this_machine(tree(tmp_path, files))
    assert machine.attributes() == {
        "processor": "neoverse_n1",
        "cores": 64,
        "chips": 1,
        "memory": 123,
        "frequency": None,
    }
    assert machine.unknown() == ["frequency"]
    assert (machine.vendor, machine.virtualization) == ("arm", None)


@pytest.mark.parametrize(
    ("cores", "name"),
    [
        ([("0x41", "0xd03"), ("0x41", "0xd08"), ("0x41", "0xd03")], "cortex_a53_cortex_a72"),
        ([("0x48", "0xd22")], "hisilicon_0xd22"),
        ([("0x7f", "0x1")], "arm_0x7f_0x001"),
    ],
)
def test_arm_cores_of_two_kinds_or_without_a_name_are_named_by_what_there_is(
    tmp_path: Path, cores: list[tuple[str, str]], name: str
) -> None:
    text = "\n".join(ARM.format(cpu=cpu, implementer=who, part=part) for cpu, (who, part) in enumerate(cores))
    assert this_machine(tree(tmp_path, {"proc/cpuinfo": text})).processor == name


IBM_Z = """vendor_id       : IBM/S390
# processors    : 2
bogomips per cpu: 3241.00
max thread id   : 0
processor 0: version = FF,  identification = 0D04F8,  machine = 3906
processor 1: version = FF,  identification = 0D04F8,  machine = 3906

cpu number      : 0
cpu MHz dynamic : 5208
cpu MHz static  : 5208
"""
POWER = """processor\t: 0
cpu\t\t: POWER9 (architected), altivec supported
clock\t\t: 3800.000000MHz
revision\t: 2.2 (pvr 004e 1202)

processor\t: 1
cpu\t\t: POWER9 (architected), altivec supported
clock\t\t: 3000.000000MHz
"""


@pytest.mark.parametrize(("cpuinfo", "processor", "frequency"), [(IBM_Z, "ibm_z_3906", 5200), (POWER, "power9", 3800)])
def test_ibm_machines_have_a_name_a_clock_and_their_cpus(
    tmp_path: Path, cpuinfo: str, processor: str, frequency: int
) -> None:
    machine = this_machine(tree(tmp_path, {"proc/cpuinfo": cpuinfo}))
    assert (machine.processor, machine.cores, machine.frequency) == (processor, 2, frequency)


def test_a_machine_that_says_nothing_has_nothing_but_a_socket(tmp_path: Path) -> None:
    assert this_machine(tmp_path) == MachineSpec(chips=1, container="none")
    tree(tmp_path, {"proc/sys/kernel/arch": "riscv64", "proc/cpuinfo": "processor\t: 0\nisa\t\t: rv64imafdc"})
    assert this_machine(tmp_path).processor == "riscv64"


@pytest.mark.parametrize(
    ("files", "virtualization", "container"),
    [
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2", "sys/class/dmi/id/product_name": "m6g.metal"}, "none", "none"),
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2", "sys/class/dmi/id/product_name": "m6g.large"}, "amazon", "none"),
        ({"proc/device-tree/hypervisor/compatible": "linux,kvm\0", ".dockerenv": ""}, "kvm", "docker"),
        ({"sys/hypervisor/type": "xen", "run/.containerenv": ""}, "xen", "podman"),
        ({"proc/cpuinfo": "flags : fpu hypervisor", "proc/1/cgroup": "0::/lxc/web"}, "vm-other", "lxc"),
        ({"run/systemd/container": "systemd-nspawn"}, None, "systemd-nspawn"),
    ],
)
def test_hypervisors_and_containers_give_themselves_away(
    tmp_path: Path, files: dict[str, str], virtualization: str | None, container: str
) -> None:
    machine = this_machine(tree(tmp_path, files))
    assert (machine.virtualization, machine.container) == (virtualization, container)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", "intel_xeon_e5_2686v4"),
        ("Intel(R) Xeon(R) Platinum 8488C", "intel_xeon_platinum_8488c"),
        ("Intel(R) Xeon(R) CPU E3-1240L v5 @ 2.10GHz", "intel_xeon_e3_1240lv5"),
        ("Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz", "intel_core_i7_8650u"),
        ("12th Gen Intel® Core™ i7-1260P", "12th_gen_intel_core_i7_1260p"),
        ("Intel Xeon Processor (Skylake, IBRS)", "intel_xeon"),
        ("AMD EPYC", "amd_epyc"),
        ("AMD Ryzen Embedded V1605B with Radeon Vega Gfx", "amd_ryzen_embedded_v1605b_with_radeon_vega_gfx"),
        ("Common KVM processor", "common_kvm"),
        ("QEMU Virtual CPU version 2.5+", "qemu_virtual_version_2.5+"),
        ("-", None),
        ("", None),
    ],
)
def test_processors_are_named_as_the_public_index_names_them(model: str, name: str | None) -> None:
    assert processor_name(model) == name


WORDS = ["Intel(R)", "(TM)", "CPU", "@", "2.5GHz", "-", "E5", "v4", "[x]", "_", "."]


@given(st.text(max_size=40) | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_a_name_stays_the_same_when_it_is_named_again(model: str) -> None:
    name = processor_name(model)
    assert name is None or (
        processor_name(name) == name and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.+")
    )


def test_the_clock_is_read_from_a_model_name_in_either_unit() -> None:
    assert clock_of("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz") == 2300
    assert clock_of("Pentium III 933 MHz") == 933
    assert clock_of("AMD EPYC") is None


def test_this_machine_is_the_one_that_python_runs_on() -> None:
    machine = this_machine()
    assert machine.kernel == platform.release()
    assert machine.unknown() in ([], ["frequency"])  # some Arm machines have no clock to read


def test_a_machine_spec_is_read_as_it_was_written_and_as_others_write_it(tmp_path: Path) -> None:
    machine = MachineSpec(processor="amd_epyc", cores=2, chips=1, memory=23, kernel="6.1")
    file = tmp_path / "vm.json"
    file.write_text(machine_text(machine))
    assert json.loads(file.read_text()) == {
        "attrs": {"processor": "amd_epyc", "cores": 2, "chips": 1, "memory": 23, "frequency": None},
        "members": [],
        "kernel": "6.1",
    }
    assert read_machine(file) == machine
    file.write_text('{"processor": "amd_epyc", "cores": 2, "chips": 1, "memory": 23, "frequency": 0, "kernel": "6.1"}')
    assert read_machine(file) == machine


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b'{"attrs"', "not JSON: "),
        (b"\xff", "not JSON: "),
        (b"[]", "is not a machine spec: it has none of processor, cores, "),
        (b'{"startTimeUTC": "2023-11-14T22:13:20Z"}', "is not a machine spec: it has none of "),
        (b'{"attrs": {"cores": "many"}}', "is not a machine spec: cores: "),
    ],
)
def test_a_broken_machine_spec_is_refused_with_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "vm.json"
    file.write_bytes(content)
    with pytest.raises(UserError) as refused:
        read_machine(file)
    assert sentence in str(refused.value)
    assert str(file) in str(refused.value)
