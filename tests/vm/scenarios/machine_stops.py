# SPDX-License-Identifier: GPL-2.0
"""Machines that are suspended, or held as virtual ones are for a snapshot: I/O waits, goes on, and no disk is lost."""

import re
import time

from vmlab import klog, rnbd
from vmlab.lab import Lab
from vmlab.machine import Machine
from vmlab.pulse import Pulse

SLOW = True
OURS = ("client", "server")
# Processes of user-mode Linux can't be frozen, and it has no monitor.
KINDS = ("stock", "debug")
VARIANTS = {"frozen": {"how": "frozen"}, "client": {"how": "client"}, "server": {"how": "server"}}
LOSS = 6 + 15  # until a path counts as lost between peers of this project, on a busy host
HELD = 12  # seconds: all paths are lost meanwhile
BACK = 20  # and are there again so soon, the peer having been missed for 6 s once more
FREEZE = 20  # until the kernel gives up to freeze processes
# It names the tasks that it could not freeze, with their stacks.
REFUSED = re.compile(r"^.*Freezing .*failed after .*\n.*task:dd .*\n(?:.*\n)?.*Call Trace:\n", re.MULTILINE)


def freeze(machine: Machine) -> bool:
    """Suspend as far as the freezer goes, 5 s: the lab's file systems would not outlive more."""
    began = time.monotonic()
    result = machine.try_run("echo freezer >/sys/power/pm_test\necho freeze >/sys/power/state", FREEZE + 60)
    rnbd.check(time.monotonic() - began < FREEZE + 30, "the suspend takes no longer than the kernel lets it")
    return result.ok


def refuses(machine: Machine) -> None:
    """What the kernel says of that is not for the console, whose every trace is a failure."""
    level = machine.run("dmesg --clear\ncut -f1 /proc/sys/kernel/printk\ndmesg -n 1").strip()
    rnbd.check(not freeze(machine), "a task in I/O that waits is not frozen")
    text = machine.run(f"dmesg\ndmesg -n {level}")
    rnbd.equal(len(REFUSED.findall(text)), 1, f"what the kernel says of it: {text}")
    rnbd.equal(klog.findings(REFUSED.sub("", text)), [], "what else it says")


def frozen(lab: Lab, name: str, beside: str) -> None:
    """locking.md: nothing of a disk that waits for a path holds up a suspend but tasks that are in its I/O."""
    pulse = Pulse(lab.client, beside)
    rnbd.check(freeze(lab.client), "a machine with disks is suspended")
    lab.client.set_link(0, False)
    rnbd.wait_until(lab.client, f"grep -qx closed /sys/block/{name}/rnbd/state", LOSS, "the loss shows")
    rnbd.check(freeze(lab.client), "a machine with a disk that has no path is suspended")
    reader = lab.client.spawn(f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct", 300)
    rnbd.wait_until(lab.client, f"[ $(cat /sys/block/{name}/rnbd/waiting_requests) -ge 1 ]", 20, "a request waits")
    refuses(lab.client)
    goes_on(lab, pulse, "the other session after a suspend that was refused")
    lab.client.set_link(0, True)
    rnbd.check(lab.client.wait(reader).ok, "what waited is done")
    rnbd.check(freeze(lab.client), "and then it is")
    goes_on(lab, pulse, "the other session")
    end(pulse)


def goes_on(lab: Lab, pulse: Pulse, what: str) -> None:
    """Its rounds count on: what was on its way is over."""
    rounds = pulse.read().rounds
    more = f"[ $(cut -d' ' -f1 /tmp/pulse.{pulse.name}) -gt {rounds + 3} ]"
    rnbd.wait_until(lab.client, more, BACK, f"{what} goes on")


def end(pulse: Pulse) -> None:
    """Of all that it has done since its begin nothing has failed."""
    beat = pulse.read()
    rnbd.check(not beat.errors and not beat.wrong, f"{pulse.name}: {beat}")
    pulse.stop()


def held(lab: Lab, machine: Machine, names: list[str]) -> None:
    """All paths are lost meanwhile; each comes back, and what waited goes on without an error."""
    pulses = [Pulse(lab.client, name) for name in names]
    reconnects = [f"/sys/class/rtrs-client/stops{n}/paths/*/stats/reconnects" for n in range(len(names))]
    for _ in range(2):
        for pulse in pulses:
            goes_on(lab, pulse, f"the load on {pulse.name}")
        before = [rnbd.read(lab.client, file).split()[0] for file in reconnects]
        machine.set_running(False)
        time.sleep(HELD)
        machine.set_running(True)
        for file, count, pulse in zip(reconnects, before, pulses):
            back = f"[ $(cut -d' ' -f1 {file}) -gt {count} ]"
            rnbd.wait_until(lab.client, back, BACK, f"the path of {pulse.name} is back")
            goes_on(lab, pulse, pulse.name)
    for pulse in pulses:
        end(pulse)


def run(lab: Lab, how: str) -> None:
    disks = [rnbd.null_disk(lab.server, f"nullb{n}") for n in (6, 7)]
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    names = [rnbd.map_device(lab, disk, f"stops{n}", (n,), no_path_timeout=-1) for n, disk in enumerate(disks)]
    if how == "frozen":
        frozen(lab, *names)
    else:
        held(lab, lab.client if how == "client" else lab.server, names)
    for name in names:
        rnbd.unmap(lab, name)
    rnbd.unload_client(lab)
    rnbd.unload_server(lab)
