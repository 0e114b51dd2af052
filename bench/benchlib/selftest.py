# SPDX-License-Identifier: GPL-2.0
"""Tests of the harness itself that need no machine."""

from __future__ import annotations

import tempfile
import unittest
from array import array
from dataclasses import replace
from pathlib import Path

from vmlab import make

from . import cachelines, fairness, flood, goals, keep, listing, plan, quick, trace
from .counts import HEADER, MAGIC, USER, CountError, Counts, Symbols
from .goals import Ratio
from .measure import BATCHES, Measured, Side, side_of
from .stacks import Nvme
from .trace import Access, Trace

KALLSYMS = """0000000000000000 A fixed_percpu_data
ffffffff81000000 T first
ffffffff81000100 t inner.isra.0
ffffffff81000200 D data
ffffffff81000300 T last
ffffffffc0000000 t work\t[rtrs_client]
ffffffffc0000040 t more\t[rtrs_client]
"""


def write(path: Path, *slots: tuple[int, int, int], lost: int = 0) -> None:
    """A file as the plugin leaves it."""
    head = array("Q", [MAGIC, len(slots), 1 << 20, lost]).tobytes()
    path.write_bytes(head.ljust(HEADER, b"\0") + array("Q", [word for slot in slots for word in slot]).tobytes())


class SymbolsTest(unittest.TestCase):
    def test_an_address_belongs_to_the_function_that_begins_before_it(self) -> None:
        symbols = Symbols(KALLSYMS)
        self.assertEqual(symbols.at(0xffffffff81000080).name, "first")
        self.assertEqual(symbols.at(0xffffffff81000280).name, "inner.isra.0")  # data is no function
        self.assertEqual((symbols.at(0xffffffffc0000044).name, symbols.at(0xffffffffc0000044).module),
                         ("more", "rtrs_client"))
        self.assertEqual(symbols.at(0).module, USER)

    def test_a_variant_stands_for_a_function_that_is_not_there(self) -> None:
        symbols = Symbols(KALLSYMS)
        self.assertEqual(symbols.addresses("inner"), {0xffffffff81000100})
        self.assertEqual(symbols.addresses("rtrs_client:work"), {0xffffffffc0000000})
        self.assertEqual(symbols.addresses("rtrs_server:work"), set())

    def test_a_machine_that_hides_addresses_is_no_use(self) -> None:
        self.assertRaises(CountError, Symbols, "0000000000000000 T first\n")


class CountsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "counts"

    def open(self) -> Counts:
        counts = Counts(self.path)
        self.addCleanup(counts.close)
        return counts

    def test_what_lies_between_two_snapshots_is_divided_by_the_ios(self) -> None:
        first, work, more = 0xffffffff81000000, 0xffffffffc0000000, 0xffffffffc0000050
        write(self.path, (0, 5, 10), (first, 4, 7), (work, 10, 0))
        counts = self.open()
        before = counts.snapshot()
        write(self.path, (0, 5, 12), (first, 4, 7), (work, 10, 2), (more, 3, 4), (work, 6, 2))
        side = side_of(counts.snapshot().since(before), Symbols(KALLSYMS), 2, 0)
        self.assertEqual(side.instructions, (2 * 5 + 2 * 10 + 4 * 3 + 2 * 6) / 2)
        self.assertEqual(side.modules, {USER: 5, "rtrs_client": 22})
        self.assertEqual(side.functions[("rtrs_client", "work")], 16)

    def test_an_execution_is_a_block_at_the_first_instruction(self) -> None:
        work = 0xffffffffc0000000
        write(self.path)
        before = self.open().snapshot()
        write(self.path, (work, 10, 2), (work, 6, 3), (work + 8, 2, 100))
        delta = self.open().snapshot().since(before)
        self.assertEqual(delta.executions(Symbols(KALLSYMS), "work"), 5)

    def test_instructions_of_a_block_count_with_it(self) -> None:
        code = [(0, "push"), (1, "mov"), (4, "ret"), (5, "nop")]
        self.assertEqual(listing.per_instruction(code, {(0, 3): 1.0, (1, 2): 0.5, (7, 9): 4.0}), [1.0, 1.5, 1.5, 0.0])

    def test_a_watch_finds_blocks_that_come_later(self) -> None:
        work = 0xffffffffc0000000
        write(self.path, (work + 4, 1, 9))
        watch = self.open().watch({work})
        self.assertEqual(watch.read(), 0)
        write(self.path, (work + 4, 1, 9), (work, 3, 2))
        self.assertEqual(watch.read(), 2)
        write(self.path, (work + 4, 1, 9), (work, 3, 4), (work, 4, 1))
        self.assertEqual(watch.read(), 5)

    def test_lost_blocks_are_an_error(self) -> None:
        write(self.path, lost=1)
        self.assertRaises(CountError, self.open().snapshot)


class LinesTest(unittest.TestCase):
    LOAD = 0xffffffffc0000000
    STORE = 0xffffffffc0000004

    def load(self, address: int, cpu: int = 0) -> Access:
        return Access(self.LOAD, address, cpu, False)

    def store(self, address: int, cpu: int = 0) -> Access:
        return Access(self.STORE, address, cpu, True)

    def test_lines_are_distinct_within_an_io(self) -> None:
        one = [self.load(0x1000), self.load(0x103f), self.store(0x1010), self.load(0x1040), self.store(0x9000)]
        found = cachelines.analyse([self.load(0x5000), None, *one, None, *one, self.load(0x2000), None, *one],
                                   [(0x9000, 0xa000)])
        self.assertEqual((found.ios, found.accesses, found.on_stack), (2, 5.5, 1))
        self.assertEqual((found.touched, found.written), (2.5, 1))

    def test_a_line_moves_when_another_cpu_has_changed_it_or_will(self) -> None:
        for accesses, moved in (([self.load(0), self.load(0, 1)], []),
                                ([self.store(0), self.load(8, 1), self.load(0, 1)], [self.LOAD]),
                                ([self.store(0), self.load(64, 1)], []),
                                ([self.load(0), self.store(0, 1), self.store(0, 1)], [self.STORE]),
                                ([self.store(0), self.store(0, 1), self.load(0), self.store(0)],
                                 [self.STORE, self.LOAD, self.STORE])):
            found = cachelines.analyse([None, *accesses, None], [])
            self.assertEqual(sorted(code for _, code in found.moved.elements()), sorted(moved))

    def test_a_trace_is_read_as_it_was_written(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace"
            events = [self.LOAD, (0xffff888000001234 & trace.ADDRESS) | 3 << 56 | 1 << 63, self.STORE, 1 << 56, 0, 0]
            path.write_bytes(array("Q", [trace.MAGIC, 100, 3, 1, 1]).tobytes().ljust(trace.HEADER, b"\0")
                             + array("Q", events).tobytes())
            found = Trace(path)
            self.assertEqual(list(found.read()), [Access(self.LOAD, 0xffff888000001234, 3, True), None])
            self.assertFalse(found.recording)
            found.record([(1, 2)], self.LOAD, 7)
            self.assertTrue(found.recording)
            self.assertEqual(list(found.read()), [])
            words = array("Q", path.read_bytes()[:9 * 8])
            self.assertEqual(list(words), [trace.MAGIC, 100, 0, 0, 7, self.LOAD, 1, 1, 2])
            found.close()


class ComparisonTest(unittest.TestCase):
    STORED = {"tolerance": {"client modules": 0.03}, "ratios": {}, "lines": {}}

    def ratio(self, *rounds: float) -> Ratio:
        return Ratio(goals.goals()[0], "4k-randwrite-32", rounds)

    def verdict(self, stored: float, *rounds: float) -> tuple[int, int]:
        found = self.ratio(*rounds)
        return quick.compare([found], {**self.STORED, "ratios": {found.key: stored}}, [])[1:]

    def test_only_worse_fails(self) -> None:
        self.assertEqual(self.verdict(0.5, 0.5), (2, 0))
        self.assertEqual(self.verdict(0.5, 0.514), (2, 0))
        self.assertEqual(self.verdict(0.5, 0.516), (1, 1))
        self.assertEqual(self.verdict(0.5, 0.3), (2, 0))

    def test_what_is_worse_is_so_in_every_round(self) -> None:
        self.assertEqual(self.verdict(0.5, 0.9, 0.51), (2, 0))
        self.assertEqual(self.verdict(0.5, 0.9, 0.52), (1, 1))

    def test_rounds_go_on_while_all_are_worse(self) -> None:
        for rounds, undecided in (((0.9, 0.52), True), ((0.9, 0.51), False), ((0.5,), False)):
            found = self.ratio(*rounds)
            stored = {**self.STORED, "ratios": {found.key: 0.5}}
            self.assertEqual(quick.undecided([found], stored), undecided)
        self.assertFalse(quick.undecided([self.ratio(0.9)], self.STORED))

    def test_what_a_batch_costs_is_no_regression(self) -> None:
        found = Ratio(goals.goals()[0], "4k-randwrite-32", (0.7, 0.8), (0.4, 0.5))
        stored = {**self.STORED, "ratios": {found.key: 0.5}, "lines": {found.key: {"batches": 0.2, "slope": 1.0}}}
        self.assertEqual(quick.compare([found], stored, [])[1:], (2, 0))
        self.assertFalse(quick.undecided([found], stored))
        worse = replace(found, rounds=(0.73, 0.83))
        self.assertEqual(quick.compare([worse], stored, [])[1:], (1, 1))
        self.assertTrue(quick.undecided([worse], stored))

    def test_what_is_kept_is_a_median_of_each(self) -> None:
        def one(cost: float) -> Measured:
            client = Side(cost + 1000, 1000, {"nvme_core": cost, "nvme_rdma": 1, "rtrs_core": 5}, {}, {})
            return Measured(1, 1, {"client": client, "server": Side(7, 0, {"nvmet": 3}, {}, {})})

        self.assertEqual(keep.figures_of(Nvme(), [one(10), one(30), one(20)]), "27.0 21.0 3.0")

    def test_a_line_has_two_ends(self) -> None:
        def one(cost: float, batches: float) -> Measured:
            side = Side(cost, 0, {"rtrs_client": cost}, {}, {BATCHES: batches})
            return Measured(1, 1, {"client": side, "server": side})

        figures = {"ours-Y": {"4k-randwrite-32": [one(10, 0.2)], "4k-randwrite-16": [one(14, 0.6)]},
                   "intree-Y": {"4k-randwrite-32": [one(20, 1.0)]}}
        found = self.ratio(0.5)
        self.assertEqual(quick.line_of(found, figures), {"batches": 0.2, "slope": 0.5})
        figures["ours-Y"]["4k-randwrite-16"] = [one(14, 0.21)]
        self.assertIsNone(quick.line_of(found, figures))
        del figures["ours-Y"]["4k-randwrite-16"]
        self.assertIsNone(quick.line_of(found, figures))

    def test_missing_unknown_and_complaints_fail(self) -> None:
        found = self.ratio(0.5)
        self.assertEqual(quick.compare([], {**self.STORED, "ratios": {found.key: 0.5}}, [])[1:], (1, 1))
        self.assertEqual(quick.compare([found], self.STORED, [])[1:], (1, 1))
        self.assertEqual(quick.compare([], self.STORED, ["client: BUG"])[1:], (0, 1))

    def test_modules_alone_leave_the_rest_out(self) -> None:
        ratios = {"client modules: a / b: 4k-randread-32": 1.0, "client modules: a / b: 4k-randread-1": 1.0,
                  "both machines: a / b: 4k-randread-32": 1.0}
        self.assertEqual(list(quick.of_modules({**self.STORED, "ratios": ratios})["ratios"]), [*ratios][:1])

    def test_a_ratio_is_the_middle_of_those_within_a_round(self) -> None:
        def one(client: float) -> Measured:
            events = {BATCHES: 0.5}
            side = Side(client, 0, {"rtrs_client": client}, {}, events)
            return Measured(1, 1, {"client": side, "server": Side(10, 0, {"rtrs_server": 10}, {}, events)})

        figures = {"ours-Y": {"4k-randwrite-32": [one(5), one(50), one(8)]},
                   "intree-Y": {"4k-randwrite-32": [one(10), one(100), one(10)]}}
        found = {r.goal.title: r.value for r in goals.ratios(figures)}
        self.assertEqual(found["client modules"], 0.5)
        self.assertEqual(found["server modules"], 1.0)


class FairnessTest(unittest.TestCase):
    def test_equal_shares_have_index_one(self) -> None:
        self.assertEqual(fairness.shares([5.0, 5.0]), {"together": 10.0, "least": 1.0, "most": 1.0, "index": 1.0})

    def test_who_gets_nothing_halves_it(self) -> None:
        self.assertEqual(fairness.shares([4.0, 0.0]), {"together": 4.0, "least": 0.0, "most": 2.0, "index": 0.5})

    def test_the_list_is_the_last_line(self) -> None:
        self.assertEqual(fairness.parse_list('fio: noise\n[["a", 2.5, 10]]\n'), [("a", 2.5, 10.0)])


class FloodTest(unittest.TestCase):
    COSTS = flood.Costs(proof=1000.0, refused=30.0, control=20.0)

    def test_what_nobody_would_have_listened_to_is_left_out(self) -> None:
        self.assertEqual(self.COSTS.beyond(2, 100), 2 * 980 + 100 * 10)
        self.assertEqual(flood.Costs(7.0, 7.0, 7.0).beyond(3, 50), 0)

    def test_time_gives_proofs_back_and_the_rest_is_refused(self) -> None:
        self.assertEqual(flood.part(self.COSTS, 100, 50, 200), (0.5 * 980 + 99.5 * 10) / 10000)
        self.assertEqual(flood.part(self.COSTS, 0.25, 50, 200), 0.25 * 980 / 10000)

    def test_the_counts_are_the_last_line(self) -> None:
        self.assertEqual(make.counts("Warning: noise\nattempts 5 refused 2\n"), {"attempts": 5, "refused": 2})


class PlanTest(unittest.TestCase):
    def test_names_of_loads_are_unique(self) -> None:
        names = [load.name for section in plan.sections() for load in section.loads]
        self.assertEqual(len(names), len(set(names)))


def run() -> list[str]:
    """Complaints; empty when all is well."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(__import__(__name__, fromlist=["run"]))
    result = unittest.TestResult()
    suite.run(result)
    return [text for _, text in [*result.errors, *result.failures]]
