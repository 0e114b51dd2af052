# SPDX-License-Identifier: GPL-2.0
"""Linux's own SCSI target on one machine: a disk in memory whose persistent reservations are real, seen by two
initiators."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .machine import Machine

TARGET = "/sys/kernel/config/target"
DISK = f"{TARGET}/core/rd_mcp_0/disk"
PORTS = ("naa.5001405000000001", "naa.5001405000000003")  # each with an initiator of the next number


@dataclass
class Pair:
    """The disk as one initiator sees it, and as another does."""

    machine: Machine
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


def make_disk(machine: Machine, megabytes: int = 64) -> Pair:
    lines = ["modprobe -a sd_mod target_core_mod tcm_loop", "mkdir -p /var/target/pr", f"mkdir -p {DISK}",
             f"echo rd_pages={megabytes << 8} >{DISK}/control", f"echo rnbd-31 >{DISK}/wwn/vpd_unit_serial",
             f"echo 1 >{DISK}/enable"]
    for port in PORTS:
        group = f"{TARGET}/loopback/{port}/tpgt_1"
        lines += [f"mkdir -p {group}", f"echo {port[:-1]}{int(port[-1]) + 1} >{group}/nexus",
                  f"mkdir {group}/lun/lun_0", f"ln -s {DISK} {group}/lun/lun_0/disk"]
    # In the order in which they came.
    lines += ["i=0", "while [ $(ls -d /sys/block/sd* 2>/dev/null | wc -l) -lt 2 ] && [ $i -lt 50 ]; do sleep 0.2; "
              "i=$((i + 1)); done", "ls -tr -d /sys/block/sd* | sort -V | sed s:/sys/block:/dev:"]
    mine, other = machine.run("\n".join(lines), 90).split()
    return Pair(machine, mine, other)


def remove_disk(machine: Machine) -> None:
    lines = []
    for port in PORTS:
        group = f"{TARGET}/loopback/{port}/tpgt_1"
        lines += [f"rm -f {group}/lun/lun_0/disk", f"rmdir {group}/lun/lun_0 {group} {TARGET}/loopback/{port}"]
    machine.run("\n".join([*lines, f"rmdir {TARGET}/loopback {DISK} {TARGET}/core/rd_mcp_0", "rmmod tcm_loop"]), 90)
