# SPDX-License-Identifier: GPL-2.0
"""The five modules under test: built from this tree, or the kernel's own as an opaque peer.

The in-tree modules come from Debian's kernel source package. Their files are copied and compiled without
anybody looking at them: this project is written from its protocol document alone, so diagnostics of
that build never quote source lines.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from . import debian, make
from .cache import Cache, file_digest
from .kernel import INTREE, WANTED, Kernel, KernelError, closure, install_modules

NAMES = ("rtrs-core", "rtrs-client", "rtrs-server", "rnbd-client", "rnbd-server")
# And what comes along with ours.
OWN_TESTS = ("cxxrt-selftest",)
FOLDERS = ("drivers/infiniband/ulp/rtrs", "drivers/block/rnbd")
SYMBOLS = ("INFINIBAND_RTRS=m", "INFINIBAND_RTRS_CLIENT=m", "INFINIBAND_RTRS_SERVER=m",
           "BLK_DEV_RNBD=y", "BLK_DEV_RNBD_CLIENT=m", "BLK_DEV_RNBD_SERVER=m")


def find_ours(folder: Path, kernel: Kernel) -> list[Path]:
    """Our modules below a build folder; the newest of each name that was built for this kernel."""
    found: list[Path] = []
    other = ""
    for name in NAMES + OWN_TESTS:
        paths = folder.rglob(f"{name}.ko")
        for path in sorted(paths, key=lambda p: p.stat().st_mtime, reverse=True):
            magic = subprocess.run(["modinfo", "-F", "vermagic", str(path)], capture_output=True, text=True,
                                   check=False).stdout.split()
            if magic[:1] == [kernel.release]:
                found.append(path)
                break
            other = f"; {path} was built for {' '.join(magic[:1])}"
    if not found:
        raise KernelError(f"no modules for {kernel.release} below {folder}: run make first{other}")
    return found


def build_external(cache: Cache, kernel: Kernel, what: str, folders: list[str], symbols: tuple[str, ...],
                   names: list[str], patch: Path | None = None) -> list[Path]:
    """Modules of the kernel's source, as external ones, from these folders of it."""
    series = debian.series(kernel.release)
    if series not in debian.KERNELS:
        raise KernelError(f"no source of {what} is known for {kernel.release}")
    version = debian.source_version(series, kernel.version)

    def build(folder: Path) -> None:
        work = folder / "work"
        work.mkdir()
        root = kernel.root
        debian.unpack_source(series, version, folders, work, root.apt if root else ())
        if patch:
            subprocess.run(["patch", "-s", "-p1", "-d", str(work), "-i", str(patch)], check=True)
        (work / "Kbuild").write_text("".join(f"obj-m += {f}/\n" for f in folders), encoding="ascii")
        flags = " ".join(["-fno-diagnostics-show-caret", *(f"-I{work}/{f}" for f in folders)])
        if not make.run("-C", str(kernel.kdir), *kernel.arch.make, f"M={work}", f"KCFLAGS={flags}",
                        f"-j{os.cpu_count()}", *(f"CONFIG_{s}" for s in symbols), "modules", log=folder / "build.log",
                        within=root.enter if root else ()):
            log = Path(f"/tmp/rnbd-{what}-build.log")
            shutil.copy(folder / "build.log", log)
            raise KernelError(f"{what} of the kernel's source does not build: see {log}")
        for name in names:
            shutil.move(next(work.rglob(f"{name}.ko")), folder / f"{name}.ko")
        shutil.rmtree(work)

    entry = cache.entry(what, ["1", version, kernel.identity, *([file_digest(patch)] if patch else [])], build)
    return [entry / f"{name}.ko" for name in names]


def build_intree(cache: Cache, kernel: Kernel) -> list[Path]:
    """The in-tree modules for a kernel that lacks them (Debian leaves them out)."""
    return build_external(cache, kernel, "intree", list(FOLDERS), SYMBOLS, list(NAMES))


def module_tree(cache: Cache, kernel: Kernel, peer: str, folder: Path, root: Path) -> Path:
    """Root of a module tree for one machine whose modules under test are `peer`: ours (below `folder`) or
    intree."""
    shutil.rmtree(root, ignore_errors=True)
    wanted = list(WANTED)
    extra: list[Path] = []
    if peer == "ours":
        extra = find_ours(folder, kernel)
    elif kernel.version:
        extra = build_intree(cache, kernel)
    else:
        wanted += INTREE
    install_modules(kernel.modules, closure(kernel.modules, wanted), extra, root)
    return root
