# SPDX-License-Identifier: GPL-2.0
"""The processors that machines can have: how QEMU emulates one, and how programs for it are compiled here.

The host's is amd64. Machines of another one are always emulated, and their /usr is made of that architecture's packages
(foreign.py), where those of the host's see the host's own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Arch:
    name: str  # Debian's, and that of make's variable ARCH if it is not the host's
    qemu: str
    machine: str
    tcg_cpu: str
    command_line: str
    cross: str = ""  # what the names of its compilers begin with

    @property
    def make(self) -> tuple[str, ...]:
        """Variables with which make builds modules for it."""
        return (f"ARCH={self.name}", f"CROSS_COMPILE={self.cross}") if self.cross else ()


# The kernel sees few surprises, and rep-string instructions are not emulated byte by byte.
AMD64 = Arch("amd64", "qemu-system-x86_64", "q35,usb=off,vmport=off,smbus=off,sata=off", "max,erms=off,fsrm=off",
             "console=ttyS0 no_timer_check")
# One that has the kernel's atomic instructions (LSE), and no pointer authentication, whose emulation is slow.
ARM64 = Arch("arm64", "qemu-system-aarch64", "virt,gic-version=3", "neoverse-n1", "console=ttyAMA0",
             "aarch64-linux-gnu-")
ARCHES = {arch.name: arch for arch in (AMD64, ARM64)}
