# SPDX-License-Identifier: GPL-2.0
"""Builds the debug kernels from Debian's kernel source package, of the series that is installed, once for each key.

Source and build folder stay in the cache: external modules are built against them. The key of a build
is the source package's version, the configuration and the compiler, so a security update of the
package or an edit of a fragment builds anew, and nothing else does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from . import make
from .cache import Cache, digest, file_digest
from .debian import KERNELS, KernelError

CONFIGS = Path(__file__).resolve().parents[1] / "kernels"


def installed_series(folder: Path = Path("/usr/src")) -> str:
    """The series whose source is installed: Debian 12's, or 13's (deps.sh brings that of the host's release)."""
    return next((name for name, series in KERNELS.items() if (folder / f"{series.source}.tar.xz").is_file()), "6.1")


@dataclass(frozen=True)
class Recipe:
    fragments: tuple[str, ...]
    arch: tuple[str, ...]  # variables of every make call
    targets: tuple[str, ...]
    image: str
    own: tuple[str, ...] = ()  # variables of the kernel's own build, which modules are built without


X86 = ((), ("bzImage", "modules"), "arch/x86/boot/bzImage")
RECIPES = {
    "debug": Recipe(("x86.config", "x86-debug.config"), *X86),
    # Only the modules under test are instrumented: no reports about others' races, and a fast kernel.
    "kcsan": Recipe(("x86.config", "x86-kcsan.config"), *X86, own=("KCSAN_SANITIZE=n",)),
    "uml": Recipe(("uml.config", "uml-debug.config"), ("ARCH=um", "SUBARCH=x86_64"), ("linux", "modules"),
                  "linux"),
}
# One source tree serves all.
PATCHES = ("uml-xstate.patch", "uml-faults.patch", "rxe-timers.patch")
MORE_PATCHES = {"6.12": ("uml-vector.patch", "kasan-quarantine.patch", "rxe-gsi.patch")}  # of one series


def fragments_of(recipe: Recipe, series: str) -> list[Path]:
    """The recipe's, then those of the same names for a series, where it differs: the last word on an option counts."""
    own = [CONFIGS / f"{Path(name).stem}-{series}.config" for name in recipe.fragments]
    return [*(CONFIGS / name for name in recipe.fragments), *(path for path in own if path.is_file())]


def _source(cache: Cache, series: str, patches: list[Path]) -> tuple[Path, str]:
    package = KERNELS[series].source
    tarball = Path(f"/usr/src/{package}.tar.xz")
    if not tarball.is_file():
        raise KernelError(f"no {tarball}: run tests/vm/deps.sh, or install {package}")
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True,
                          text=True, check=True)
    version = done.stdout.strip()

    def unpack(folder: Path) -> None:
        subprocess.run(["tar", "-xf", str(tarball), "--strip-components=1", "-C", str(folder)], check=True)
        for patch in patches:
            subprocess.run(["patch", "-s", "-p1", "-d", str(folder), "-i", str(patch)], check=True)

    return cache.entry("linux-source", ["1", version, *(file_digest(p) for p in patches)], unpack), version


def build(cache: Cache, kind: str) -> Path:
    """The build folder of the kernel; minutes when it is not in the cache yet."""
    recipe = RECIPES[kind]
    series = installed_series()
    source, version = _source(cache, series, [CONFIGS / name for name in (*PATCHES, *MORE_PATCHES.get(series, ()))])
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout
    fragments = fragments_of(recipe, series)
    key = ["1", version, compiler, str(source), *recipe.arch, *recipe.own, *(file_digest(f) for f in fragments)]

    def build_it(folder: Path) -> None:
        _prune(cache, kind, key)  # here, where the cache's lock is held: nobody else builds this kind now
        # Not in `folder`, which will be renamed: a build folder has its own path written into it.
        print(f"building the {kind} kernel (about 15 minutes on two cores)", file=sys.stderr, flush=True)
        place = _place(cache, kind, key)
        place.mkdir(parents=True, exist_ok=True)
        merged = place / "fragments"
        merged.write_text("".join(f.read_text(encoding="ascii") for f in fragments), encoding="ascii")
        common = ["-s", "-C", str(source), f"O={place}", *recipe.arch, *recipe.own]
        log = place / "build.log"
        log.unlink(missing_ok=True)
        for step, variables in ((["allnoconfig"], {"KCONFIG_ALLCONFIG": str(merged)}),
                                ([f"-j{os.cpu_count()}", *recipe.targets], {})):
            if not make.run(*common, *step, log=log, **variables):
                tail = log.read_text(encoding="utf-8", errors="replace")[-2000:]
                raise KernelError(f"the {kind} kernel does not build:\n{tail}")
            if step == ["allnoconfig"] and (lost := unmet(merged.read_text(encoding="ascii"),
                                                          (place / ".config").read_text(encoding="utf-8"))):
                raise KernelError(f"the {kind} kernel's configuration lacks {', '.join(lost)}: "
                                  "something that these depend on is missing in kernels/")
        (folder / "place").write_text(str(place), encoding="utf-8")

    entry = cache.entry(f"kernel-build-{kind}", key, build_it)
    return Path((entry / "place").read_text(encoding="utf-8"))


def unmet(fragments: str, config: str) -> list[str]:
    """What the fragments ask for and the configuration does not have; Kconfig drops it without a word."""
    have = set(config.splitlines())
    wanted = {}
    for line in fragments.splitlines():
        if line.startswith("CONFIG_"):
            wanted[line.partition("=")[0]] = line
        elif line.startswith("# CONFIG_"):
            wanted[line.split()[1]] = line
    lost = []
    for option, line in wanted.items():
        if line.startswith("#"):
            met = not any(h.startswith(option + "=") for h in have)
        else:
            met = line in have
        if not met:
            lost.append(line)
    return lost


def _place(cache: Cache, kind: str, key: list[str]) -> Path:
    return cache.root / "builds" / f"{kind}-{digest(key)}"


def _prune(cache: Cache, kind: str, key: list[str]) -> None:
    """Removes build folders whose entry the cache has dropped; a begun one of `key` will be completed."""
    kept = {p.read_text(encoding="utf-8") for p in cache.root.glob(f"kernel-build-{kind}-*/place")}
    for place in (cache.root / "builds").glob(f"{kind}-*"):
        if str(place) not in kept and place != _place(cache, kind, key):
            shutil.rmtree(place, ignore_errors=True)
