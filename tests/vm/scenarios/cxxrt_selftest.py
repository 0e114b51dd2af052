# SPDX-License-Identifier: GPL-2.0
"""C++ in the kernel: language, kernel macros, allocation and vocabulary pass their own tests, twice."""

import shlex

from vmlab import make, rnbd
from vmlab.lab import Lab
from vmlab.machine import Machine

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
    return len(passed) + installs(lab.client)


def installs(machine: Machine) -> int:
    """As make install and DKMS do: what runs is tried, of what does not run there is a word, and what fails is said."""
    module = machine.run("modinfo -F filename cxxrt-selftest").strip()
    script = f"sh {machine.put(make.TOP / 'cxxrt/build/selftest.sh')}"
    said = machine.run(f"{script} --now $(uname -r) {module}\n[ ! -e /sys/module/cxxrt_selftest ]", 90)
    rnbd.check(" passed, 0 failed" in said, f"the self-test: {said}")
    said = machine.run(f"{script} 6.0.1-other {module} 2>&1\n! {script} --now 6.0.1-other {module} 2>&1")
    rnbd.equal(said.count("was not run: kernel"), 2, "words of another kernel's")
    said = machine.run(f"cp /etc/passwd /tmp/none.ko\n! {script} $(uname -r) /tmp/none.ko 2>&1")
    rnbd.check("the self-test fails on kernel" in said, f"of what is no module: {said}")
    # Tests that fail, and a kernel that takes no module: what the script meets is pretended.
    line = "echo '# cxxrt-selftest: 46 passed, 1 failed' >/dev/kmsg; echo Invalid parameters; exit 1"
    said = machine.run(f"{pretend(line)}\n! PATH=/tmp/pretended:$PATH {script} $(uname -r) {module} 2>&1")
    rnbd.check("fails on kernel" in said and "46 passed, 1 failed" in said, f"of a test that fails: {said}")
    said = machine.run(f"{pretend('echo Key was rejected by service; exit 1')}\n"
                       f"PATH=/tmp/pretended:$PATH {script} $(uname -r) {module} 2>&1")
    rnbd.check("was not run: the kernel does not take it" in said, f"of a kernel that wants signatures: {said}")
    return 5


def pretend(line: str) -> str:
    """An insmod that is found first."""
    return (f"mkdir -p /tmp/pretended\nprintf '%s\\n' '#!/bin/sh' {shlex.quote(line)} >/tmp/pretended/insmod\n"
            "chmod 755 /tmp/pretended/insmod")
