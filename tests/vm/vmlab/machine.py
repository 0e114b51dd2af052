# SPDX-License-Identifier: GPL-2.0
"""A machine as scenarios see it, whatever runs it: start, run scripts, read the kernel log, kill."""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from dataclasses import dataclass
from pathlib import Path

from . import klog
from .channel import Channel, CommandFailed, Dead, Hang, Job, MachineError, Result, scale
from .kernel import Kernel
from .link import End

BOOT_LIMIT = 120.0
READY = "vmlab: ready"
# Of every kernel: KASAN tells of all that it finds, memory that is given out shows what was in it before, and
# KUnit's suites run.
CHECKS = "kasan_multi_shot init_on_alloc=0 kunit.enable=1 kcsan.early_enable=1"
UPTIME = "read -r uptime_ rest_ </proc/uptime; echo $uptime_"  # a script, without a process of its own
PREFIX = "vmlab-"  # of a machine's folder in /tmp, then the process that owns it


STATE = """set +e
exec 2>&1
grep -E '^(rtrs|rnbd|null_blk|brd)' /proc/modules
ip -s link; ip -br addr; ip neigh
rdma link; rdma resource show; rdma resource show qp; rdma statistic show
grep . /sys/class/rtrs-*/*/paths/*/state /sys/class/rtrs-*/*/paths/*/stats/* /sys/block/rnbd*/rnbd/* 2>/dev/null
ps -eo pid,stat,wchan:24,args | grep -v ' \\['
"""


@dataclass(frozen=True)
class Spec:
    """Everything that a machine is made of, except its cables."""

    name: str
    host: int  # last byte of its addresses: 10.10.<nic>.<host>, fd00:10:<nic>::<host>
    kernel: Kernel
    modules: Path  # root of a tree lib/modules/<release>
    logs: Path
    cpus: int = 1
    possible: int = 0  # CPUs that its kernel is ready for; 0: as many as there are
    memory: int = 1024  # MiB
    nics: int = 2
    command_line: str = ""
    disk: Path | None = None  # of an installed system: system.py
    initrd: Path | None = None  # of an installed system without a disk, instead of the harness's own: rooted.py
    plugins: tuple[Path, ...] = ()  # of QEMU, each of which gets a file of its own as its argument: written_by()


_live: weakref.WeakSet[Machine] = weakref.WeakSet()


class Machine:
    """Common part of all kinds; a kind implements _launch() and may extend kill()."""

    state_script = STATE

    def __init__(self, spec: Spec, ends: list[End]) -> None:
        self.spec = spec
        self.name = spec.name
        self.console = spec.logs / f"{spec.name}.console"
        self.booted = 0.0  # seconds that the boot took
        self._ends = ends
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._commands = spec.logs / f"{spec.name}.commands"
        self._mark = self._command_mark = 0
        self._folder: Path | None = None

    def _launch(self, folder: Path, share: Path) -> tuple[list[str], list[int], socket.socket]:
        """Command, descriptors that it inherits (closed here afterwards), our end of the control channel."""
        raise NotImplementedError

    def set_link(self, nic: int, up: bool) -> None:
        """Push or pull the cable of a network card."""
        raise NotImplementedError

    def set_running(self, running: bool) -> None:
        """Let a machine stand still, or go on; only QEMU's can."""
        raise NotImplementedError

    def written_by(self, plugin: str) -> Path:
        """The file of one of its plugins, by the plugin's name without its suffix."""
        return self.spec.logs / f"{self.name}.{plugin}"

    def netdev(self, nic: int = 0) -> str:
        """The name of a network card inside the machine."""
        return f"eth{nic}"

    def address(self, nic: int = 0) -> str:
        return f"10.10.{nic}.{self.spec.host}"

    def address6(self, nic: int = 0) -> str:
        return f"fd00:10:{nic}::{self.spec.host}"

    # --- life

    def start(self) -> None:
        """Begin to boot; wait_ready() ends it, so that several machines boot at the same time."""
        self.spec.logs.mkdir(parents=True, exist_ok=True)
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        share = self._folder / "share"
        share.mkdir()
        self._mark = self._command_mark = 0
        for path in (self.console, self._commands):
            path.write_bytes(b"")
        command, passed, control = self._launch(self._folder, share)
        wires = [end.plug() for end in self._ends]
        with (self.spec.logs / f"{self.name}.stderr").open("wb") as err:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=err, stderr=err,
                                             pass_fds=[*passed, *wires], start_new_session=True,
                                             preexec_fn=_die_with_parent)
        for fd in passed:
            os.close(fd)
        _live.add(self)
        self._channel = Channel(self.name, control, share, self._commands)
        self.booted = time.monotonic()

    def wait_ready(self) -> None:
        assert self._channel
        began = time.monotonic()
        slowest = scale()
        while not self._channel.ready.wait(0.2):
            # The host may be busier than it was when the machine started.
            slowest = max(slowest, scale())
            if not self.alive or time.monotonic() > began + BOOT_LIMIT * slowest:
                tail = self.console_text()[-1500:]
                self.kill()
                raise MachineError(f"{self.name} did not boot; its console ends with:\n{tail}")
        self.booted = time.monotonic() - self.booted
        self._mark = max(self.console_text().find(READY), 0)

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def power_off(self, limit: float = 90.0) -> None:
        """Shut it down: an installed system in the order of its units, else the kernel alone."""
        assert self._process
        installed = self.spec.disk or self.spec.initrd
        self.run("systemctl --no-block poweroff" if installed else "(sleep 0.2; /bb/busybox poweroff -f) &")
        try:
            self._process.wait(limit * scale())
        except subprocess.TimeoutExpired:
            self.dump_blocked()
            tail = self.console_text()[-1500:]
            raise Hang(f"{self.name} does not shut down; its console ends with:\n{tail}") from None
        self.kill()

    def kill(self) -> None:
        """Switch the machine off, without a word to the system inside."""
        if self._process:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._process.wait()
        for end in self._ends:
            end.unplug()
        if self._channel:
            self._channel.close()
            self._channel = None
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        _live.discard(self)

    # --- files

    def put(self, file: Path) -> str:
        """Copy a file of the host into the machine; its path there."""
        if not self._folder:
            raise Dead(f"{self.name} is switched off")
        shutil.copy(file, self._folder / "share" / file.name)
        return f"/share/{file.name}"

    # --- scripts

    def spawn(self, script: str, limit: float = 60.0) -> Job:
        """Start a script (sh -e) with a deadline in seconds, on an idle host; more on a busy one."""
        if not self._channel:
            raise Dead(f"{self.name} is switched off")
        return self._channel.submit(script, limit * scale())

    def wait(self, job: Job) -> Result:
        """The end of a script; a hang leaves a list of all blocked tasks in the console."""
        try:
            result = job.wait()
        except Hang:
            self.dump_blocked()
            raise
        if result.timed_out:
            self.dump_blocked()
        return result

    def try_run(self, script: str, limit: float = 60.0) -> Result:
        return self.wait(self.spawn(script, limit))

    def run(self, script: str, limit: float = 60.0) -> str:
        """Output of a script that must succeed."""
        job = self.spawn(script, limit)
        result = self.wait(job)
        if not result.ok:
            what = "timed out" if result.timed_out else f"failed with {result.rc}"
            raise CommandFailed(f"{self.name}: {what}: {job.summary()}\n{result.out[-1500:]}")
        return result.out

    def uptime(self) -> float:
        """Seconds on the machine's own clock, which an emulated machine may run slower than the host's."""
        return float(self.run(UPTIME))

    def state(self) -> str:
        """What may explain a failure: modules, network, RDMA, disks."""
        if not self.alive:
            return "switched off\n"
        try:
            return self.spawn(self.state_script, 30).wait().out
        except MachineError as e:
            return f"{e}\n"

    def dump_blocked(self) -> None:
        try:
            self.spawn("echo w >/proc/sysrq-trigger; echo l >/proc/sysrq-trigger", 10).wait(30)
        except MachineError:
            pass

    # --- kernel log

    def console_text(self) -> str:
        try:
            return self.console.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def mark(self, title: str) -> None:
        """The log counts from here on."""
        self._sync(f"vmlab: begin {title}")
        self._mark = len(self.console_text())
        self._command_mark = len(self.transcript())

    def transcript(self) -> str:
        """The scripts since the mark with their output."""
        return self._commands.read_text(encoding="utf-8", errors="replace")[self._command_mark:]

    def _sync(self, token: str) -> None:
        """Write a line to the kernel log and wait until the console shows it."""
        self.spawn(f"echo '{token}' >/dev/kmsg", 10).wait(60)
        end = time.monotonic() + 5
        while token not in self.console_text() and time.monotonic() < end:
            time.sleep(0.05)

    def log(self, sync: bool = True) -> str:
        """The kernel log since the mark; with `sync` complete up to this call if the machine lives."""
        if sync and self.alive and self._channel:
            try:
                self._sync(f"vmlab: end {time.monotonic_ns()}")
            except MachineError:
                pass
        return self.console_text()[self._mark:]

    def judge(self) -> list[str]:
        """What is wrong in the log since the mark, and with the taint flags. And lockdep, where there is one, ends with
        its first report, which may have been one of the boot."""
        bad = klog.findings(self.log())
        if self.alive and self._channel:
            try:
                told = self.run("cat /proc/sys/kernel/tainted\n"
                                "grep -s debug_locks /proc/lockdep_stats || true", 10).split()
                flags = klog.taint(int(told[0]), self.console_text())
            except (MachineError, ValueError, IndexError) as e:
                bad.append(f"no answer at the end: {e}")
            else:
                if flags:
                    bad.append(f"kernel tainted: {flags}")
                if not bad and told[1:] and told[-1] != "1":
                    bad.append("lockdep is off, since the boot")
        return bad


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: holds even when we are killed


def kill_all() -> None:
    for machine in list(_live):
        machine.kill()


def _on_signal(number: int, _frame: object) -> None:
    print(f"ended by {signal.Signals(number).name}", file=sys.stderr, flush=True)
    raise SystemExit(128 + number)


def guard() -> None:
    """Whatever ends this process, its machines end with it; what a killed one left in /tmp goes now."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(folder, ignore_errors=True)
    atexit.register(kill_all)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, _on_signal)
