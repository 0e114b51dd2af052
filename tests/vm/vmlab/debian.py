# SPDX-License-Identifier: GPL-2.0
"""Debian's kernels: the packages of each series, fetched by the package client and unpacked, never installed.

The headers and the source of one series, which is that of the host's release, are installed, for the modules are built
with them all day (deps.sh). Of the others everything comes into the cache, under the names and versions of its
packages: the newest that the package lists know, as its users would get it. The options `apt` of the functions below
stand for other lists than the host's: those of another architecture (foreign.py), or of a root of another release
(debian_root.py).
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .arch import AMD64, ARM64, Arch
from .cache import Cache


class KernelError(Exception):
    """The kernel asked for can't be had; the text says what to do."""


@dataclass(frozen=True)
class Release:
    """One of Debian's other than the host's."""

    name: str
    kernels: str  # the suite that has them
    programs: tuple[str, ...]  # packages with what builds their modules


@dataclass(frozen=True)
class Series:
    headers: str  # meta package: it depends on the headers of the present release
    source: str
    installed: bool = False  # both are
    release: Release | None = None  # whose packages they are, if not the host's
    arch: Arch = AMD64


# What builds modules, beside the compiler of a release.
BUILDS = ("make", "gcc", "g++", "kmod", "pahole")
BOOKWORM = Release("bookworm", "bookworm", (*BUILDS, "gcc-12", "g++-12", "libelf1", "libssl3"))
TRIXIE = Release("trixie", "trixie-backports", (*BUILDS, "gcc-14", "g++-14", "libelf1t64", "libssl3t64"))
TRIXIE_CROSS = replace(TRIXIE, programs=(*TRIXIE.programs, "g++-14-aarch64-linux-gnu"))


def codename(release: Path = Path("/etc/os-release")) -> str:
    """The host's release; Debian 12 if it is none that is known."""
    text = release.read_text(encoding="utf-8") if release.is_file() else ""
    match = re.search(r"^VERSION_CODENAME=(\w+)$", text, re.MULTILINE)
    return match[1] if match and match[1] == TRIXIE.name else BOOKWORM.name


def known(host: str) -> dict[str, Series]:
    """All kernels by name, as a host of that release comes by them."""
    meta = "linux-headers-amd64"
    if host == TRIXIE.name:
        own, others = "6.12", {"6.1": Series(meta, "linux-source-6.1", release=BOOKWORM),
                               "arm64-16k": Series("linux-headers-arm64-16k", "linux-source-6.12", arch=ARM64)}
    else:
        own, others = "6.1", {"6.12": Series("linux-headers-6.12-amd64", "linux-source-6.12"),
                              "arm64-6.12": Series("linux-headers-6.12-arm64", "linux-source-6.12", arch=ARM64),
                              "arm64-16k": Series("linux-headers-6.12-arm64-16k", "linux-source-6.12", arch=ARM64)}
    return {
        own: Series(meta, f"linux-source-{own}", installed=True),
        **others,
        "7.3": Series(meta, "linux-source-7.3", release=TRIXIE),
        "arm64": Series("linux-headers-arm64", f"linux-source-{own}", arch=ARM64),
        "arm64-7.3": Series("linux-headers-arm64", "linux-source-7.3", release=TRIXIE_CROSS, arch=ARM64),
    }


KERNELS = known(codename())


@dataclass(frozen=True)
class Headers:
    release: str  # as uname -r prints it
    version: str  # of the packages, of the image's, too
    packages: tuple[str, ...]  # name=version


def series(release: str) -> str:
    """The series of a release: "6.12" of "6.12.117+deb12-amd64"."""
    match = re.match(r"\d+\.\d+", release)
    return match[0] if match else release


def depends(text: str) -> dict[str, str]:
    """A field Depends as names and exact versions, empty where any version will do; of alternatives the first."""
    found = {}
    for part in text.split(","):
        match = re.match(r"\s*(\S+)(?:\s*\(= ([^)]+)\))?", part.partition("|")[0])
        if match:
            found[match[1]] = match[2] or ""
    return found


def output(*cmd: str) -> str:
    done = subprocess.run(cmd, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _depends(package: str, apt: Sequence[str]) -> dict[str, str]:
    """What the package lists say of one package."""
    text = output("apt-cache", *apt, "show", "--no-all-versions", package)
    fields = dict(line.split(": ", 1) for line in text.splitlines()
                  if line.startswith(("Version: ", "Depends: ")))
    if not fields:
        raise KernelError(f"the package lists do not know {package}: run apt-get update")
    return depends(fields.get("Depends", "")) | {package: fields["Version"]}


def newest(package: str, apt: Sequence[str] = ()) -> str:
    """The version that the package lists offer."""
    return _depends(package, apt)[package]


def newest_headers(name: str, apt: Sequence[str] = ()) -> Headers:
    """The packages that headers of a series consist of."""
    return headers_of(KERNELS[name].headers, apt, name.rpartition("-")[2] if KERNELS[name].release else "")


def headers_of(meta: str, apt: Sequence[str] = (), wanted_series: str = "") -> Headers:
    """Those that a meta package, or `name=version` of one, depends on."""
    package, version = next(((p, v) for p, v in _depends(meta, apt).items()
                             if p != meta and p.startswith("linux-headers-")), ("", ""))
    if not version:
        raise KernelError(f"{meta} depends on no linux-headers of one version")
    if wanted_series and series(package.removeprefix("linux-headers-")) != wanted_series:
        raise KernelError(f"{meta} is no longer of {wanted_series}: it depends on {package}")
    wanted = [package, *(p for p in _depends(f"{package}={version}", apt)
                         if re.match(r"linux-headers-.*-common(-rt)?$|linux-kbuild-", p))]
    # They come from one source, so one version fits all.
    return Headers(package.removeprefix("linux-headers-"), version, tuple(f"{p}={version}" for p in wanted))


def fetch(package: str, folder: Path, apt: Sequence[str] = ()) -> Path:
    """The file of `name=version`, in `folder`."""
    before = set(folder.glob("*.deb"))
    done = subprocess.run(["apt-get", "-q", *apt, "download", package], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    new = set(folder.glob("*.deb")) - before
    if done.returncode or not new:
        raise KernelError(f"can't download {package}; if it is not the newest, run apt-get update\n{done.stdout}")
    return new.pop()


def unpack_image(release: str, version: str, folder: Path, apt: Sequence[str] = ()) -> tuple[Path, Path]:
    """The files of the image package and of those that it was divided into, below `folder`: the root of a file system
    with lib/modules/, and the image."""
    error: KernelError | None = None
    for name in (f"linux-image-{release}", f"linux-image-{release}-unsigned"):
        try:
            debs = [fetch(f"{name}={version}", folder, apt)]
            break
        except KernelError as e:
            error = error or e
    else:
        raise KernelError(f"no image for the headers of {release}; tests/vm/deps.sh brings those that are installed "
                          f"and their image to one version\n{error}")
    parts = depends(output("dpkg-deb", "-f", str(debs[0]), "Depends"))
    debs += [fetch(f"{name}={version}", folder, apt) for name, exact in parts.items() if exact == version]
    root = folder / "root"
    for deb in debs:
        subprocess.run(["dpkg-deb", "-x", str(deb), str(root)], check=True)
    if not (root / "lib/modules").is_dir():
        (root / "lib").mkdir(exist_ok=True)
        (root / "usr/lib/modules").rename(root / "lib/modules")
    images = (root / f"boot/vmlinuz-{release}", root / f"lib/modules/{release}/vmlinuz")
    image = next((path for path in images if path.is_file()), None)
    if not image:
        raise KernelError(f"no vmlinuz in the packages {', '.join(deb.name for deb in debs)}")
    return root, image


def relocate(makefile: str) -> str:
    """A Makefile of headers that names itself and another one by their installed places, for headers that lie
    anywhere."""
    here = "$(abspath $(dir $(lastword $(MAKEFILE_LIST))))"
    makefile = re.sub(r"^KBUILD_OUTPUT=/usr/src/.*", f"KBUILD_OUTPUT := {here}", makefile, flags=re.MULTILINE)
    return re.sub(r"^include /usr/src/", "include $(dir $(lastword $(MAKEFILE_LIST)))../", makefile, flags=re.MULTILINE)


def kdir(cache: Cache, headers: Headers, apt: Sequence[str] = (), host: Sequence[str] = ()) -> Path:
    """The folder to build modules against. Its links to the programs of the build are relative ones; these are always
    the host's architecture's, which the lists `host` have."""
    entry = cache.entry("headers", ["1", *headers.packages], lambda folder: unpack_headers(headers, folder, apt, host))
    return entry / f"usr/src/linux-headers-{headers.release}"


def unpack_headers(headers: Headers, folder: Path, apt: Sequence[str] = (), host: Sequence[str] = ()) -> Path:
    """The same, below `folder`."""
    for package in headers.packages:
        deb = fetch(package, folder, host if package.startswith("linux-kbuild-") else apt)
        subprocess.run(["dpkg-deb", "-x", str(deb), str(folder)], check=True)
        deb.unlink()
    kdir = folder / f"usr/src/linux-headers-{headers.release}"
    makefile = kdir / "Makefile"
    makefile.write_text(relocate(makefile.read_text(encoding="utf-8")), encoding="utf-8")
    return kdir


def source_version(name: str, kernel_version: str) -> str:
    """The version of the source package: what is installed, else the kernel's own."""
    package = KERNELS[name].source
    if not KERNELS[name].installed:
        return kernel_version
    version = output("dpkg-query", "-W", "-f", "${Version}", package)
    if not version or not Path(f"/usr/src/{package}.tar.xz").is_file():
        raise KernelError(f"/usr/src/{package}.tar.xz is missing: run tests/vm/deps.sh, or install {package}")
    return version


def unpack_source(name: str, version: str, paths: list[str], folder: Path, apt: Sequence[str] = ()) -> None:
    """Some folders of a series' source, below `folder`."""
    package = KERNELS[name].source
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        root = Path("/")
        if not KERNELS[name].installed:
            root = Path(work)
            subprocess.run(["dpkg-deb", "-x", str(fetch(f"{package}={version}", root, apt)), str(root)], check=True)
        tarball = root / f"usr/src/{package}.tar.xz"
        subprocess.run(["tar", "-xf", str(tarball), "-C", str(folder), "--strip-components=1", "--wildcards",
                        *(f"{package}/{p}/*" for p in paths)], check=True)
