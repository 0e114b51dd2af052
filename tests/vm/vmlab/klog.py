# SPDX-License-Identifier: GPL-2.0
"""Which lines of a kernel log fail a scenario: the one list of patterns, and the one list of exceptions."""

from __future__ import annotations

import re

# Every line that matches one of these is a failure ...
BAD = [re.compile(p) for p in (
    r"WARNING: ", r"\bBUG\b", r"\bOops\b", r"kernel BUG at", r"general protection fault", r"divide error",
    r"invalid opcode", r"stack segment", r"double fault", r"Unable to handle kernel", r"Kernel panic",
    r"KASAN: ", r"UBSAN: ", r"KCSAN: ", r"KMSAN: ", r"kmemleak: ", r"ODEBUG: ", r"DMA-API: ",
    r"possible circular locking", r"possible recursive locking", r"possible irq lock inversion",
    r"inconsistent lock state", r"suspicious RCU usage", r"Invalid wait context", r"lock held when returning",
    r"INFO: trying to register non-static key", r"held lock freed", r"bad unlock balance",
    r"hung task", r"blocked for more than \d+ seconds", r"self-detected stall", r"detected stalls",
    r"rcu.*stall", r"soft lockup", r"hard LOCKUP", r"workqueue lockup", r"scheduling while atomic",
    r"sleeping function called from invalid context", r"refcount_t: ", r"list_(add|del) (corruption|double add)",
    r"Objects remaining in", r"Slab cache still has objects", r"Slab .* on __kmem_cache_shutdown",
    r"Bad page state", r"Bad rss-counter",
    r"page allocation failure", r"Out of memory", r"invoked oom-killer", r"NETDEV WATCHDOG",
    r"sysfs: cannot create duplicate filename", r"kobject_add_internal failed", r"tried to init an initialized",
    r"does not have a release\(\) function", r"disagrees about version of symbol", r"Unknown symbol",
    r"loading out-of-tree module taints kernel.*live", r"Modules linked in",
    r"Call [Tt]race", r"Internal error", r"SError",
    r"unchecked MSR access", r"cut here", r"leaked", r"memory leak", r"restrack: .*",
    r"vmlab: (no|init)", r"workqueue: .* is flushing", r"invalid GFP", r"corrupted stack end",
)]

# ... unless it matches one of these: lines of other people's code that are known to mean nothing.
KNOWN = [re.compile(p) for p in (
    # The detector says that it is there.
    r"kmemleak: (Kernel memory leak detector|Automatic memory scanning)",
)]

# Reports from `cut here` to `end trace`, by what the first line says, that are of other people's code and mean nothing.
KNOWN_REPORTS = [re.compile(p) for p in (
    # 6.1 copies a message of dlm to memory that is as long as it is, but is said to be as long as its head.
    r"memcpy: detected field-spanning write .* at fs/dlm/requestqueue\.c:",
)]
REPORT = re.compile(r"^[^\n]*\[ cut here \]-*\n((?:(?![^\n]*\[ cut here \])[^\n]*\n)+?)[^\n]*---\[ end trace [^\n]*\n",
                    re.MULTILINE)

OF_EACH_REPORT = re.compile(r"WARNING: .* at fs/dlm/|Modules linked in|Call Trace")

# Objects that kmemleak reports, by a function that allocated them, which are leaks of others.
KNOWN_LEAKS = [re.compile(p) for p in (
    # 6.1 forgets the name of a cache's folder when adding it fails for lack of memory.
    r"sysfs_slab_add\+",
    # 6.12's user-mode Linux loses sight of what its serial lines are made of, and of what they hold.
    r"\b(ssl_init|chan_interrupt)\+",
)]

LONGEST = 400  # lines of one report

TAINT = {0: "P", 1: "F", 2: "S", 3: "R", 4: "M", 5: "B", 6: "U", 7: "D", 8: "A", 9: "W", 10: "C", 11: "I",
         12: "O", 13: "E", 14: "L", 15: "K", 16: "X", 17: "T", 18: "N"}
HARMLESS_TAINT = "OEN"  # out of tree, unsigned, in-kernel test (KUnit) has run


def _bad(line: str) -> bool:
    return any(p.search(line) for p in BAD) and not any(p.search(line) for p in KNOWN)


def _is_known(report: re.Match[str]) -> bool:
    """With nothing of another report in its midst."""
    what, *rest = report[1].splitlines()
    return (any(p.search(what) for p in KNOWN_REPORTS)
            and sum(map(_bad, rest)) == sum(bool(OF_EACH_REPORT.search(line)) for line in rest) <= 3)


def has_known_report(text: str) -> bool:
    return any(_is_known(report) for report in REPORT.finditer(text))


def _without_known(text: str) -> str:
    return REPORT.sub(lambda report: "" if _is_known(report) else report[0], text)


def findings(text: str) -> list[str]:
    """The lines of a log that no healthy run prints."""
    bad = []
    for line in _without_known(text).splitlines():
        if _bad(line):
            bad.append(line.strip())
    return bad


def first_report(text: str, most: int = 60) -> list[str]:
    """The first finding of a log with what follows it: often only the output of a run is kept, and no log.

    lockdep tells where it noticed last of all, behind the history of every lock that has a part in it.
    """
    lines = _without_known(text).splitlines()
    for n, line in enumerate(lines):
        if findings(line):
            report = lines[n:]
            noticed = next((k for k, later in enumerate(report[:LONGEST]) if "stack backtrace:" in later), 0)
            if noticed >= most:
                half = most // 2
                report = [*report[:half], "...", *report[noticed:noticed + half - 1]]
            return [line.strip() for line in report[:most]]
    return []


def leaks(report: str) -> list[str]:
    """The objects in what kmemleak's file says, without the known ones."""
    objects = re.split(r"^(?=unreferenced object )", report, flags=re.MULTILINE)
    return [o for o in objects if o.strip() and not any(p.search(o) for p in KNOWN_LEAKS)]


def taint(value: int, text: str = "") -> str:
    """The letters of a taint mask that are not harmless; empty when all is well. A known report in the log of this boot
    is a warning; any other one shows there, too."""
    harmless = HARMLESS_TAINT + ("W" if has_known_report(text) else "")
    return "".join(c for bit, c in TAINT.items() if value & 1 << bit and c not in harmless)
