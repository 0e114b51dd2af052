# SPDX-License-Identifier: GPL-2.0
"""Tests of the harness itself that need no machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

from . import (channel, kernel_build, kernels, klog, ktap, make, pairs, record, runner, scenario, selftest_kernels,
               shares)
from .cache import KEEP, Cache
from .initramfs import Archive
from .link import Cable, Switch

BAD = """
[   12.3] WARNING: CPU: 0 PID: 12 at drivers/block/x.c:12 x_open+0x1/0x2 [x]
[   12.3] WARNING: CPU: 0 PID: 12 at lib/debugobjects.c:505 debug_print_object+0x1/0x2
[   12.3] BUG: kernel NULL pointer dereference, address: 0000000000000008
[   12.3] BUG: KASAN: slab-use-after-free in x+0x1/0x2
[   12.3] BUG: sleeping function called from invalid context at mm/slab.h:42
[   12.3] BUG: scheduling while atomic: fio/123/0x00000002
[   12.3] Oops: 0002 [#1] PREEMPT SMP
[   12.3] UBSAN: array-index-out-of-bounds in x.c:1:2
[   12.3] WARNING: possible circular locking dependency detected
[   12.3] INFO: task fio:12 blocked for more than 120 seconds.
[   12.3] rcu: INFO: rcu_preempt self-detected stall on CPU
[   12.3] refcount_t: underflow; use-after-free.
[   12.3] kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
[   12.3] ODEBUG: free active (active state 0) object type: timer_list
[   12.3] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [fio:12]
[   12.3] NETDEV WATCHDOG: eth0 (virtio_net): transmit queue 0 timed out
[   12.3] sysfs: cannot create duplicate filename '/class/x'
[   12.3] list_add double add: new=0000000060d2fc30, prev=0000000060d2fc20, next=0000000060d2fc20.
[   12.3] kobject: 'x' (00000000): does not have a release() function, it is broken
[   12.3] BUG x (Tainted: G): Objects remaining in x on __kmem_cache_shutdown()
[   12.3] kmem_cache_destroy x: Slab cache still has objects when called from x_exit+0x1/0x2
"""

GOOD = """
[    1.2] rtrs_core: loading out-of-tree module taints kernel.
[    1.2] rtrs_core: module verification failed: signature and/or required key missing - tainting kernel
[    1.2] null_blk: disk nullb7 created
[    1.2] kmemleak: Kernel memory leak detector initialized
[    1.2] rnbd_client L1: <x@vm> I/O error
"""

LEAKS = """unreferenced object 0x62de0d88 (size 8):
  comm "modprobe", pid 90, jiffies 4294940000 (age 20.0s)
  backtrace:
    [<0000000060123456>] __kmem_cache_alloc_node+0x1/0x2
    [<0000000060123456>] kstrdup+0x1/0x2
    [<0000000060123456>] sysfs_slab_add+0x1/0x2
---
unreferenced object 0x62de0d90 (size 96):
  comm "modprobe", pid 90, jiffies 4294940000 (age 20.0s)
  backtrace:
    [<0000000060123456>] __kmem_cache_alloc_node+0x1/0x2
    [<0000000060123456>] x_init+0x1/0x2 [x]
"""


class Klog(unittest.TestCase):
    def test_bad_lines(self) -> None:
        for line in BAD.strip().splitlines():
            self.assertEqual(klog.findings(line), [line], line)

    def test_good_lines(self) -> None:
        self.assertEqual(klog.findings(GOOD), [])

    def test_first_report(self) -> None:
        log = GOOD.strip() + "\n[    9.1] WARNING: x\n[    9.2]  because\n[    9.3] BUG: y\n"
        self.assertEqual(klog.first_report(log), ["[    9.1] WARNING: x", "[    9.2]  because", "[    9.3] BUG: y"])
        self.assertEqual(klog.first_report(log, 2), ["[    9.1] WARNING: x", "[    9.2]  because"])
        self.assertEqual(klog.first_report(GOOD), [])
        history = ["WARNING: possible irq lock inversion", "a changed b", *["x"] * 9, "stack backtrace:", "here", "y"]
        self.assertEqual(klog.first_report("\n".join(history), 6), [*history[:3], "...", *history[11:13]])
        self.assertEqual(klog.first_report("\n".join(history), 20), history)

    def test_known_reports(self) -> None:
        begin, end = "[  9.1] ---[ cut here ]---\n", "[  9.3] Call Trace:\n[  9.4] ---[ end trace 0 ]---\n"
        known = (f"{begin}[  9.2] memcpy: detected field-spanning write (size 112) of single field \"&e->request\" at "
                 f"fs/dlm/requestqueue.c:47 (size 88)\n[  9.2] WARNING: CPU: 0 at fs/dlm/requestqueue.c:47\n{end}")
        other = known.replace("fs/dlm/requestqueue.c", "fs/gfs2/super.c")
        self.assertEqual(klog.findings(known), [])
        self.assertEqual(klog.findings(f"a\n{known}b\n{known}[  9.9] BUG: y\n"), ["[  9.9] BUG: y"])
        self.assertEqual(klog.findings(other + known), klog.findings(other))
        self.assertEqual(len(klog.findings(begin + known)), 1)
        within = known.replace("[  9.3]", "[  9.3] BUG: y\n[  9.3]", 1)
        self.assertEqual(len(klog.findings(within)), 4)
        self.assertEqual(klog.taint(1 << 9, within), "W")
        self.assertEqual(len(klog.findings(known.removesuffix(end))), 2)
        self.assertEqual((klog.taint(1 << 9, known), klog.taint(1 << 9 | 1 << 7, known), klog.taint(1 << 9, other)),
                         ("", "D", "W"))

    def test_leaks(self) -> None:
        known, other = LEAKS.split("---\n")
        self.assertEqual(klog.leaks(known), [])
        self.assertEqual(klog.leaks(known + other), [other])
        self.assertEqual(klog.leaks("\n"), [])

    def test_taint(self) -> None:
        self.assertEqual(klog.taint(1 << 12 | 1 << 13), "")
        self.assertEqual(klog.taint(1 << 12 | 1 << 9 | 1 << 7), "DW")


KTAP = """
[   12.1] something before
[   12.2]     KTAP version 1
[   12.2]     # Subtest: lock
[   12.2]     1..3
[   12.3]     ok 1 lock_a
[   12.3]     # lock_b: x.cc:7: does not hold: y
[   12.4] another: line of another
[   12.4]     not ok 2 lock_b
[   12.5]     ok 3 lock_c # SKIP no lockdep
[   12.5] # lock: pass:1 fail:1 skip:1 total:3
[   12.5] not ok 1 lock
[   12.6]     KTAP version 1
[   12.6]     # Subtest: rcu
[   12.6]     1..1
[   12.6]     ok 1 rcu_a
[   12.6] ok 2 rcu
[   12.7] ok 3 nobody
"""


class KtapTest(unittest.TestCase):
    def test_verdicts(self) -> None:
        lock, rcu = ktap.parse(KTAP)
        self.assertEqual([c.passed for c in lock.cases], [True, False, True])
        self.assertEqual(lock.cases[2].skipped, "no lockdep")
        self.assertEqual(lock.problems(), ["not ok: lock: lock_b\n# lock_b: x.cc:7: does not hold: y\n"
                                           "another: line of another"])
        self.assertEqual(rcu.problems(), [])
        self.assertEqual(ktap.summary([lock, rcu]), "2 suites, 4 cases: 2 passed, 1 failed, 1 skipped")

    def test_what_is_missing(self) -> None:
        lines = KTAP.splitlines()
        for without, complaint in (("1..1", "planned"), ("ok 1 rcu_a", "0 cases ran of 1"),
                                   ("ok 2 rcu", "did not come to its end"), ("ok 1 lock_a", "verdict is missing")):
            text = "\n".join(line for line in lines if not line.endswith(without))
            self.assertIn(complaint, "\n".join(p for s in ktap.parse(text) for p in s.problems()), without)
        self.assertEqual(ktap.parse("ok 1 nobody"), [])


class ChannelTest(unittest.TestCase):
    def test_slow_kernels_get_more_time(self) -> None:
        kind = channel._slowness
        try:
            channel.set_kernel("stock")
            stock = channel.scale()
            channel.set_kernel("debug")
            self.assertGreaterEqual(channel.scale(), 2 * stock)  # the load may change between
        finally:
            channel._slowness = kind


class CacheTest(unittest.TestCase):
    def test_built_once_and_pruned(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cache = Cache(Path(folder))
            built: list[str] = []

            def entry(key: str) -> Path:
                def build(path: Path) -> None:
                    built.append(key)
                    (path / "x").write_text(key, encoding="ascii")
                return cache.entry("thing", [key], build)

            self.assertEqual(entry("a"), entry("a"))
            self.assertEqual(built, ["a"])
            for key in "bcdef":
                entry(key)
            self.assertEqual(len(list(Path(folder).glob("thing-*"))), KEEP)

    def test_failed_build_leaves_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            def build(path: Path) -> None:
                (path / "half").touch()
                raise OSError("no")
            with self.assertRaises(OSError):
                Cache(Path(folder)).entry("thing", ["a"], build)
            self.assertEqual([p for p in Path(folder).iterdir() if p.is_dir()], [])


class ArchiveTest(unittest.TestCase):
    def test_busybox_reads_it(self) -> None:
        archive = Archive()
        archive.folder("d")
        archive.file("d/f", b"hello")
        archive.link("l", "d/f")
        with tempfile.TemporaryDirectory() as folder:
            archive.write(Path(folder) / "a.cpio")
            with (Path(folder) / "a.cpio").open("rb") as f:
                subprocess.run(["busybox", "cpio", "-i"], stdin=f, cwd=folder, check=True, stderr=subprocess.DEVNULL)
            self.assertEqual((Path(folder) / "l").read_bytes(), b"hello")


class LinkTest(unittest.TestCase):
    def test_dead_end_drops_frames(self) -> None:
        cable = Cable()
        try:
            left = cable.ends[0]
            left.plug()
            for _ in range(3000):  # far more than a socket buffers
                left._sock.send(bytes(1500))
        finally:
            cable.close()

    def test_no_frame_goes_over_a_cable_that_is_out(self) -> None:
        cable = Cable()
        try:
            left, right = cable.ends
            for end in cable.ends:
                end.plug()
                end._sock.settimeout(0.2)
            for out in ([left], [right], [left, right]):
                for end in out:
                    end.set_link(False)
                for frm, to in ((left, right), (right, left)):
                    frm._sock.send(b"lost")
                    self.assertRaises(TimeoutError, to._sock.recv, 10)
                for end in out:
                    end.set_link(True)
                for frm, to in ((left, right), (right, left)):
                    frm._sock.send(b"there")
                    self.assertEqual(to._sock.recv(10), b"there")
        finally:
            cable.close()

    def test_switch_learns(self) -> None:
        a, b, c = (bytes(5) + bytes([n]) for n in (1, 2, 3))
        switch = Switch(3)
        try:
            ports = [end._sock for end in switch.ends]
            for end, sock in zip(switch.ends, ports):
                end.plug()
                sock.settimeout(10)
            ports[0].send(b + a + b"nobody knows b")
            self.assertEqual([p.recv(100)[12:] for p in ports[1:]], [b"nobody knows b"] * 2)
            ports[1].send(a + b + b"answer")
            self.assertEqual(ports[0].recv(100)[12:], b"answer")
            ports[0].send(b + a + b"for b")
            ports[0].send(c + a + b"for all")
            self.assertEqual([p.recv(100)[12:] for p in (ports[1], ports[1], ports[2])],
                             [b"for b", b"for all", b"for all"])
        finally:
            switch.close()


class Scenarios(unittest.TestCase):
    def test_every_file_loads(self) -> None:
        found = scenario.find([])
        self.assertGreater(len(found), 10)
        self.assertEqual(len({s.name for s in found}), len(found))

    def test_plans(self) -> None:
        """Each kernel has one, of scenarios that it can run; what no plan had would never run at all."""
        plans = {kernels.plan(name) for name in kernels.NAMES}
        rest = "stock" + scenario.REST
        names = {*plans, rest, pairs.PLAN, pairs.PLAN + scenario.REST}
        self.assertEqual({p.name for p in scenario.PLANS.iterdir()}, names)
        for name in names:
            kind = name if name in kernel_build.RECIPES else "stock"
            for s in scenario.planned(name, with_peers=True):
                self.assertIn(kind, s.kinds, f"{s.name} in the plan of {name}")
        often = {s.name for kind in ("stock", rest, "uml") for s in scenario.planned(kind, with_peers=True)}
        alone = {s.name for s in scenario.planned("stock", whole=True)}
        starred = [s for s in scenario.planned("stock", with_peers=True, whole=True) if s.name not in alone]
        twice = {s.name for s in scenario.planned("stock")} & {s.name for s in scenario.planned(rest)}
        self.assertEqual(twice, set(), "in a plan, and in its rest")
        self.assertEqual([s.name for s in starred if not s.interop], [], "with * in a plan, but not for in-tree peers")
        self.assertEqual(sorted({s.name for s in scenario.find([]) if not s.by_hand} - often), [],
                         "in no plan: name them in tests/vm/plans/stock, stock-rest or uml")
        self.assertEqual(sorted(s.name for s in scenario.find([]) if s.by_hand and s.name in often), [],
                         "in a plan, but by hand")

    def test_one_may_spoil(self) -> None:
        self.assertEqual([s.name for s in scenario.find([]) if s.spoils], ["misdeeds"])


class RunnerTest(unittest.TestCase):
    def test_counts(self) -> None:
        outcomes = [runner.Outcome("a", "passed", 1, [], 40), runner.Outcome("b", "passed", 1, []),
                    runner.Outcome("c", "skipped", 1, ["x"])]
        self.assertEqual(runner.summary(outcomes), ("41 passed, 0 failed, 1 skipped", True))
        outcomes.append(runner.Outcome("d", "failed", 1, ["x"]))
        self.assertEqual(runner.summary(outcomes), ("41 passed, 1 failed, 1 skipped", False))

    def test_a_fault_of_the_peers(self) -> None:
        self.assertFalse(runner.executed_twice([]))
        self.assertFalse(runner.executed_twice(["rdma_rxe: loaded"]))
        self.assertTrue(runner.executed_twice(["a", "[ 1.0] rdma_rxe: rxe_reg_fast_mr: mr->lkey = 0x4 not free"]))

    def test_time(self) -> None:
        self.assertEqual(runner.no_time_left({}, 1e9), "")
        self.assertEqual(runner.no_time_left({"RNBD_VM_UNTIL": "1000"}, 999.5), "")
        self.assertEqual(runner.no_time_left({"RNBD_VM_UNTIL": "1000"}, 1000.5), "no time left")


class RecordTest(unittest.TestCase):
    def test_one_report_for_each_series(self) -> None:
        for plan, release, name in (("stock", "6.1.0-56-amd64", "stock-6.1.txt"), ("uml", "6.1.192", "uml-6.1.txt"),
                                    ("stock", "6.12.1+deb13-amd64", "stock-6.12.txt"),
                                    ("stock-full", "6.1.0-56-amd64", "stock-full-6.1.txt"),
                                    ("6.12", "6.12.1+deb12-amd64", "6.12.txt"),
                                    ("kernels", "6.1.0-56-amd64, 6.12.1+deb12-amd64", "kernels.txt"),
                                    ("arm64", "6.1.0-56-arm64", "arm64-6.1.txt"),
                                    ("arm64-6.12", "6.12.1+deb12-arm64", "arm64-6.12.txt"),
                                    ("arm64-16k", "6.12.1+deb12-arm64-16k", "arm64-16k-6.12.txt")):
            self.assertEqual(record.name(plan, release), name)

    def test_report(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            release = Path(folder) / "os-release"
            release.write_text('PRETTY_NAME="x"\nNAME="Debian GNU/Linux"\nVERSION_ID="13"\n', encoding="ascii")
            self.assertEqual(record.system(release), "Debian 13")
        lines = record.text("stock", "6.1.0-1-amd64", "0123", "7 passed, 0 failed").splitlines()
        self.assertEqual(lines[1:3] + lines[-1:], ["target vm", "release 6.1.0-1-amd64", "result 7 passed, 0 failed"])
        self.assertIn("\ntarget vm-full\n", record.text("stock-full", "6.1.0-1-amd64", "0123", "7 passed, 0 failed"))

    def test_only_a_committed_tree(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            top = Path(folder)
            run = ("-c", "user.name=x", "-c", "user.email=x")
            (top / "README.md").write_text("a")
            (top / "code").write_text("a")
            for words in (("init", "-q"), ("add", "."), (*run, "commit", "-qm", "x")):
                record.git(*words, top=top)
            (top / "README.md").write_text("b")
            self.assertRegex(record.commit(top), r"^[0-9a-f]{12}$")
            (top / "code").write_text("b")
            with self.assertRaisesRegex(ValueError, "differ: code"):
                record.commit(top)


class SharesTest(unittest.TestCase):
    def test_shares_are_summed(self) -> None:
        self.assertEqual(shares.add(["3 passed, 0 failed\n", "2 passed, 0 failed, 4 skipped"]),
                         ("5 passed, 0 failed, 4 skipped", True))
        self.assertEqual(shares.add(["3 passed, 0 failed", ""]), ("3 passed, 1 failed", False))
        self.assertEqual(shares.add(["0 passed, 0 failed"]), ("0 passed, 0 failed", False))

    def test_one_of_several_has_a_claim(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            first, second = shares.Claims(Path(folder)), shares.Claims(Path(folder))
            self.assertEqual([first.take("0-1"), second.take("0-1"), second.take("0-2"), first.take("1-1")],
                             [True, False, True, True])
        self.assertEqual([shares.Claims(None).take("0-1") for _ in range(2)], [True, True])


class MakeTest(unittest.TestCase):
    def test_outer_make_is_not_seen(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "Makefile"
            file.write_text(f"all:\n\t@{sys.executable} -c 'import os, json; print(json.dumps(dict(os.environ)))'\n",
                            encoding="utf-8")
            saved = dict(os.environ)
            try:
                os.environ.update({"MAKEFLAGS": "w -j7 KDIR=/x", "KDIR": "/x", "ARCH": "um", "BUILD": "/y"})
                self.assertTrue(make.run("-s", "-f", str(file), log=file.with_name("log"), MINE="yes"))
            finally:
                os.environ.clear()
                os.environ.update(saved)
            seen = json.loads(file.with_name("log").read_text(encoding="utf-8"))
        self.assertEqual(seen["MINE"], "yes")
        self.assertEqual([k for k in ("KDIR", "ARCH", "BUILD") if k in seen], [])
        self.assertNotIn("j7", seen.get("MAKEFLAGS", ""))

    def test_programs_are_built_by_one_at_a_time(self) -> None:
        with tempfile.TemporaryDirectory() as top:
            folder = Path(top) / "tests/slow"
            folder.mkdir(parents=True)
            # mkdir fails for whom another make is in between.
            (folder / "Makefile").write_text("all:\n\t@mkdir busy && sleep 0.2 && rmdir busy\n", encoding="utf-8")
            with mock.patch.object(make, "TOP", Path(top)), ThreadPoolExecutor() as labs:
                self.assertEqual(list(labs.map(make.programs, ["slow"] * 3)), [Path(top) / "build/slow"] * 3)


def run() -> list[str]:
    """Complaints; empty when all is well."""
    result = unittest.TestResult()
    for module in (sys.modules[__name__], selftest_kernels):
        unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    return [text for _, text in [*result.errors, *result.failures]]
