# SPDX-License-Identifier: GPL-2.0
"""The kernels that a laboratory can be asked for by name, and which of them each machine runs.

    stock                   Debian's, of the headers that are installed
    6.12, 7.3               other series of Debian's (debian.py), the latter of another release (debian_root.py)
    arm64, arm64-7.3 ...    Debian's of another architecture, on machines of that one (arch.py, foreign.py)
    debug, kcsan, uml       built here (kernel_build.py)
    tree                    built or unpacked by whoever asks for it, --kernel-tree (kernel.py)

A pair of two kernels is one of Debian's on either side: what the harness knows of a kind (limits of time, what its
devices can do) holds for both machines then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from . import debian, debian_root, foreign, kernel, kernel_build
from .arch import AMD64
from .cache import Cache
from .debian import KernelError
from .kernel import Kernel

TREE = "tree"
NAMES = ("stock", *(name for name, series in debian.KERNELS.items() if not series.installed), *kernel_build.RECIPES)


def canonical(name: str) -> str:
    """A kernel by the name of its series, too, when that is the installed one."""
    return "stock" if name in debian.KERNELS and debian.KERNELS[name].installed else name


def plan(name: str) -> str:
    """The plan of scenarios of a kernel."""
    if name == TREE or name in series():
        return "stock" if name == "stock" else "series"
    return name.partition("-")[0]  # of another architecture one serves all series


def series() -> tuple[str, ...]:
    """The series of Debian's kernels for this architecture, by the names that they have here, the oldest first."""
    return tuple(canonical(name) for name, s in sorted(debian.KERNELS.items(), key=_number) if s.arch is AMD64)


def newer() -> str:
    """The series after the host's own, to which its machines are updated."""
    names = series()
    return names[names.index("stock") + 1]


def _number(item: tuple[str, object]) -> tuple[int, ...]:
    return tuple(int(part) for part in item[0].split(".") if part.isdigit())


def is_debian(name: str) -> bool:
    return name != TREE and name not in kernel_build.RECIPES


def same(names: Mapping[str, str]) -> str:
    """The name of a pair of machines, by the kernel of each role."""
    if len(set(names.values())) == 1:
        return next(iter(names.values()))
    if not all(is_debian(name) for name in names.values()):
        raise ValueError("two kernels that differ must both be Debian's: " + ", ".join(names.values()))
    return "-".join(names.values())


def kdir(cache: Cache, name: str, given: Path | None = None) -> Path:
    """The folder to build modules against; minutes when it has to be built first. Of a release of Debian other than
    the host's it is the newest there is; what runs takes the one that was asked for last."""
    if name == "stock" or (name == TREE and given):
        return find(cache, name, given).kdir
    if name in kernel_build.RECIPES:
        return given or kernel_build.build(cache, name)
    root = debian_root.find(cache, name)
    if root:
        root.refresh()
    return _headers(cache, name)[1]


def _lists(cache: Cache, name: str) -> tuple[str, ...]:
    """Options of the package client for the packages of a kernel."""
    arch = debian.KERNELS[name].arch
    root = debian_root.find(cache, name)
    if arch is not AMD64:
        return foreign.lists(cache, arch, root)
    return root.apt if root else ()


def _headers(cache: Cache, name: str) -> tuple[debian.Headers, Path]:
    """Those of one of Debian's series, and the folder to build modules against."""
    apt = _lists(cache, name)
    headers = debian.newest_headers(name, apt)
    root = debian_root.find(cache, name)
    return headers, debian.kdir(cache, headers, apt, root.apt if root else ())


def find(cache: Cache, name: str, given: Path | None = None) -> Kernel:
    """The kernel; `given` are other headers, or a build folder, than it would be looked up."""
    if name == "stock":
        return kernel.stock(cache, given)
    if name == TREE and given:
        return kernel.from_tree(cache, given)
    if name in kernel_build.RECIPES:
        recipe = kernel_build.RECIPES[name]
        folder = kdir(cache, name, given)
        return kernel.from_build(cache, name, folder, folder / recipe.image, list(recipe.arch))
    if given:
        raise KernelError(f"the headers of {name} are fetched, none can be given")
    headers, folder = _headers(cache, name)
    found = kernel.from_package(cache, folder, headers.release, headers.version, _lists(cache, name))
    arch = debian.KERNELS[name].arch
    found = replace(found, root=debian_root.find(cache, name))
    return found if arch is AMD64 else replace(found, arch=arch, usr=foreign.usr(cache, arch))


def neighbours_known(role: str, releases: Mapping[str, str], client_is_ours: bool) -> bool:
    """Must a machine know its neighbours beforehand? The RDMA core of 6.1 loses an answer to ARP that comes at once,
    and the in-tree client then sits out its whole timeout, half a minute. Nobody else may. In soft-RoCE of 6.12, what
    the connection manager sends to a known neighbour over a cable that is out leaves the device's GSI queue pair in
    state ERR for good, and no connect over it is answered any more."""
    return not client_is_ours and {debian.series(releases[r]) for r in (role, "client")} == {"6.1"}
