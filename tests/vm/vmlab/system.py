# SPDX-License-Identifier: GPL-2.0
"""An installed system: a machine with systemd as its first process, whose root is a disk of its own.

/usr is the host's, as in every machine, with an overlay on that disk in which packages are installed: what they
bring, configure and leave behind lasts from boot to boot. Of the project it has nothing but its packages; dpkg
finds what they depend on, as installed on the host.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import debian, initramfs, make
from .machine import MachineError

SIZE = 512 << 20
# Of the host's /etc: names of users and programs, and the configuration of packages that are at work here.
ETC = ("passwd", "group", "alternatives", "rdma", "dkms", "modprobe.d", "init.d")
# The packages of the project.
DEBS = make.TOP / "build/deb"
FOLDERS = ("dev", "proc", "sys", "tmp", "run", "usr", "share", "mnt", "root", "bb", "boot", "home",
           "var/log", "var/tmp", "var/lib/systemd", "var/lib/dkms", "var/cache",
           "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers",
           "installed/usr/lib/modules", "installed/usr.work", "installed/modules", "installed/modules.work",
           "etc/systemd/system/multi-user.target.wants", "etc/systemd/system/sysinit.target.wants")

# The network is up before network-online.target, as with a network manager that waits for it.
NETWORK = """[Unit]
DefaultDependencies=no
After=sys-kernel-config.mount systemd-tmpfiles-setup-dev.service
Before=network.target network-online.target shutdown.target
Wants=network.target
Conflicts=shutdown.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/dash /network
"""
# The last to end, so that scripts see the shutdown begin.
AGENT = """[Unit]
DefaultDependencies=no
Requires=vmlab-network.service
After=vmlab-network.service
[Service]
ExecStart=/agent installed
Environment=PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
KillMode=process
"""
UNITS = {"vmlab-network": NETWORK, "vmlab-agent": AGENT}
# What takes an emulated CPU seconds and is not looked at.
MASKED = ("systemd-hwdb-update.service", "systemd-logind.service", "getty.target", "systemd-firstboot.service",
          "ldconfig.service", "systemd-sysusers.service", "systemd-update-utmp.service",
          "systemd-update-utmp-runlevel.service", "systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount",
          "systemd-user-sessions.service", "systemd-journal-catalog-update.service", "systemd-repart.service",
          "sys-fs-fuse-connections.mount", "dbus.service", "dbus.socket", "systemd-pcrphase.service",
          "systemd-pcrphase-sysinit.service", "systemd-machine-id-commit.service")


def _fill(root: Path) -> None:
    for name in FOLDERS:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    etc = root / "etc"
    for name in ETC:
        source = Path("/etc") / name
        if source.is_dir():
            shutil.copytree(source, etc / name, symlinks=True)
        elif source.exists():
            shutil.copy(source, etc / name)
    for name in ("hosts", "nsswitch.conf"):
        (etc / name).write_text(initramfs.ETC[name], encoding="utf-8")
    (etc / "mtab").symlink_to("/proc/self/mounts")
    # Known, so that no boot is a first one, with units enabled by preset.
    (etc / "machine-id").write_text("00000000000000000000000000000001\n", encoding="ascii")
    (etc / "fstab").touch()
    units = etc / "systemd/system"
    for name, text in UNITS.items():
        (units / f"{name}.service").write_text(text, encoding="utf-8")
        (units / "sysinit.target.wants" / f"{name}.service").symlink_to(f"../{name}.service")
    for name in MASKED:
        (units / name).symlink_to("/dev/null")
    (units / "default.target").symlink_to("/usr/lib/systemd/system/multi-user.target")
    # As Debian enables it: what mounts _netdev lines of fstab.
    (units / "multi-user.target.wants/remote-fs.target").symlink_to("/usr/lib/systemd/system/remote-fs.target")
    # The host may be one that starts and stops no services.
    policy = root / "installed/usr/sbin/policy-rc.d"
    policy.parent.mkdir()
    policy.write_text("#!/bin/sh\nexit 0\n", encoding="ascii")
    policy.chmod(0o755)
    shutil.copy(initramfs.BUSYBOX, root / "bb/busybox")
    for file in (initramfs.NETWORK, initramfs.agent()):
        shutil.copy(file, root / file.name)


def _needed() -> list[str]:
    """What the packages of the project depend on, but for each other: libraries have other names in each release."""
    debs = sorted(DEBS.glob("*.deb"))
    if not debs:
        raise MachineError(f"{DEBS} has no packages: run make deb")
    names = {name for deb in debs for name in debian.depends(debian.output("dpkg-deb", "-f", str(deb), "Depends"))}
    return sorted(names - {deb.name.partition("_")[0] for deb in debs})


def _fill_dpkg(root: Path) -> None:
    """dpkg's list of what is installed, with no more than what it will ask for: the whole takes it minutes here."""
    folder = root / "var/lib/dpkg"
    status = subprocess.run(["dpkg-query", "--status", *_needed()], capture_output=True, text=True, check=True).stdout
    (folder / "status").write_text(status, encoding="utf-8")
    (folder / "available").touch()
    (folder / "info/format").write_text("1\n", encoding="ascii")
    for line in status.splitlines():
        if line.startswith("Package: "):
            for name in (line.split()[1], f"{line.split()[1]}:amd64"):
                (folder / f"info/{name}.list").touch()


def make_disk(path: Path, size: int = SIZE, more: Callable[[Path], None] = _fill_dpkg, uuid: str = "random") -> None:
    """A new disk of a system on which nothing of the project is installed; `more` puts something into its root."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _fill(root)
        more(root)
        with path.open("wb") as f:
            f.truncate(size)
        subprocess.run(["/sbin/mkfs.ext4", "-q", "-O", "^metadata_csum", "-U", uuid, "-E", "root_owner=0:0",
                        "-d", str(root), str(path)], check=True)
