# SPDX-License-Identifier: GPL-2.0
"""The newest headers of each of Debian's suites: the modules are built against them, and not run.

Whoever updates a machine gets them before any plan has run there. Compilers and lists are those of a root for each
release (debian_root.py); nothing of a kernel is kept.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from . import debian, debian_root
from .cache import Cache
from .debian import KernelError, Release
from .debian_root import Root

# All that have kernels from 6.1 on; the last is testing.
RELEASES = (debian.BOOKWORM, replace(debian.TRIXIE, kernels=debian.TRIXIE.name),
            Release("forky", "forky", (*debian.BUILDS, "gcc-15", "g++-15")))
FLAVOURS = ("amd64", "rt-amd64", "cloud-amd64")


@dataclass(frozen=True)
class Found:
    meta: str  # name=version
    suite: str


def read_lists(root: Root) -> None:
    """Of the release, its security updates and its backports, as far as the mirrors have them."""
    name = root.release.name
    more = [(place, f"{name}-backports") for place in debian_root.mirror()]
    more += [(place, f"{name}-security") for place in debian_root.mirror("Debian-Security")]
    for place, suite in more:
        folder = root.folder / "etc/apt/sources.list.d"
        folder.mkdir(exist_ok=True)
        (folder / f"{suite}.list").write_text(f"deb {place} {suite} main\n", encoding="utf-8")
    root.refresh()


def newest(madison: str, package: str) -> list[Found]:
    """Of what `apt-cache madison` says, the newest version in each suite."""
    found: dict[str, Found] = {}
    for line in madison.splitlines():
        name, version, where = (part.strip() for part in line.split("|"))
        suite = where.split()[1].partition("/")[0]
        if name == package and "Packages" in where:  # it begins with the newest
            found.setdefault(suite, Found(f"{package}={version}", suite))
    return list(found.values())


def headers(root: Root) -> Iterator[tuple[debian.Headers, str]]:
    """Each once, with the suite that has it."""
    seen = set()
    for flavour in FLAVOURS:
        package = f"linux-headers-{flavour}"
        for found in newest(debian.output("apt-cache", *root.apt, "madison", package), package):
            what = debian.headers_of(found.meta, root.apt)
            if what not in seen:
                seen.add(what)
                yield what, found.suite


def build(root: Root, what: debian.Headers, logs: Path) -> Path | None:
    """What users build. Returns the log if that failed."""
    log = logs / f"{what.release}.log"
    with tempfile.TemporaryDirectory(prefix="rnbd-headers-") as folder:
        kdir = debian.unpack_headers(what, Path(folder), root.apt, root.apt)
        with log.open("w", encoding="utf-8") as out:
            done = subprocess.run([*root.enter, "make", "-s", f"-j{os.cpu_count()}", f"KDIR={kdir}", "modules"],
                                  env={**os.environ, "MAKEFLAGS": ""}, cwd=debian_root.TOP, stdout=out,
                                  stderr=subprocess.STDOUT, check=False)
    return log if done.returncode else None


def run(cache: Cache, names: list[str], logs: Path) -> tuple[list[str], int]:
    """Prints a line for each; returns the releases of the kernels, and how many failed."""
    logs.mkdir(parents=True, exist_ok=True)
    releases, failed = [], 0
    for release in RELEASES:
        if names and release.name not in names:
            continue
        root = debian_root.of(cache, release)
        read_lists(root)
        for what, suite in headers(root):
            releases.append(what.release)
            try:
                log = build(root, what, logs)
            except KernelError as error:
                log = logs / f"{what.release}.log"
                log.write_text(f"{error}\n", encoding="utf-8")
            print(f"{'FAIL' if log else 'ok  '} {what.release:<28} {what.version:<24} {suite}", flush=True)
            if log:
                failed += 1
                print("     " + "     ".join(log.read_text(encoding="utf-8").splitlines(keepends=True)[-20:]))
    return releases, failed
