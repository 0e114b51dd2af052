# SPDX-License-Identifier: GPL-2.0
"""The frequency of the time-stamp counter, which an emulated machine can't find out on a busy host.

QEMU hands the host's counter through. A kernel measures it against a timer while it boots; when the
emulator is scheduled away in between it takes the counter for two or three times slower than it is, and
all its clocks run that much too fast. So the harness measures, and the machine is told.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import time

# rdtsc; shl rdx, 32; or rax, rdx; ret
READ = bytes.fromhex("0f31" "48c1e220" "4809d0" "c3")
SPAN = 0.3  # seconds between both readings


def tsc_khz() -> int:
    """kHz, or 0 where there is no such counter."""
    if platform.machine() != "x86_64":
        return 0
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(READ)
    function = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def both() -> tuple[int, int]:
        """Counter and nanoseconds at the same moment: of many pairs the one that took the least time."""
        best: tuple[int, int, int] | None = None
        for _ in range(200):
            before = time.monotonic_ns()
            ticks = function()
            took = time.monotonic_ns() - before
            if best is None or took < best[0]:
                best = (took, ticks, before + took // 2)
        assert best
        return best[1], best[2]

    first = both()
    time.sleep(SPAN)
    second = both()
    return round((second[0] - first[0]) * 1_000_000 / (second[1] - first[1]))
