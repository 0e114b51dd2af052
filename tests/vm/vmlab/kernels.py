# SPDX-License-Identifier: GPL-2.0
"""The kernels that a laboratory can be asked for by name, and which of them each machine runs.

    stock                   Debian's, of the headers that are installed
    6.12                    another series of Debian's (debian.py)
    debug, kcsan, uml       built here (kernel_build.py)

A pair of two kernels is one of Debian's on either side: what the harness knows of a kind (limits of time, what its
devices can do) holds for both machines then.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from . import debian, kernel, kernel_build
from .cache import Cache
from .debian import KernelError
from .kernel import Kernel

NAMES = ("stock", *(name for name, series in debian.KERNELS.items() if not series.installed), *kernel_build.RECIPES)


def canonical(name: str) -> str:
    """A kernel by the name of its series, too, when that is the installed one."""
    return "stock" if name in debian.KERNELS and debian.KERNELS[name].installed else name


def is_debian(name: str) -> bool:
    return name not in kernel_build.RECIPES


def same(names: Mapping[str, str]) -> str:
    """The name of a pair of machines, by the kernel of each role."""
    if len(set(names.values())) == 1:
        return next(iter(names.values()))
    if not all(is_debian(name) for name in names.values()):
        raise ValueError("two kernels that differ must both be Debian's: " + ", ".join(names.values()))
    return "-".join(names.values())


def kdir(cache: Cache, name: str, given: Path | None = None) -> Path:
    """The folder to build modules against; minutes when it has to be built first."""
    if name == "stock":
        return kernel.stock(cache, given).kdir
    if name in kernel_build.RECIPES:
        return given or kernel_build.build(cache, name)
    return debian.kdir(cache, debian.newest_headers(name))


def find(cache: Cache, name: str, given: Path | None = None) -> Kernel:
    """The kernel; `given` are other headers, or a build folder, than it would be looked up."""
    if name == "stock":
        return kernel.stock(cache, given)
    if name in kernel_build.RECIPES:
        recipe = kernel_build.RECIPES[name]
        folder = kdir(cache, name, given)
        return kernel.from_build(cache, name, folder, folder / recipe.image, list(recipe.arch))
    if given:
        raise KernelError(f"the headers of {name} are fetched, none can be given")
    headers = debian.newest_headers(name)
    return kernel.from_package(cache, debian.kdir(cache, headers), headers.release, headers.version)


def neighbours_known(role: str, releases: Mapping[str, str], client_is_ours: bool) -> bool:
    """Must a machine know its neighbours beforehand? The RDMA core of 6.1 loses an answer to ARP that comes at once,
    and the in-tree client then sits out its whole timeout, half a minute. Nobody else may. In soft-RoCE of 6.12, what
    the connection manager sends to a known neighbour over a cable that is out leaves the device's GSI queue pair in
    state ERR for good, and no connect over it is answered any more."""
    return not client_is_ours and {debian.series(releases[r]) for r in (role, "client")} == {"6.1"}
