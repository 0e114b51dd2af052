# SPDX-License-Identifier: GPL-2.0
"""The first file system of a QEMU machine: busybox, the modules that mount the rest, and two scripts.

Everything else that a scenario runs is the host's own /usr, or one of the machine's architecture, mounted read-only:
there is no disk image to build. The archive is written here in the newc format (Documentation/driver-api/
early-userspace/buffer-format.rst of the kernel), uncompressed, since unpacking costs an emulated CPU more than reading.
"""

from __future__ import annotations

import stat
from pathlib import Path

from . import make
from .arch import AMD64, Arch
from .kernel import Kernel, closure

BUSYBOX = Path("/usr/bin/busybox")
GUEST = Path(__file__).resolve().parent.parent / "guest"
NETWORK = GUEST / "network"
MOUNTS = GUEST / "installed"
# Before all else in PATH: what scripts call most, from a package in which a program takes a third of the time to start.
QUICK = {name: f"/usr/lib/klibc/bin/{name}" for name in ("cat", "sleep", "true")}


class Archive:
    """A newc cpio archive in memory."""

    def __init__(self) -> None:
        self._out = bytearray()
        self._ino = 0

    def _entry(self, name: str, mode: int, data: bytes = b"") -> None:
        self._ino += 1
        raw = name.encode() + b"\0"
        fields = [self._ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0]
        self._out += b"070701" + b"".join(b"%08X" % f for f in fields)
        self._out += raw
        self._pad()
        self._out += data
        self._pad()

    def _pad(self) -> None:
        self._out += bytes(-len(self._out) % 4)

    def folder(self, name: str) -> None:
        self._entry(name, stat.S_IFDIR | 0o755)

    def link(self, name: str, target: str) -> None:
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def file(self, name: str, data: bytes, mode: int = 0o755) -> None:
        self._entry(name, stat.S_IFREG | mode, data)

    def write(self, path: Path) -> None:
        self._entry("TRAILER!!!", 0)
        path.write_bytes(self._out)


ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "group": "root:x:0:\n",
    "hosts": "127.0.0.1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


def agent(arch: Arch = AMD64) -> Path:
    """The program that runs scripts in every kind of machine."""
    return make.programs("agent", arch) / "agent"


def folders(archive: Archive) -> None:
    for name in ("dev", "proc", "sys", "tmp", "run", "usr", "share", "mnt", "etc", "root", "var", "bb", "early",
                 "quick"):
        archive.folder(name)
    for name, target in QUICK.items():
        archive.link(f"quick/{name}", target)
    for name in ("bin", "sbin", "lib", "lib64"):
        archive.link(name, f"usr/{name}")
    for name, text in ETC.items():
        archive.file(f"etc/{name}", text.encode(), 0o644)
    archive.link("etc/mtab", "/proc/self/mounts")


def build(kernel: Kernel, path: Path, early: list[str]) -> None:
    """The archive; `early` modules are loaded before /usr is there."""
    archive = Archive()
    folders(archive)
    archive.file("bb/busybox", (kernel.usr / BUSYBOX.relative_to("/usr")).read_bytes())
    for file in (GUEST / "init", MOUNTS, NETWORK, agent(kernel.arch)):
        archive.file(file.name, file.read_bytes())
    for n, module in enumerate(closure(kernel.modules, early)):
        archive.file(f"early/{n:02}.ko", (kernel.modules / module).read_bytes(), 0o644)
    archive.write(path)
