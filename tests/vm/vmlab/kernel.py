# SPDX-License-Identifier: GPL-2.0
"""A kernel that machines boot, and where its image and modules come from.

One of Debian's is the image package of exactly the version of its headers: modules that are built against
these then load without a question. The package is fetched and unpacked into the cache, never installed on
the host. Which kernels there are to choose from: kernels.py.
"""

from __future__ import annotations

import lzma
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from . import debian, make
from .arch import AMD64, Arch
from .cache import Cache, file_digest
from .debian import KernelError
from .debian_root import Root

# Modules of the image that the machines may load; what they depend on comes along.
WANTED = """
virtio_pci virtio_console virtio_net virtio_scsi 9p 9pnet_virtio
rdma_rxe ib_core ib_uverbs rdma_cm rdma_ucm ib_umad ib_cm
null_blk brd loop scsi_debug sd_mod target_core_mod target_core_iblock tcm_loop dm_mod dm_flakey dm_delay dm_dust
dm_multipath dm_service_time dm_thin_pool md_mod raid1 raid456 dm_crypt xts ecb sha256_generic aes_generic
algif_skcipher
cryptomgr ext4 xfs ocfs2 ocfs2_stack_o2cb vfat nls_cp437 nls_ascii nls_iso8859_1 nls_utf8
crc32_generic crc32_pclmul crc32c_generic crc32c_intel libcrc32c crct10dif_generic
sch_netem sch_plug sch_prio cls_u32 dummy
nvme nvme_rdma nvme_tcp nvmet nvmet_rdma nvmet_tcp nbd virtio_rng configfs
virtio_blk overlay autofs4
dlm gfs2 softdog esp4 esp6 xfrm_user macsec gcm ghash_generic ctr seqiv drbg jitterentropy_rng sha512_generic
""".split()

# The kernel's own RNBD, where it is built: an opaque peer.
INTREE = ["rnbd_client", "rnbd_server"]

# Loaded from the initramfs, before /usr can be mounted.
EARLY = ["virtio_pci", "virtio_console", "9pnet_virtio", "9p"]
# And for a system on a disk.
EARLY_SYSTEM = [*EARLY, "virtio_blk", "crc32c_generic", "ext4", "overlay", "autofs4"]


@dataclass(frozen=True)
class Kernel:
    kind: str  # stock, debug or uml
    release: str  # as uname -r prints it
    image: Path  # what boots
    modules: Path  # .../lib/modules/<release>, complete with modules.dep
    kdir: Path  # headers or build tree for external modules
    identity: str  # differs whenever another module must be built
    version: str = ""  # of Debian's packages, if it is one of them
    arch: Arch = AMD64
    usr: Path = Path("/usr")  # what its machines see as that
    root: Root | None = None  # in which modules for it are built, if not on the host


def module_name(path: str) -> str:
    return Path(path).name.split(".ko")[0].replace("-", "_")


def read_dep(modules: Path) -> dict[str, tuple[str, list[str]]]:
    """modules.dep as name -> (path, paths needed before it, in the order of loading)."""
    deps: dict[str, tuple[str, list[str]]] = {}
    for line in (modules / "modules.dep").read_text(encoding="utf-8").splitlines():
        path, _, rest = line.partition(":")
        deps[module_name(path)] = (path, list(reversed(rest.split())))
    return deps


def closure(modules: Path, names: list[str]) -> list[str]:
    """Paths of the modules and all that they need, in an order that loads; unknown names are built in."""
    deps = read_dep(modules)
    order: list[str] = []
    for name in names:
        if name in deps:
            path, needs = deps[name]
            order += [p for p in [*needs, path] if p not in order]
    return order


def default_kdir() -> Path:
    """The headers that the meta package of the installed series has brought."""
    meta = next(s.headers for s in debian.KERNELS.values() if s.installed)
    depends = debian.output("dpkg-query", "-W", "-f", "${Depends}", meta)
    match = re.match(r"linux-headers-(\S+)", depends)
    if match and Path(f"/usr/src/linux-headers-{match[1]}").is_dir():
        return Path(f"/usr/src/linux-headers-{match[1]}")
    raise KernelError(f"no kernel headers: run tests/vm/deps.sh, or install {meta}")


def kernel_release(kdir: Path) -> str:
    try:
        text = (kdir / "include/generated/utsrelease.h").read_text(encoding="ascii")
        return text.split('"')[1]
    except (OSError, IndexError) as e:
        raise KernelError(f"{kdir} is no prepared kernel build folder: {e}") from e


def stock(cache: Cache, kdir: Path | None = None) -> Kernel:
    """The image of the headers that are installed."""
    kdir = kdir or Path(os.environ.get("KDIR") or default_kdir())
    release = kernel_release(kdir)
    version = debian.output("dpkg-query", "-W", "-f", "${Version}", f"linux-headers-{release}")
    if not version:
        raise KernelError(f"linux-headers-{release} is not an installed package: "
                          "the stock kernel needs Debian's headers (see KDIR)")
    return from_package(cache, kdir, release, version)


def from_package(cache: Cache, kdir: Path, release: str, version: str, apt: Sequence[str] = ()) -> Kernel:
    """The image of Debian that belongs to headers of this release and version; `apt` as in debian.py."""
    def build(folder: Path) -> None:
        work = folder / "work"
        work.mkdir()
        root, image = debian.unpack_image(release, version, work, apt)
        shutil.move(image, folder / "vmlinuz")
        subprocess.run(["depmod", "-b", str(root), release], check=True)
        found = root / "lib/modules" / release
        install_modules(found, closure(found, WANTED), [], folder)
        shutil.rmtree(work)

    entry = cache.entry("kernel", ["1", release, version, *WANTED], build)
    return Kernel("stock", release, entry / "vmlinuz", entry / "lib/modules" / release, kdir,
                  f"{release} {version}", version)


def from_tree(cache: Cache, folder: Path) -> Kernel:
    """One that somebody has built or unpacked, for scenarios of Debian's own: its build folder, or a root with
    boot/vmlinuz-RELEASE, lib/modules/RELEASE and in that `build`, as packages of kernels have them."""
    image = folder / "arch/x86/boot/bzImage"
    if image.is_file():
        return replace(from_build(cache, "tree", folder, image, []), kind="stock")
    images = sorted((folder / "boot").glob("vmlinuz-*"))
    if len(images) != 1:
        raise KernelError(f"{folder} has neither arch/x86/boot/bzImage nor one boot/vmlinuz-RELEASE")
    release = images[0].name.removeprefix("vmlinuz-")
    source = folder / "lib/modules" / release
    # Packages name it as it is when they are installed.
    link = source / "build"
    within = folder / os.readlink(link).lstrip("/") if link.is_symlink() else link
    kdir = within if within.is_dir() else link.resolve()
    if kernel_release(kdir) != release:
        raise KernelError(f"{kdir} is of another kernel than {release}")
    identity = file_digest(images[0])

    def build(entry: Path) -> None:
        subprocess.run(["depmod", "-b", str(folder), release], check=True)
        install_modules(source, closure(source, WANTED + INTREE), [], entry)

    entry = cache.entry("kernel-tree", ["1", identity, *WANTED, *INTREE], build)
    return Kernel("stock", release, images[0], entry / "lib/modules" / release, kdir, f"{release} {identity}")


def from_build(cache: Cache, kind: str, kdir: Path, image: Path, arch: list[str]) -> Kernel:
    """A kernel built elsewhere (debug kernel, user-mode Linux): its modules are installed into the cache."""
    if not image.is_file():
        raise KernelError(f"{kdir} holds no {image.name}: build that kernel first")
    release = kernel_release(kdir)
    identity = file_digest(image)

    def build(folder: Path) -> None:
        log = folder / "install.log"
        if not make.run("-s", "-C", str(kdir), *arch, f"INSTALL_MOD_PATH={folder / 'work'}", "modules_install",
                        log=log):
            raise KernelError(f"modules of {kdir} can't be installed:\n{log.read_text(encoding='utf-8')[-1000:]}")
        found = folder / "work/lib/modules" / release
        install_modules(found, closure(found, WANTED + INTREE), [], folder)
        shutil.rmtree(folder / "work")

    entry = cache.entry(f"kernel-{kind}", ["1", identity, *WANTED, *INTREE], build)
    return Kernel(kind, release, image, entry / "lib/modules" / release, kdir, f"{release} {identity}")


def place(src: Path, dst: Path) -> None:
    """A module in a tree: as it is, or unpacked, for what reads it in a machine knows no compression."""
    dst.parent.mkdir(parents=True, exist_ok=True)
    if src.suffix == ".xz":
        dst.with_suffix("").write_bytes(lzma.decompress(src.read_bytes()))
        return
    try:
        os.link(src, dst)
    except OSError:
        shutil.copy2(src, dst)


def install_modules(source: Path, paths: list[str], extra: list[Path], root: Path) -> Path:
    """A module tree below `root` of some modules of `source`, and `extra` ones in updates/, which win."""
    tree = root / "lib/modules" / source.name
    for path in paths:
        place(source / path, tree / path)
    for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        if (source / name).exists():
            shutil.copy2(source / name, tree / name)
    for path in extra:
        (tree / "updates").mkdir(exist_ok=True)
        shutil.copy2(path, tree / "updates" / path.name)
    subprocess.run(["depmod", "-b", str(root), source.name], check=True)
    return tree
