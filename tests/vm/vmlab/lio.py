# SPDX-License-Identifier: GPL-2.0
"""Linux's own SCSI target on one machine: a disk in memory, or another block device, as a SCSI disk whose persistent
reservations are real, seen by two initiators."""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import rnbd
from .machine import Machine

TARGET = "/sys/kernel/config/target"
DATABASE = "/var/target/pr"  # where the target keeps registrations over a loss of power, a file for each disk
MEMORY, DEVICE = "rd_mcp_0", "iblock_0"  # where the target keeps disks of each kind
INITIATORS = 2  # of each disk; each port of the target has an initiator of the next number


@dataclass
class Pair:
    """The disk as one initiator sees it, and as another does."""

    machine: Machine
    number: int
    mine: str
    other: str

    def others_see(self, what: str) -> str:
        """--read-keys or --read-reservation, as sg_persist prints them."""
        return self.machine.run(f"sg_persist --no-inquiry --in {what} {self.other}")

    def keys(self) -> list[int]:
        return [int(key, 16) for key in re.findall(r"^ +(0x[0-9a-f]+)$", self.others_see("--read-keys"), re.M)]

    def held(self) -> str:
        """The type of what is reserved, in sg_persist's words; empty if it is not."""
        found = re.search(r"type: (.*)", self.others_see("--read-reservation"))
        return found[1].strip() if found else ""


def _disk(number: int, kind: str = MEMORY) -> str:
    return f"{TARGET}/core/{kind}/disk{number}"


def _serial(number: int) -> str:
    return f"rnbd-{number}"


def _groups(number: int) -> list[tuple[str, str]]:
    """The portal groups that lead to the disk, and the initiator of each."""
    names = [f"naa.500140500000{number:02d}{i:02d}" for i in range(2 * INITIATORS)]
    return [(f"{TARGET}/loopback/{port}/tpgt_1", initiator) for port, initiator in zip(names[::2], names[1::2])]


def make_disk(machine: Machine, number: int = 1, megabytes: int = 64, below: str = "") -> Pair:
    """`below`: the block device that is the disk, instead of memory."""
    disk = _disk(number, DEVICE if below else MEMORY)
    what = f"udev_path={below}" if below else f"rd_pages={megabytes << 8}"
    lines = ["modprobe -a sd_mod target_core_mod tcm_loop", f"mkdir -p {DATABASE}", "disks() {",
             "ls -d /sys/block/sd* 2>/dev/null | sort -V", "}", "disks >/tmp/disks", f"mkdir -p {disk}",
             f"echo {what} >{disk}/control", f"echo {_serial(number)} >{disk}/wwn/vpd_unit_serial",
             f"echo 1 >{disk}/enable"]
    for group, initiator in _groups(number):
        lines += [f"mkdir -p {group}", f"echo {initiator} >{group}/nexus", f"mkdir {group}/lun/lun_0",
                  f"ln -s {disk} {group}/lun/lun_0/disk"]
    # In the order in which they came.
    fresh = "disks | grep -vxFf /tmp/disks"
    lines += ["i=0", f"while [ $({fresh} | wc -l) -lt {INITIATORS} ] && [ $i -lt 50 ]; do",
              "sleep 0.2", "i=$((i + 1))", "done",
              f"{fresh} | sed s:/sys/block:/dev:"]
    mine, other = machine.run("\n".join(lines), 90).split()
    return Pair(machine, number, mine, other)


def hang_commands(pair: Pair) -> None:
    """Until let_go(), a command that changes reservations finds no room in the database, and has no end."""
    file = f"{DATABASE}/aptpl_{_serial(pair.number)}"
    pair.machine.run(f"rm -f {file}\nmkfifo {file}")
    pair.machine.spawn(f"exec 3<>{file}\ndd if=/dev/zero bs=4k count=16 >&3 2>/dev/null\n"
                       f"while [ -e {file} ]; do sleep 0.1; done", 300)
    rnbd.wait_until(pair.machine, f"! timeout 1 dd if=/dev/zero of={file} bs=1 count=1", 30, "the database is full")


def wait_hanging(pair: Pair) -> None:
    rnbd.wait_until(pair.machine, "grep -qs pipe_write /proc/[0-9]*/stack", 30, "a command hangs")


def let_go(pair: Pair) -> None:
    file = f"{DATABASE}/aptpl_{_serial(pair.number)}"
    pair.machine.run(f"[ ! -p {file} ] || {{ timeout 1 cat {file} >/dev/null || true; rm {file}; }}")


def remove_disk(machine: Machine, number: int = 1, kind: str = MEMORY) -> None:
    disk = _disk(number, kind)
    lines = []
    for group, _ in _groups(number):
        lines += [f"rm -f {group}/lun/lun_0/disk", f"rmdir {group}/lun/lun_0 {group} $(dirname {group})"]
    machine.run("\n".join([*lines, f"rmdir {disk}"]), 90)


def remove(machine: Machine, kind: str = MEMORY) -> None:
    """After the last disk."""
    machine.run(f"rmdir {TARGET}/loopback {TARGET}/core/{kind}\nrmmod tcm_loop", 90)
