# SPDX-License-Identifier: GPL-2.0
"""The project's packages on an installed system (system.py), by dpkg, with all that it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import rnbd
from .kernel import Kernel
from .lab import ROOT, Lab
from .peers import NAMES, find_ours

PROGRAM = "/usr/sbin/rnbdadm"
# What dkms of Debian 12, and of 13, says of a kernel without headers.
NO_HEADERS = ("headers for this kernel do not seem", "No kernel headers were found")


def package(name: str) -> Path:
    found = sorted((ROOT / "build/deb").glob(f"{name}_*.deb"))
    rnbd.check(len(found) == 1, f"build/deb has no {name}: run make deb")
    return found[0]


def install(lab: Lab, roles: Sequence[str]) -> None:
    """Only the compiler is spared an emulated CPU: DKMS finds the modules built."""
    jobs = []
    for role in roles:
        machine = lab.machines[role]
        debs = " ".join(machine.put(package(name)) for name in ("rnbdadm", "rnbd-dkms"))
        jobs.append((machine, machine.spawn(f"dpkg -i {debs}\n{built(lab, role, lab.kernels[role])}", 240)))
    for machine, job in jobs:
        result = machine.wait(job)
        rnbd.check(result.ok, f"installation on the {machine.name}: {result.out[-1500:]}")
        rnbd.check(any(words in " ".join(result.out.split()) for words in NO_HEADERS), "no word about headers")


def built(lab: Lab, role: str, wanted: Kernel) -> str:
    """A script that lets DKMS install the modules of a kernel, which it finds built."""
    machine, tree = lab.machines[role], f"/var/lib/dkms/rnbd/$version/{wanted.release}/x86_64"
    folder = lab.options.modules or ROOT / "build" / wanted.release
    modules = " ".join(machine.put(p) for p in find_ours(folder, wanted) if p.stem in NAMES)
    return ("version=$(dpkg-query -W -f '${Version}' rnbd-dkms)\n"
            f"mkdir -p {tree}/module {tree}/log\ncp {modules} {tree}/module/\n"
            f"dkms install -m rnbd -v $version -k {wanted.release}\n"
            f"dkms status -m rnbd -k {wanted.release} | grep -q ': installed'\n"
            f"modinfo -k {wanted.release} -F filename rnbd_client | grep -q updates/dkms")
