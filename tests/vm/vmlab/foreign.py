# SPDX-License-Identifier: GPL-2.0
"""Packages of another architecture than the host's: lists of their own for the package client, and a /usr made of them.

Nothing is installed, and the host's own lists stay as they are: dpkg --add-architecture is not needed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from .arch import Arch
from .cache import Cache
from .debian import KernelError
from .debian_root import Root

LISTS = "var/lib/apt/lists"
# What scenarios call or copy, as deps.sh installs it on the host, and what every host has.
PROGRAMS = """
busybox-static klibc-utils fio e2fsprogs fdisk parted iproute2 dmsetup util-linux procps dash coreutils xfsprogs lvm2
mdadm cryptsetup-bin rdma-core kmod bash grep sed mawk findutils diffutils mount hostname git linux-libc-dev
""".split()


def _options(folder: Path, arch: Arch) -> tuple[str, ...]:
    values = {"APT::Architecture": arch.name, "APT::Architectures": arch.name, "Dir::State": f"{folder}/state",
              "Dir::State::status": f"{folder}/status", "Dir::Cache": f"{folder}/cache",
              # The cache may be closed to apt's own user.
              "APT::Sandbox::User": "root"}
    return tuple(word for name, value in values.items() for word in ("-o", f"{name}={value}"))


def _apt(*words: str, cwd: Path | None = None) -> str:
    done = subprocess.run(["apt-get", "-q", *words], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise KernelError(f"apt-get {words[-1]}:\n{(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


def lists(cache: Cache, arch: Arch, root: Root | None = None) -> tuple[str, ...]:
    """Options with which the package client sees the packages of that architecture, and no others: those of the host's
    release, or of the root of another one. The lists are read anew when those of the host, or root, have become
    newer."""
    base = root.apt if root else ()

    def build(folder: Path) -> None:
        for name in ("state/lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()
        _apt(*base, *_options(folder, arch), "update")

    where = (root.folder if root else Path("/")) / LISTS
    known = sorted(f"{p.name} {p.stat().st_mtime_ns}" for p in where.glob("*InRelease"))
    return (*base, *_options(cache.entry(f"lists-{arch.name}", ["1", *known], build), arch))


def usr(cache: Cache, arch: Arch) -> Path:
    """/usr of a machine: packages with all that they depend on, unpacked; none of their scripts has run."""
    for program in (arch.qemu, f"{arch.cross}g++"):
        if not shutil.which(program):
            raise KernelError(f"no {program}: run tests/vm/deps.sh {arch.name}")
    apt = lists(cache, arch)
    install = (*apt, "-y", "--no-install-recommends", "install", *PROGRAMS)
    wanted = sorted(line.split(" ", 1)[1] for line in _apt("-s", *install).splitlines() if line.startswith("Inst "))

    def build(folder: Path) -> None:
        print(f"fetching programs of {arch.name} machines ({len(wanted)} packages)", file=sys.stderr, flush=True)
        debs = folder / "debs"
        (debs / "partial").mkdir(parents=True)
        _apt("-o", f"Dir::Cache::archives={debs}", "--download-only", *install)
        for name in ("bin", "sbin", "lib"):
            (folder / "usr" / name).mkdir(parents=True)
            (folder / name).symlink_to(f"usr/{name}")
        for deb in sorted(debs.glob("*.deb")):
            with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as files:
                subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", str(folder), "--exclude=./usr/share/doc",
                                "--exclude=./usr/share/man", "--exclude=./usr/share/locale"], stdin=files.stdout,
                               check=True)
            if files.returncode:
                raise KernelError(f"{deb.name} does not unpack")
            deb.unlink()
        (folder / "usr/lib/modules").mkdir(exist_ok=True)
        (folder / "usr/bin/awk").symlink_to("mawk")

    return cache.entry(f"programs-{arch.name}", ["1", *wanted], build) / "usr"


