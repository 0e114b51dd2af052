# SPDX-License-Identifier: GPL-2.0
"""A machine run by QEMU: a kernel of Debian's, or a debug one."""

from __future__ import annotations

import functools
import json
import socket
from pathlib import Path

from . import clock, initramfs
from .arch import AMD64
from .kernel import EARLY, EARLY_SYSTEM
from .link import End
from .machine import CHECKS, Machine, Spec

COMMAND_LINE = ("panic=-1 nokaslr mitigations=off net.ifnames=0 "
                "random.trust_cpu=on sysrq_always_enabled loglevel=4 rdinit=/init")

FIRST_WWN = 0x5000C500A0000000  # of disks; a client knows them by it
SERIAL = "VMLAB-1"
# NVMe of QEMU: Linux believes no other identifier of it than vendor, serial number, model and namespace.
NVME_WWID = f"nvme.1b36-{SERIAL.encode().hex()}-{b'QEMU NVMe Ctrl'.hex()}-00000001"


@functools.cache
def _tsc_khz() -> int:
    return clock.tsc_khz()


class Monitor:
    """QMP over one connected socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._sock.settimeout(10)
        self._file = sock.makefile("rwb")
        self._greeted = False

    def command(self, name: str, /, **arguments: object) -> object:
        if not self._greeted:
            self._file.readline()
            self._greeted = True
            self.command("qmp_capabilities")
        self._file.write(json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n")
        self._file.flush()
        while True:
            answer = json.loads(self._file.readline())
            if "error" in answer:
                raise OSError(f"QMP {name}: {answer['error'].get('desc')}")
            if "return" in answer:
                return answer["return"]

    def close(self) -> None:
        self._file.close()
        self._sock.close()


class QemuMachine(Machine):
    def __init__(self, spec: Spec, ends: list[End], accel: str = "tcg") -> None:
        super().__init__(spec, ends)
        self._accel = accel
        self._monitor: Monitor | None = None
        self.disks: list[Path] = []  # sockets of NBD servers, or files; from the next start on they are there

    def _launch(self, folder: Path, share: Path) -> tuple[list[str], list[int], socket.socket]:
        spec = self.spec
        initrd = spec.initrd or folder / "initramfs.cpio"
        if not spec.initrd:
            initramfs.build(spec.kernel, initrd, EARLY_SYSTEM if spec.disk else EARLY)
        control, control_theirs = socket.socketpair()
        monitor, monitor_theirs = socket.socketpair()
        self._monitor = Monitor(monitor)
        # A machine that can never have a second CPU is emulated without memory barriers (QEMU 7.2), though the devices'
        # thread reads its rings meanwhile: now and then a notification is lost, and a network card sends nothing any
        # more. So there could be two, of which its kernel is told to know as many as there are.
        arch = spec.kernel.arch
        args = [arch.qemu, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", arch.machine,
                "-smp", f"{spec.cpus},maxcpus={max(spec.cpus, spec.possible, 2)}", "-m", str(spec.memory)]
        timing = ""
        if self._accel == "kvm":
            args += ["-accel", "kvm", "-cpu", "host"]
        else:
            args += ["-accel", "tcg,thread=multi,tb-size=256", "-cpu", arch.tcg_cpu]
        if self._accel != "kvm" and arch is AMD64:
            timing = f"tsc=reliable tsc_early_khz={_tsc_khz()}" if _tsc_khz() else ""
        args += ["-kernel", str(spec.kernel.image), "-initrd", str(initrd), "-append",
                 f"{arch.command_line} {COMMAND_LINE} {CHECKS} {timing} nr_cpus={max(spec.cpus, spec.possible)} "
                 f"{spec.command_line} "
                 f"vm.name={spec.name} vm.host={spec.host} vm.nics={spec.nics}",
                 "-chardev", f"file,id=console,path={self.console},append=on", "-serial", "chardev:console",
                 "-chardev", f"socket,id=monitor,fd={monitor_theirs.fileno()}",
                 "-mon", "chardev=monitor,mode=control",
                 "-device", "virtio-serial-pci",
                 "-chardev", f"socket,id=control,fd={control_theirs.fileno()}",
                 "-device", "virtserialport,chardev=control,name=vmlab"]
        for tag, path, mode in (("usr", spec.kernel.usr, ",readonly=on"),
                                ("modules", spec.modules / "lib/modules", ",readonly=on"), ("share", share, "")):
            args += ["-fsdev", f"local,id={tag},path={path},security_model=none,multidevs=remap{mode}",
                     "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
        for plugin in spec.plugins:
            args += ["-plugin", f"file={plugin},out={self.written_by(plugin.stem)}"]
        if spec.disk:
            args += ["-drive", f"file={spec.disk},format=raw,if=virtio,cache=unsafe"]
        for n, end in enumerate(self._ends):
            args += ["-netdev", f"dgram,id=net{n},local.type=fd,local.str={end.fd}",
                     "-device", f"virtio-net-pci,id=nic{n},netdev=net{n},host_mtu=9000,romfile=,"
                                f"mac=52:54:00:00:{n:02x}:{spec.host:02x}"]
        # The only kind of disk of QEMU that knows FUA: it becomes a write and a flush.
        args += ["-device", "virtio-scsi-pci,id=scsi,romfile="] if self.disks else []
        for n, path in enumerate(self.disks):
            # A file may be another machine's disk, too.
            what = f"driver=nbd,server.type=unix,server.path={path}" if path.is_socket() else \
                f"driver=file,filename={path},locking=off"
            args += ["-blockdev", f"{what},node-name=disk{n}",
                     "-device", f"scsi-hd,bus=scsi.0,scsi-id={n},drive=disk{n},wwn={FIRST_WWN + n},dpofua=on,"
                                "write-cache=on"]
        if self.disks:  # beside them one of zeroes that has a serial number, and nothing else to be known by; and NVMe
            args += ["-blockdev", "driver=null-co,node-name=numbered,size=1048576,read-zeroes=on",
                     "-device", f"virtio-blk-pci,drive=numbered,serial={SERIAL}",
                     "-blockdev", "driver=null-co,node-name=namespace,size=1048576,read-zeroes=on",
                     "-device", f"nvme,drive=namespace,serial={SERIAL}"]
        return args, [control_theirs.detach(), monitor_theirs.detach()], control

    def set_link(self, nic: int, up: bool) -> None:
        assert self._monitor
        self._monitor.command("set_link", name=f"nic{nic}", up=up)

    def set_running(self, running: bool) -> None:
        """As who holds a virtual machine for a snapshot or a move does: its CPUs stand still, the world goes on."""
        assert self._monitor
        self._monitor.command("cont" if running else "stop")

    def find_disks(self) -> list[str]:
        """Names of the disks, which are the same after each boot."""
        links = "\n".join(f"until f=$(echo /sys/bus/scsi/devices/*:0:{n}:0/block/*) && [ -b /dev/${{f##*/}} ]; do "
                          f"sleep 0.1; done\nln -sf ${{f##*/}} /dev/cached{n}" for n in range(len(self.disks)))
        self.run(f"modprobe virtio_scsi\nmodprobe sd_mod\n{links}", 30)
        return [f"/dev/cached{n}" for n in range(len(self.disks))]

    def kill(self) -> None:
        super().kill()
        if self._monitor:
            self._monitor.close()
            self._monitor = None
