# SPDX-License-Identifier: GPL-2.0
"""C++ in the kernel: language, kernel macros, allocation and vocabulary pass their own tests, twice."""

from vmlab import rnbd
from vmlab.lab import Lab

OURS = ("client",)


def run(lab: Lab) -> int:
    """The number of tests."""
    for turn in range(2):
        mark = f"cxxrt-selftest, turn {turn}"
        output = lab.client.run(f"echo {mark} > /dev/kmsg\nmodprobe cxxrt-selftest\nrmmod cxxrt-selftest\n"
                                f"dmesg | sed '1,/{mark}/d'", 120)
        lines = [line.split("] ", 1)[-1] for line in output.splitlines()]
        plan = [line for line in lines if line.startswith("1..")]
        rnbd.equal(len(plan), 1, "test plans in the kernel log")
        passed = [line for line in lines if line.startswith("ok ")]
        rnbd.equal(len(passed), int(plan[0][3:]), "tests that passed")
        rnbd.equal([line for line in lines if "# SKIP" in line], [], "tests that were skipped")
    return len(passed)
