# SPDX-License-Identifier: GPL-2.0
"""Clients that share a disk: a session each, of one machine or another, and an area of the disk each to write to."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from . import fio, rnbd
from .lab import Lab
from .machine import Machine

BLOCKS = 128  # of 64 KiB, the area of each writer


@dataclass
class Client:
    """A session of one of the machines with the server."""

    lab: Lab
    machine: Machine
    session: str
    disk: str = ""

    def text(self, device: str, mode: str) -> str:
        source, server = self.machine.address(0), self.lab.server.address(0)
        return f"sessname={self.session} path=ip:{source}@ip:{server} device_path={device} access_mode={mode}"

    def map(self, device: str, mode: str) -> str:
        rnbd.write(self.machine, f"{rnbd.CTL}/map_device", self.text(device, mode))
        link = f"{rnbd.CTL}/devices/{device.replace('/', '!')}@{self.session}"
        self.disk = self.machine.run(f"basename $(readlink -f {shlex.quote(link)})").strip()
        rnbd.equal(rnbd.read(self.machine, f"/sys/block/{self.disk}/rnbd/access_mode"), mode, "access_mode")
        return self.disk

    def refused(self, device: str, mode: str, want: str) -> None:
        got = rnbd.write_error(self.machine, f"{rnbd.CTL}/map_device", self.text(device, mode))
        rnbd.equal(got, want, f"mapping {device} {mode} in session {self.session}")

    def unmap(self, how: str = "normal") -> None:
        rnbd.write(self.machine, f"/sys/block/{self.disk}/rnbd/unmap_device", how)

    def put(self, file: str, area: int, count: int = BLOCKS) -> str:
        """A script that fills an area with the beginning of a file."""
        return (f"dd if={file} of=/dev/{self.disk} bs=64k count={count} seek={area * BLOCKS} oflag=direct "
                "iflag=fullblock 2>/dev/null")

    def same(self, file: str, area: int, count: int = BLOCKS) -> None:
        self.machine.run(f"dd if=/dev/{self.disk} bs=64k count={count} skip={area * BLOCKS} iflag=direct 2>/dev/null |"
                         f" cmp -n {count << 16} - {file}", 120)

    def verify(self, area: int, size: str = "1m") -> str:
        return fio.verify_command(f"/dev/{self.disk}", "4k", 8, size, offset=area * BLOCKS << 16)
