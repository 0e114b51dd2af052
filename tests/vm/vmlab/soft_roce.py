# SPDX-License-Identifier: GPL-2.0
"""Soft-RoCE of a machine, exchanged for one with a race of its own made wider: Debian's source with a patch."""

from __future__ import annotations

from pathlib import Path

from . import peers
from .lab import Lab
from .machine import Machine

NAME = "rdma_rxe"
FOLDER = "drivers/infiniband/sw/rxe"
PATCHES = Path(__file__).resolve().parent.parent / "kernels"


def exchange(lab: Lab, machine: Machine, patch: str) -> None:
    """Nothing uses the devices; they are there again afterwards, by the module that the patch makes."""
    module, = peers.build_external(lab.cache, lab.kernels[machine.name], NAME, [FOLDER], ("RDMA_RXE=m",), [NAME],
                                   PATCHES / patch)
    _load(machine, f"insmod {machine.put(module)}")


def restore(machine: Machine) -> None:
    _load(machine, f"modprobe {NAME}")


def _load(machine: Machine, command: str) -> None:
    machine.run(f"""
cards=
for device in /sys/class/infiniband/rxe*; do
    cards="$cards ${{device##*/}}:$(cat "$device/parent")"
    rdma link delete "${{device##*/}}"
done
rmmod {NAME}
{command}
for card in $cards; do
    rdma link add "${{card%:*}}" type rxe netdev "${{card#*:}}"
done""", 60)
