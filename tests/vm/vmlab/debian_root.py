# SPDX-License-Identifier: GPL-2.0
"""Another release of Debian in a folder of the cache, for kernels whose packages the host's release does not have.

It serves two ends. Its package lists say what there is, to the host's own package client. And what builds modules
for these kernels runs in it: their gcc, and the programs of their headers, which want a newer C library. Nothing is
installed on the host.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from . import debian
from .cache import Cache
from .debian import KernelError, Release

TOP = Path(__file__).resolve().parents[3]
# Of the host, at the same places within: what programs need of the kernel, where they leave files, and this tree.
SEEN = (Path("/proc"), Path("/sys"), Path("/dev"), Path("/tmp"), TOP)


@dataclass(frozen=True)
class Root:
    folder: Path
    release: Release
    cache: Path

    @property
    def apt(self) -> tuple[str, ...]:
        """Options with which the host's package client reads the lists of this root, and those of no other."""
        places = {"Dir::Etc": "etc/apt", "Dir::State": "var/lib/apt", "Dir::State::status": "var/lib/dpkg/status",
                  "Dir::Cache": "var/cache/apt"}
        values = {name: str(self.folder / place) for name, place in places.items()}
        # The kernels' suite goes before the release that it builds upon. The cache may be closed to apt's own user.
        values |= {"APT::Default-Release": self.release.kernels, "APT::Sandbox::User": "root"}
        return tuple(word for name, value in values.items() for word in ("-o", f"{name}={value}"))

    @property
    def enter(self) -> tuple[str, ...]:
        """Before a command: it runs in the root, in the folder that it is called in, with the host's environment. As
        root of the machine. Mounts end with it."""
        mounts = [f'mkdir -p "$root"{p} && mount --rbind {p} "$root"{p}'
                  for p in (shlex.quote(str(path)) for path in (*SEEN, self.cache))]
        inside = 'cd "$0" && exec "$@"'
        script = " && ".join(["root=$1", "shift", *mounts,
                              f'exec chroot "$root" /bin/sh -c {shlex.quote(inside)} "$PWD" "$@"'])
        return ("unshare", "--mount", "--propagation", "private", "env", "LC_ALL=C.UTF-8", "sh", "-c", script, "root",
                str(self.folder))

    def refresh(self) -> None:
        """Reads the lists of packages anew. Without a network the old ones remain."""
        done = subprocess.run(["apt-get", "-q", *self.apt, "update"], capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"the lists of {self.release.kernels} can't be read anew:\n{done.stdout}{done.stderr}",
                  file=sys.stderr)


def make_flags(flags: str) -> str:
    """What make hands on, for another release's make: as many jobs, but of its own. make 4.4 speaks to its children by
    a named pipe, of which 4.3 knows nothing, and ends."""
    return " ".join(word for word in flags.split(" ") if not word.startswith("--jobserver"))


def mirror(label: str = "Debian") -> list[str]:
    """Where the host gets Debian from, or its security updates ("Debian-Security"); empty: nowhere."""
    places = debian.output("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
                           "Origin: Debian", f"Label: {label}")
    return places.split()[:1]


def find(cache: Cache, name: str) -> Root | None:
    """The root of a series of kernels; None for one that the host's own release has."""
    release = debian.KERNELS[name].release
    return of(cache, release) if release else None


def of(cache: Cache, release: Release) -> Root:
    """The root of a release, made when the cache has none (a minute). Its lists are as old as it is, or as the last
    refresh()."""
    def build(folder: Path) -> None:
        if os.geteuid():
            raise KernelError(f"modules are built in a root of Debian {release.name}: be root")
        if not shutil.which("debootstrap"):
            raise KernelError("no debootstrap: run tests/vm/deps.sh, or install it")
        print(f"making a root of Debian {release.name} (a minute)", file=sys.stderr, flush=True)
        where = mirror()  # none: debootstrap knows a place
        # In a namespace of its own, with which whatever it mounts ends.
        done = subprocess.run(["unshare", "--mount", "--propagation", "private", "debootstrap", "--variant=minbase",
                               f"--include={','.join(release.programs)}", release.name, str(folder), *where],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise KernelError(f"no root of Debian {release.name}:\n{done.stdout[-1000:]}")
        lists = folder / "etc/apt/sources.list"
        kind, place = lists.read_text(encoding="utf-8").split()[:2]
        suites = dict.fromkeys((release.name, release.kernels))
        lists.write_text("".join(f"{kind} {place} {suite} main\n" for suite in suites), encoding="utf-8")
        Root(folder, release, cache.root).refresh()

    entry = cache.entry("root", ["1", release.name, release.kernels, *release.programs], build)
    return Root(entry, release, cache.root)
