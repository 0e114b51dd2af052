# SPDX-License-Identifier: GPL-2.0
"""Each check of a debug kernel reports the mistake that it is there to find, in an object of C++."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from vmlab import klog, rnbd
from vmlab.lab import Lab
from vmlab.machine import MachineError

KINDS = ("debug", "uml", "kcsan")
OURS = ("client",)
CPUS = 2  # for the race
SPOILS = True


@dataclass(frozen=True)
class Report:
    pattern: str
    kinds: tuple[str, ...] = ("debug", "uml")
    # Whether the machine starts anew: lockdep is off after its first report, and what is corrupted stays so.
    reboot: bool = False
    prepare: str = ""


# By name of the misdeed, in their order; the module has no others.
REPORTS = {
    # These come first: lockdep goes off when KASAN has reported something.
    "lock-order": Report(r"possible circular locking dependency detected", reboot=True),
    "lock-irq": Report(r"inconsistent lock state|possible irq lock inversion", reboot=True),
    "lock-freed": Report(r"held lock freed", reboot=True),
    "rcu-unlocked": Report(r"suspicious RCU usage", reboot=True),
    "use-after-free": Report(r"BUG: KASAN: (slab-)?use-after-free in \S*use_after_free"),
    "out-of-bounds": Report(r"BUG: KASAN: slab-out-of-bounds in \S*out_of_bounds"),
    "vmalloc-out-of-bounds": Report(r"BUG: KASAN: vmalloc-out-of-bounds in \S*vmalloc_out_of_bounds"),
    "double-free": Report(r"BUG: KASAN: (double-free|invalid-free)"),
    "leak": Report(r'unreferenced object \S+ \(size \d+\):\n  comm "sh"'),  # in what kmemleak's file says
    "shift": Report(r"UBSAN: shift-out-of-bounds in .*misdeeds/memory\.cc"),
    "index": Report(r"UBSAN: array-index-out-of-bounds in .*misdeeds/memory\.cc"),
    "boolean": Report(r"UBSAN: invalid-load in .*misdeeds/memory\.cc"),
    "enumeration": Report(r"UBSAN: invalid-load in .*misdeeds/memory\.cc"),
    "sleep-in-atomic": Report(r"BUG: (sleeping function called from invalid context|scheduling while atomic)",
                              ("debug",)),
    "hang": Report(r"blocked for more than 5 seconds", prepare="echo 5 >/proc/sys/kernel/hung_task_timeout_secs"),
    "race": Report(r"BUG: KCSAN: data-race in .*race", ("kcsan",)),
    "free-active-timer": Report(r"ODEBUG: free active .*timer_list"),
    "unset-timer": Report(r"ODEBUG: assert_init not available .*timer_list"),
    "init-active-work": Report(r"ODEBUG: init active .*work_struct"),
    "refcount": Report(r"refcount_t: addition on 0; use-after-free"),
    "busy-cache": Report(r"Objects remaining in misdeeds|Slab cache still has objects"),
    "dma-unmapped": Report(r"DMA-API: .*device driver tries to free DMA memory it has not allocated", ("debug",)),
    "list-corruption": Report(r"list_add double add", reboot=True),
    "scatterlist-end": Report(r"(kernel BUG at|BUG: failure at) .*linux/scatterlist\.h", reboot=True),
}


def load(lab: Lab, module: Path) -> list[str]:
    return lab.client.run(f"insmod {lab.client.put(module)}\ncat /sys/module/misdeeds/parameters/commit").split()


def commit(lab: Lab, name: str, report: Report) -> str:
    """What is wrong with how the kernel took it; empty if it told, and the harness would have noticed."""
    client = lab.client
    before = len(client.log())
    script = f"{report.prepare}\necho {name} >/sys/module/misdeeds/parameters/commit || true"
    try:
        client.try_run(script, 60)
        said = client.log()[before:]
    except MachineError:
        said = client.console_text()[-20000:]  # it ended with this
    if name == "leak":
        said += "".join(lab.leaks() or [])
        noticed = True
    else:
        noticed = any(re.search(report.pattern, line) for line in klog.findings(said))
    if not re.search(report.pattern, said):
        return f"{name}: no report like {report.pattern!r} but: {' | '.join(klog.findings(said)[:3]) or 'nothing'}"
    return "" if noticed else f"{name}: its report does not count as a failure in the list of vmlab/klog.py"


def run(lab: Lab) -> int:
    """The number of misdeeds that were reported."""
    built = lab.modules_of("client")
    module = built / "tests/misdeeds/misdeeds.ko"
    rnbd.check(module.is_file(), f"no {module}: run make TESTS=1 with the KDIR of this kernel")
    rnbd.equal(sorted(load(lab, module)), sorted(REPORTS), "misdeeds of the module")
    problems = []
    count = 0
    wanted = os.environ.get("MISDEEDS", "").split()  # for who looks for the reason of a failure
    for name, report in REPORTS.items():
        if lab.kernel.kind not in report.kinds or wanted and name not in wanted:
            continue
        problem = commit(lab, name, report)
        problems += [problem] if problem else []
        count += not problem
        if report.reboot:
            lab.reboot("client")
            load(lab, module)
    rnbd.check(not problems, "\n".join(problems))
    rnbd.check(count > 0, "no misdeed is for this kernel")
    return count
