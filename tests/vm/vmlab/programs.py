# SPDX-License-Identifier: GPL-2.0
"""Programs of Debian's packages in a machine, over what the host has in /usr, with this project's program, agents and
rules for udev, and with udev. They are not installed on the host, whose services would start: they are unpacked into
the cache."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from . import debian, make
from .admin import PROGRAM
from .cache import Cache, digest
from .lab import Lab
from .machine import Machine

# What pcs's daemon needs, which is not used: there is one administrator here.
UNUSED = ("ruby", "libruby", "puma", "python3-boto", "python3-s3", "python3-suds")

INSTALL = r"""
if [ -e /run/programs ]; then
    umount -l /usr/lib/modules
    umount -l /usr
    rm -rf /run/programs
fi
mkdir -p /run/programs/usr/sbin /run/programs/usr/lib/ocf/resource.d/rnbd /run/modules /etc/udev/rules.d /run/lock
ln -sfn /run /var/run
[ ! -e /share/programs.tar ] || tar -xmf /share/programs.tar -C /run/programs
cp /share/rnbd-disk /share/rnbd-export /share/rnbd-mirror /run/programs/usr/lib/ocf/resource.d/rnbd
cp /share/rnbdadm /run/programs/usr/sbin
cp /share/60-rnbd.rules /etc/udev/rules.d
mount --bind /usr/lib/modules /run/modules
mount -t overlay -o lowerdir=/run/programs/usr:/usr usr /usr
mount --bind /run/modules /usr/lib/modules
pgrep -x systemd-udevd >/dev/null || /usr/lib/systemd/systemd-udevd --daemon
"""


def unpacked(cache: Cache, wanted: Sequence[str]) -> Path:
    """An archive of everything that these packages bring; `usr` is its only folder."""
    install = ["apt-get", "-y", "-q", "--no-install-recommends", "-o", "APT::Sandbox::User=root",
               "-o", "Debug::NoLocking=1"]
    # What is installed on the host is there already.
    missing = [line.split()[1] for line in debian.output(*install, "install", "--print-uris", *wanted).splitlines()
               if line.startswith("'")]

    def build(folder: Path) -> None:
        debs, tree = folder / "debs", folder / "tree"
        (debs / "partial").mkdir(parents=True)
        (tree / "usr").mkdir(parents=True)
        done = subprocess.run([*install, "-o", f"Dir::Cache::archives={debs}", "install", "--download-only", *wanted],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise debian.KernelError(f"can't download {' '.join(wanted)}:\n{done.stdout[-1000:]}")
        for deb in sorted(debs.glob("*.deb")):
            if not deb.name.startswith(UNUSED):
                subprocess.run(["dpkg-deb", "-x", str(deb), str(tree)], check=True)
        for name in ("lib", "sbin", "bin"):  # in a Debian that has packages for such folders outside of /usr
            if (tree / name).is_dir():
                (tree / "usr" / name).mkdir(exist_ok=True)
                subprocess.run(["cp", "-r", f"{tree / name}/.", str(tree / "usr" / name)], check=True)
        subprocess.run(["tar", "-C", str(tree), "--exclude=usr/share/doc", "--exclude=usr/share/man",
                        "--exclude=usr/share/locale", "-cf", str(folder / "programs.tar"), "usr"], check=True)
        for rest in (debs, tree):
            subprocess.run(["rm", "-r", str(rest)], check=True)

    return cache.entry("programs", ["2", digest(sorted(missing))], build) / "programs.tar"


def install(lab: Lab, machine: Machine, wanted: Sequence[str] = ()) -> None:
    """`rnbdadm` is found by its name then, and disks by the names that udev makes."""
    top = make.TOP / "packaging"
    files = [PROGRAM, *(top / "ocf").iterdir(), top / "etc/60-rnbd.rules", top / "systemd/rnbd-server"]
    machine.run("rm -f /share/programs.tar")
    for file in files + ([unpacked(lab.cache, wanted)] if wanted else []):
        machine.put(file)
    machine.run(INSTALL, 120)
