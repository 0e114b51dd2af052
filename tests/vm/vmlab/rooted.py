# SPDX-License-Identifier: GPL-2.0
"""A client whose root file system is a disk of the server: an installed system without a disk of its own, booted by an
initramfs that mkinitramfs and the hook of the package have made.

/usr is the host's, as in every machine; a local script of initramfs-tools mounts it, and nothing else is the harness's.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from . import initramfs, make, rnbd, system
from .kernel import EARLY_SYSTEM
from .lab import ROOT, Lab

SIZE = 64 << 20
IMAGE = ROOT / "tests/packages/image"
# Where units and rules lie in the files of an installation, and in a merged /usr.
LIB = "lib"
TARGET = "/lib/systemd/system/rnbd-client.target"
MOUNT = """#!/bin/sh
[ "$1" != prereqs ] || exit 0
. /scripts/functions
. /scripts/installed
mount_installed "$rootmnt" || panic "vmlab: init: mount what is installed"
"""
# As DKMS does; an emulated CPU would unpack them for long.
UUID = "6d2c1f0a-5f0b-4b53-9a57-0b6f3a1b7c11"  # of the root file system

STRIP = """#!/bin/sh
[ "$1" != prereqs ] || exit 0
find "$DESTDIR/lib/modules/" -name '*.ko' -exec strip --strip-debug {} +
"""


def install(folder: Path) -> Path:
    """What the package has, as `make install-rnbdadm` puts it there, stripped, with a merged /usr."""
    log = folder / "install.log"
    if not make.run("-s", "install-rnbdadm", f"DESTDIR={folder / 'installed'}", "-C", str(ROOT), log=log):
        raise AssertionError(f"make install-rnbdadm: {log.read_text(errors='replace')[-1500:]}")
    root = folder / "installed"
    shutil.copytree(root / LIB, root / "usr/lib", dirs_exist_ok=True)
    shutil.rmtree(root / LIB)
    subprocess.run(["strip", root / "usr/sbin/rnbdadm"], check=True)
    return root


def make_root(path: Path, installed: Path, config: str) -> None:
    """The image of a root file system with the package and this configuration, whose devices are wanted at start."""
    def more(root: Path) -> None:
        shutil.copytree(installed / "usr", root / "installed/usr", dirs_exist_ok=True)
        shutil.copytree(installed / "etc", root / "etc", dirs_exist_ok=True)
        (root / "etc/rnbd/rnbd.conf").write_text(config, encoding="utf-8")
        for name in ("multi-user", "remote-fs"):
            wants = root / f"etc/systemd/system/{name}.target.wants"
            wants.mkdir(exist_ok=True)
            (wants / "rnbd-client.target").symlink_to(TARGET)

    system.make_disk(path, SIZE, more, UUID)


def make_initrd(lab: Lab, folder: Path, installed: Path, config: str, keys: dict[str, str]) -> Path:
    """By mkinitramfs with the hook: for a client with these files in keys.d."""
    conf = folder / "initramfs-tools"
    for script, name, text in (("", "modules", "\n".join([*EARLY_SYSTEM, "virtio_net"]) + "\n"),
                               ("hooks", "strip", STRIP), ("scripts/local-bottom", "vmlab", MOUNT),
                               ("scripts", "installed", initramfs.MOUNTS.read_text(encoding="utf-8"))):
        (conf / script).mkdir(parents=True, exist_ok=True)
        (conf / script / name).write_text(text, encoding="utf-8")
        (conf / script / name).chmod(0o755)
    keys_d = folder / "etc/rnbd/keys.d"
    keys_d.mkdir(parents=True, mode=0o700)
    (folder / "etc/rnbd/rnbd.conf").write_text(config, encoding="utf-8")
    for name, text in keys.items():
        (keys_d / name).write_text(text, encoding="utf-8")
        (keys_d / name).chmod(0o600)
    spec = lab.client.spec
    done = subprocess.run([IMAGE, installed, spec.modules / "lib/modules", folder, spec.kernel.release],
                          capture_output=True, text=True, check=False)
    rnbd.check(done.returncode == 0, f"mkinitramfs: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return folder / "initrd"


def boot(lab: Lab, initrd: Path) -> None:
    """In the place of the client; the rest of its life is that of its root file system."""
    lab.replace("client", f"root=UUID={UUID} rw init=/usr/lib/systemd/systemd "
                f"ip={lab.client.address()}:::255.255.255.0:client:{lab.client.netdev()}:off", initrd=initrd)
