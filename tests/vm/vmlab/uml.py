# SPDX-License-Identifier: GPL-2.0
"""A machine run by a user-mode Linux kernel: sanitizers at native speed, with one CPU and no preemption.

Its root is a folder of links; /usr, the modules and the share are the host's folders through hostfs.
"""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

from . import initramfs
from .machine import CHECKS, STATE, Machine

FOLDERS = ("dev", "proc", "sys", "tmp", "run", "usr", "share", "mnt", "etc", "root", "var", "bb", "quick")


class UmlMachine(Machine):
    # Finding out where another task sleeps reads its stack, which KASAN reports here.
    state_script = STATE.replace("wchan:24,", "")

    def _launch(self, folder: Path, share: Path) -> tuple[list[str], list[int], socket.socket]:
        spec = self.spec
        root = folder / "root"
        self._make_root(root)
        control, theirs = socket.socketpair()
        console = os.open(self.console, os.O_WRONLY | os.O_APPEND)
        args = [str(spec.kernel.image), f"mem={max(spec.memory, 1024)}M", f"uml_dir={folder}/",
                f"umid={spec.name}", "rootfstype=hostfs", f"rootflags={root}", "rw", "init=/init",
                "con=null", f"con0=null,fd:{console}", f"ssl0=fd:{theirs.fileno()},fd:{theirs.fileno()}",
                "panic=-1", "loglevel=4", "sysrq_always_enabled", *CHECKS.split(),
                f"vm.name={spec.name}", f"vm.host={spec.host}", f"vm.nics={spec.nics}", f"vm.share={share}",
                f"vm.modules={spec.modules / 'lib/modules'}"]
        for n, end in enumerate(self._ends):
            args.append(f"vec{n}:transport=fd,fd={end.fd},vec=0,mtu=9000,"
                        f"mac=52:54:00:00:{n:02x}:{spec.host:02x}")
        return [*args, *spec.command_line.split()], [theirs.detach(), console], control

    @staticmethod
    def _make_root(root: Path) -> None:
        for name in FOLDERS:
            (root / name).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (root / name).symlink_to(f"usr/{name}")
        for name, target in initramfs.QUICK.items():
            (root / "quick" / name).symlink_to(target)
        for name, text in initramfs.ETC.items():
            (root / "etc" / name).write_text(text, encoding="utf-8")
        (root / "etc/mtab").symlink_to("/proc/self/mounts")
        shutil.copy(initramfs.BUSYBOX, root / "bb/busybox")
        shutil.copy(initramfs.GUEST / "init-uml", root / "init")
        for file in (initramfs.NETWORK, initramfs.agent()):
            shutil.copy(file, root / file.name)

    def netdev(self, nic: int = 0) -> str:
        return f"vec{nic}"

    def set_link(self, nic: int, up: bool) -> None:
        """The vector device can't be told that its cable is out: no frame goes over it."""
        self._ends[nic].set_link(up)
