# SPDX-License-Identifier: GPL-2.0
"""The laboratory of one run: a server and a client on two cables or more, booted when first needed and reused.

Scenarios of clusters have a second client or a second server, with all of them on switches."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from . import kernel, kernels, klog, peers, qemu, system
from .arch import AMD64
from .cache import Cache
from .channel import set_kernel
from .link import Cable, End, Switch
from .machine import PREFIX, Machine, MachineError, Spec

ROOT = Path(__file__).resolve().parents[3]
ROLES = ("server", "client")
NICS = 2  # cables, unless a scenario wants more
MORE = ("client2", "server2")  # of scenarios that ask for them; as the first ones but for name and addresses


@dataclass
class Options:
    """What the command line decides."""

    kernels: dict[str, str] = field(default_factory=lambda: dict.fromkeys(ROLES, "stock"))  # names of kernels.py
    kdir: Path | None = None
    peers: dict[str, str] = field(default_factory=lambda: {"server": "ours", "client": "ours"})
    modules: Path | None = None  # our modules are searched below; default: where make leaves them
    logs: Path = ROOT / "build/vm"
    cpus: int = 1
    command_line: str = ""  # more for each kernel
    plugins: tuple[Path, ...] = ()  # of QEMU's emulator, for every machine


def kind_of(role: str) -> str:
    """What a machine is made like."""
    return role.rstrip("2")


class Lab:
    """Two machines, or more; `logs` of the spec say where the present boot writes."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.cache = Cache()
        found = {name: kernels.find(self.cache, name, options.kdir) for name in set(options.kernels.values())}
        self.kernels = {role: found[options.kernels[role]] for role in ROLES}
        self.kernel = self.kernels["client"]  # whose kind and, unless a pair was asked for, release is the server's too
        set_kernel(self.kernel.kind)
        self.accel = self._find_accelerator()
        self.cables: list[Cable] = []
        self.switches: list[Switch] = []
        self.machines: dict[str, Machine] = {}
        self.cpus = self.possible = self.nics = 0
        self.more: tuple[str, ...] = ()
        self.installed = False  # the machines are installed systems
        self.boots = 0
        self.past = {role: "" for role in (*ROLES, *MORE)}  # logs of this scenario from before a reboot
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self.our_modules = self.modules_of("client")
        self._trees = {role: peers.module_tree(self.cache, self.kernels[role], options.peers[role],
                                               self.modules_of(role), self._folder / role)
                       for role in ROLES}
        # An installed system has our modules from its packages only.
        self._plain_trees = {role: self._folder / f"{role}-plain" for role in ROLES}
        for role, k in self.kernels.items():
            kernel.install_modules(k.modules, kernel.closure(k.modules, kernel.WANTED), [], self._plain_trees[role])

    def modules_of(self, role: str) -> Path:
        """Our modules for the kernel of a machine lie below."""
        return self.options.modules or ROOT / "build" / self.kernels[role].release

    def _find_accelerator(self) -> str:
        """KVM only where a machine really boots on it: on some hosts /dev/kvm exists and hangs its guest."""
        if self.kernel.kind == "uml":
            return "native"
        if self.options.plugins or any(k.arch is not AMD64 for k in self.kernels.values()):
            return "tcg"
        if not os.access("/dev/kvm", os.R_OK | os.W_OK):
            return "tcg"
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")

        def accelerator(image: Path) -> str:
            def probe(folder: Path) -> None:
                (folder / "result").write_text("kvm" if _kvm_works(image) else "tcg", encoding="ascii")

            entry = self.cache.entry("kvm-probe", ["1", boot, str(image)], probe)
            return (entry / "result").read_text(encoding="ascii")

        return "kvm" if {accelerator(k.image) for k in self.kernels.values()} == {"kvm"} else "tcg"

    # --- machines

    @property
    def server(self) -> Machine:
        return self.machines["server"]

    @property
    def client(self) -> Machine:
        return self.machines["client"]

    @property
    def client2(self) -> Machine:
        return self.machines["client2"]

    @property
    def server2(self) -> Machine:
        return self.machines["server2"]

    def ours(self, role: str) -> bool:
        return self.options.peers[role] == "ours"

    def boot(self, cpus: int | None = None, installed: bool = False, nics: int | None = None,
             possible: int = 0, more: tuple[str, ...] = ()) -> None:
        """Make sure that all machines run, with this number of CPUs each, and of cables between them;
        `installed`: newly installed systems; `possible`: CPUs that their kernels are ready for, if not these;
        `more`: machines besides a server and a client, of MORE."""
        wanted = (cpus or self.options.cpus, possible, nics or NICS, more)
        if self.machines and (self.shape != wanted or self.installed or installed):
            self.shutdown()
        if not self.machines:
            self.cpus, self.possible, self.nics, self.more = wanted
            if more:
                self.switches += [Switch(len(ROLES + MORE)) for _ in range(self.nics - len(self.switches))]
            else:
                self.cables += [Cable() for _ in range(self.nics - len(self.cables))]
            self.installed = installed
            self.boots += 1
            self.machines = {role: self._machine(role) for role in (*ROLES, *more)}
        self._start(*(m for m in self.machines.values() if not m.alive))

    @property
    def shape(self) -> tuple[int, int, int, tuple[str, ...]]:
        """What boot() was asked for."""
        return self.cpus, self.possible, self.nics, self.more

    def _ends(self, n: int) -> list[End]:
        """Of the cables to a machine."""
        return [wire.ends[n] for wire in (self.switches if self.more else self.cables)[:self.nics]]

    def _machine(self, role: str) -> Machine:
        n = (*ROLES, *MORE).index(role)
        kind = kind_of(role)
        disk = None
        if self.installed:
            disk = self._folder / f"{role}.disk"
            system.make_disk(disk)
        known = kernels.neighbours_known(kind, {r: k.release for r, k in self.kernels.items()}, self.ours("client"))
        spec = Spec(role, n + 1, self.kernels[kind], (self._plain_trees if disk else self._trees)[kind],
                    self.options.logs / "machines" / str(self.boots), cpus=self.cpus, possible=self.possible,
                    nics=self.nics, disk=disk, plugins=self.options.plugins,
                    command_line=f"{self.options.command_line} {'vm.neighbours=known' if known else ''}".strip())
        ends = self._ends(n)
        if self.kernel.kind == "uml":
            from .uml import UmlMachine
            return UmlMachine(spec, ends)
        return qemu.QemuMachine(spec, ends, self.accel)

    @staticmethod
    def _start(*machines: Machine) -> None:
        for machine in machines:
            machine.start()
        for machine in machines:
            machine.wait_ready()

    def reboot(self, role: str, orderly: bool = False) -> None:
        """Power a machine on again, on its old cables; its log until now still counts. `orderly`: after it has
        shut down, else it is switched off."""
        machine = self.machines[role]
        if orderly:
            machine.power_off()
            self.past[role] += machine.log()
        else:
            self.past[role] += machine.log()
            machine.kill()
        self._start(machine)

    def replace(self, role: str, command_line: str, **changes: object) -> None:
        """Another machine in the place of one, which is switched off, on its cables; its log until now still counts."""
        old = self.machines[role]
        self.past[role] += old.log()
        old.kill()
        n = ROLES.index(role)
        spec = dataclasses.replace(old.spec, command_line=f"{old.spec.command_line} {command_line}".strip(), **changes)
        self.machines[role] = qemu.QemuMachine(spec, self._ends(n), self.accel)
        self._start(self.machines[role])

    def mark(self, title: str) -> None:
        """A new scenario begins: logs count from here on."""
        for role, machine in self.machines.items():
            self.past[role] = ""
            machine.mark(title)

    def shutdown(self) -> None:
        for machine in self.machines.values():
            machine.kill()
        self.machines.clear()

    def close(self) -> None:
        self.shutdown()
        for wire in (*self.cables, *self.switches):
            wire.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    # --- between scenarios

    def cleanup(self) -> list[str]:
        """Unmap, unload and unmount everything; a complaint for each thing that could not be."""
        problems: list[str] = []
        # Clients first.
        for role, machine in sorted(self.machines.items()):
            if machine.alive:
                try:
                    result = machine.try_run(CLEAN[kind_of(role)], 90)
                    if not result.ok:
                        problems.append(f"{role}: can't clean up: {result.out.strip()[-600:]}")
                except MachineError as e:
                    problems.append(str(e))
        return problems

    def leaks(self) -> list[str] | None:
        """Reports of kmemleak since boot; None on a kernel without it."""
        found: list[str] | None = None
        for role, machine in self.machines.items():
            if not machine.alive:
                continue
            # An object counts after two scans, and not before it is five seconds old.
            # Its announcement stays off the console: what counts is read here, and not all of it does.
            out = machine.run("f=/sys/kernel/debug/kmemleak\n[ -e $f ] || { echo none; exit; }\n"
                              "level=$(cut -f1 /proc/sys/kernel/printk); echo 1 >/proc/sys/kernel/printk\n"
                              "sleep 6; echo scan >$f; sleep 1; echo scan >$f; cat $f; echo clear >$f\n"
                              "echo $level >/proc/sys/kernel/printk", 120)
            if out.strip() != "none":
                leaks = klog.leaks(out)
                found = (found or []) + ([f"{role}: {''.join(leaks)[:3000]}"] if leaks else [])
        return found


CLEAN_COMMON = r"""
set +e
fail=0
unload() {
	for m in "$@"; do
		[ -d "/sys/module/$m" ] || continue
		rmmod "$m" || { sleep 1; rmmod "$m"; } || fail=1
	done
}
pkill -KILL fio 2>/dev/null
pkill -KILL dd 2>/dev/null
pkill -KILL -f /share/pulse 2>/dev/null
"""

CLEAN_CLIENT = CLEAN_COMMON + r"""
for d in $(grep -o '^/dev/rnbd[^ ]*' /proc/mounts); do umount "$d" || fail=1; done
for d in /sys/block/rnbd*/rnbd; do
	[ -e "$d/unmap_device" ] && { printf force >"$d/unmap_device" || fail=1; }
done
unload rnbd_client rtrs_client rtrs_core
for d in /sys/block/rnbd* /sys/class/rnbd-client /sys/class/rtrs-client; do
	[ -e "$d" ] && { echo "left behind: $d"; fail=1; }
done
exit $fail
"""

CLEAN_SERVER = CLEAN_COMMON + r"""
unload rnbd_server rtrs_server rtrs_core
for d in /sys/class/rnbd-server /sys/class/rtrs-server; do
	[ -e "$d" ] && { echo "left behind: $d"; fail=1; }
done
for d in /sys/kernel/config/nullb/*/power; do
	[ -e "$d" ] && { echo 0 >"$d"; rmdir "${d%/power}"; }
done
losetup -D
unload null_blk brd scsi_debug
exit $fail
"""

CLEAN = {"client": CLEAN_CLIENT, "server": CLEAN_SERVER}


def _kvm_works(image: Path) -> bool:
    """Does a kernel without a root file system reach its panic in time?"""
    with tempfile.TemporaryDirectory() as folder:
        console = Path(folder) / "console"
        command = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                   "-machine", "q35", "-accel", "kvm", "-cpu", "host", "-m", "256", "-kernel", str(image),
                   "-append", "console=ttyS0 panic=-1", "-serial", f"file:{console}"]
        try:
            subprocess.run(command, timeout=20, check=False, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            print("this host's /dev/kvm does not run a kernel: machines are emulated", file=sys.stderr)
            return False
        return console.exists() and "Kernel panic" in console.read_text(encoding="utf-8", errors="replace")
