# SPDX-License-Identifier: GPL-2.0
"""Reads what the plugin counts, while the machine runs: plugin/count.cc says how its file is laid out."""

from __future__ import annotations

import os
import shutil
import subprocess
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vmlab.machine import Machine

PLUGIN = "count"
MAGIC = 0x314E434344424E52
HEADER = 4096
WORDS = 3  # of a slot
LONGEST = 4096  # bytes of the last function of a module; the next one begins on another page, behind data
KERNEL = "vmlinux"
USER = "programs"


class CountError(Exception):
    pass


@dataclass(frozen=True)
class Symbol:
    address: int
    name: str
    module: str


class Symbols:
    """Which function and module an address of the kernel belongs to, as long as no module is loaded or unloaded."""

    @staticmethod
    def kernel_text(machine: Machine) -> str:
        """Lines of /proc/kallsyms that stay the same until the next boot."""
        return machine.run("sed -n '/ [tTwW] /{ /\\]$/!p }' /proc/kallsyms", 120)

    @classmethod
    def of(cls, machine: Machine, kernel_text: str = "") -> Symbols:
        return cls((kernel_text or cls.kernel_text(machine))
                   + machine.run("sed -n '/ [tTwW] .*\\]$/p' /proc/kallsyms", 120))

    def __init__(self, kallsyms: str) -> None:
        found: dict[int, Symbol] = {}
        for line in kallsyms.splitlines():
            address, kind, name, *rest = line.split()
            # Variables per CPU have small addresses.
            if kind in "tTwW" and len(address) == 16 and int(address, 16) >> 63:
                symbol = Symbol(int(address, 16), name, rest[0].strip("[]") if rest else KERNEL)
                known = found.setdefault(symbol.address, symbol)
                if known.name.startswith(("__pfx_", "__cfi_")):
                    found[symbol.address] = symbol
        if not found:
            raise CountError("/proc/kallsyms shows no addresses")
        self._sorted = sorted(found.values(), key=lambda s: s.address)
        self._addresses = [s.address for s in self._sorted]
        self._by_name: dict[str, set[int]] = {}
        self._text: dict[str, tuple[int, int]] = {}
        for symbol in self._sorted:
            begin, _ = self._text.get(symbol.module, (symbol.address, 0))
            self._text[symbol.module] = begin, symbol.address + LONGEST
            for name in (symbol.name, f"{symbol.module}:{symbol.name}"):
                self._by_name.setdefault(name, set()).add(symbol.address)

    def text(self, module: str) -> tuple[int, int]:
        """From its first function to behind its last one."""
        return self._text[module]

    def at(self, address: int) -> Symbol:
        if not address:
            return Symbol(0, USER, USER)
        place = bisect_right(self._addresses, address) - 1
        return self._sorted[place] if place >= 0 else Symbol(address, "?", KERNEL)

    def addresses(self, name: str) -> set[int]:
        """Where functions of this name, or module:name, begin; where there is none, GCC's variants (name.isra.0)."""
        return self._by_name.get(name) or {a for s, found in self._by_name.items() if s.startswith(f"{name}.")
                                           for a in found}


@dataclass(frozen=True)
class Snapshot:
    """Executions of each slot at one moment."""

    slots: array[int]  # address, length, executions of each

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.slots[0::WORDS], self.slots[1::WORDS], self.slots[2::WORDS])

    def since(self, before: Snapshot) -> Delta:
        old = before.slots[2::WORDS]
        old.extend([0] * (len(self.slots) // WORDS - len(old)))
        return Delta([(address, length, now - then)
                      for (address, length, now), then in zip(self, old) if now != then])


@dataclass(frozen=True)
class Delta:
    """What was executed between two snapshots."""

    blocks: list[tuple[int, int, int]]  # address, length, executions

    @property
    def instructions(self) -> int:
        return sum(length * count for _, length, count in self.blocks)

    def executions(self, symbols: Symbols, name: str) -> int:
        """How often a function was entered; 0 too if the compiler left nothing of it."""
        wanted = symbols.addresses(name)
        return sum(count for address, _, count in self.blocks if address in wanted)

    def functions(self, symbols: Symbols) -> dict[tuple[str, str], int]:
        """Instructions by (module, function)."""
        total: dict[tuple[str, str], int] = {}
        for address, length, count in self.blocks:
            symbol = symbols.at(address)
            key = (symbol.module, symbol.name)
            total[key] = total.get(key, 0) + length * count
        return total


class Counts:
    """The counters of one machine since it was switched on."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if self._words(0, 1)[0] != MAGIC:
            raise CountError(f"{path} was not written by the plugin")

    def _words(self, offset: int, count: int) -> array[int]:
        words = array("Q")
        words.frombytes(os.pread(self._fd, count * words.itemsize, offset))
        return words

    def snapshot(self) -> Snapshot:
        _, used, capacity, lost = self._words(0, 4)
        if lost:
            raise CountError(f"{lost} blocks were not counted: the plugin needs more than {capacity} slots")
        return Snapshot(self._words(HEADER, used * WORDS))

    def watch(self, addresses: set[int]) -> Watch:
        return Watch(self, addresses)

    def close(self) -> None:
        os.close(self._fd)


class Watch:
    """Executions of blocks at a few addresses, cheap enough to be asked for all the time."""

    def __init__(self, counts: Counts, addresses: set[int]) -> None:
        self._counts = counts
        self._wanted = addresses
        self._seen = 0  # slots looked at
        self._slots: list[int] = []

    def read(self) -> int:
        used = self._counts._words(8, 1)[0]
        if used > self._seen:
            words = self._counts._words(HEADER + self._seen * WORDS * 8, (used - self._seen) * WORDS)
            self._slots += [self._seen + n for n, address in enumerate(words[0::WORDS]) if address in self._wanted]
            self._seen = used
        return sum(self._counts._words(HEADER + (slot * WORDS + 2) * 8, 1)[0] for slot in self._slots)


def readable(lines: list[str]) -> list[str]:
    """Names of C++ functions as they are written, without their parameters."""
    if not shutil.which("c++filt"):
        return lines
    return subprocess.run(["c++filt", "-p"], input="\n".join(lines), capture_output=True, text=True,
                          check=True).stdout.split("\n")
