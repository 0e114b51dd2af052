# SPDX-License-Identifier: GPL-2.0
"""Reads which memory modules access, and when: plugin/trace.cc says how its file is laid out."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .counts import CountError

PLUGIN = "trace"
MAGIC = 0x3143525444424E52
HEADER = 4096
WORDS = 2  # of an event
USED, MARKS, WANTED, MARK, RANGES = (8 * n for n in range(2, 7))
MOST_RANGES = 16
ADDRESS_BITS = 56
ADDRESS = (1 << ADDRESS_BITS) - 1
KERNEL = 0xff << ADDRESS_BITS  # what all of the kernel's addresses have above


class Access(NamedTuple):
    code: int
    address: int
    cpu: int
    store: bool


class Trace:
    """The trace of one machine: recorded when told, a part of a run at a time."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        magic, self._capacity = self._words(0, 2)
        if magic != MAGIC:
            raise CountError(f"{path} was not written by the plugin")

    def _words(self, offset: int, count: int) -> array[int]:
        words = array("Q")
        words.frombytes(os.pread(self._fd, count * words.itemsize, offset))
        return words

    def _write(self, offset: int, *words: int) -> None:
        os.pwrite(self._fd, array("Q", words).tobytes(), offset)

    def record(self, code: list[tuple[int, int]], mark: int, marks: int) -> None:
        """From now on what code in these ranges accesses, until the function at `mark` was entered so many times."""
        if len(code) > MOST_RANGES:
            raise CountError(f"{len(code)} ranges of code: the plugin has room for {MOST_RANGES}")
        self.stop()
        # The last recording has ended by itself, before its load did: nobody writes there. What is new is zero.
        size = os.fstat(self._fd).st_size
        os.ftruncate(self._fd, HEADER)
        os.ftruncate(self._fd, size)
        self._write(USED, 0, 0)
        self._write(MARK, mark, len(code), *(word for pair in code for word in pair))
        self._write(WANTED, marks)

    @property
    def recording(self) -> bool:
        marks, wanted = self._words(MARKS, 2)
        return marks < wanted

    def stop(self) -> None:
        self._write(WANTED, 0)

    def read(self) -> Iterator[Access | None]:
        """What was recorded, in order; None is a mark."""
        used, = self._words(USED, 1)
        if used > self._capacity:
            raise CountError(f"{used} accesses: the plugin has room for {self._capacity}")
        words = self._words(HEADER, used * WORDS)
        for code, access in zip(words[0::WORDS], words[1::WORDS]):
            address = access & ADDRESS
            if address:
                yield Access(code, KERNEL | address, access >> ADDRESS_BITS & 0x7f, bool(access >> 63))
            elif code:
                yield None

    def close(self) -> None:
        os.close(self._fd)
