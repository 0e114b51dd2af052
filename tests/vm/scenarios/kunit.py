# SPDX-License-Identifier: GPL-2.0
"""The KUnit suites of tests/kunit pass, each module loaded twice; the number of cases is printed. KUNIT=rtrs-server: of
that module alone."""

import os

from vmlab import ktap, rnbd
from vmlab.lab import Lab

KINDS = ("debug", "uml")
OURS = ("client",)
TURNS = 2
LIMIT = 240


def run(lab: Lab) -> int:
    """The number of cases that passed in one turn."""
    built = lab.modules_of("client")
    modules = sorted(built.glob(f"tests/kunit/**/{os.environ.get('KUNIT', '*')}-kunit.ko"))
    rnbd.check(modules, f"no suites below {built}/tests/kunit: run make TESTS=1 with the KDIR of this kernel")
    client = lab.client
    client.run("modprobe rdma_cm")  # insmod loads nothing that a module needs
    counts = []
    passed = 0
    for module in modules:
        there = client.put(module)
        name = module.stem.replace("-", "_")
        for turn in range(TURNS):
            mark = f"kunit: {module.stem}, turn {turn}"
            log = client.run(f"echo '{mark}' >/dev/kmsg\ninsmod {there}\nrmmod {name}\n"
                             f"dmesg | sed '1,/{mark}/d'", LIMIT)
            suites = ktap.parse(log)
            rnbd.check(suites, f"{module.stem}: no suite ran")
            problems = [p for s in suites for p in s.problems()]
            rnbd.check(not problems, f"{module.stem}, turn {turn}:\n" + "\n".join(problems))
        passed += sum(c.passed and c.skipped is None for s in suites for c in s.cases)
        counts.append(f"{module.stem}: {ktap.summary(suites)}")
        for suite in suites:
            for case in suite.cases:
                if case.skipped is not None:
                    counts.append(f"    skipped: {suite.name} {case.name}: {case.skipped}")
    print("\n".join("     " + line for line in counts), flush=True)
    return passed
