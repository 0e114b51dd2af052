# SPDX-License-Identifier: GPL-2.0
"""Requests on a device that executes local work once do not meet the throttle of registrations: one by one and in
batches, they enter none of its functions on either machine. On soft-RoCE as it is they do: the probes see them."""

from vmlab import fio, rnbd
from vmlab.lab import Lab
from vmlab.machine import Machine

OURS = ("client", "server")
KINDS = ("stock", "debug")  # user-mode Linux has no kprobes
VARIANTS = {"Y": {"invalidate": "Y"}, "N": {"invalidate": "N"}}
TRACEFS = "/sys/kernel/tracing"
# In linkers' names: both throttles, and what leads requests of the client to its one.
THROTTLE = r"t .*(ClientThrottle|ServerThrottle|take_slow_path).*\[rtrs_(client|server)\]"
NO_CALL = "[.]cold|__(pfx|cfi)_"  # the rest of a function, and what newer kernels have before one
TOGETHER = {"iodepth_batch_submit": 32, "iodepth_batch_complete_min": 8, "iodepth_batch_complete_max": 32}


def watch(machine: Machine) -> int:
    """Begins to count calls of the throttle; of how many functions."""
    return int(machine.run(f"mountpoint -q {TRACEFS} || mount -t tracefs tracefs {TRACEFS}\ncd {TRACEFS}\nn=0\n"
                           f"grep -iE '{THROTTLE}' /proc/kallsyms | grep -vE '{NO_CALL}' | sort -u -k1,1 >/tmp/calls\n"
                           "while read -r address rest; do\n"
                           "\techo \"p:throttle/f$n 0x$address\" >>kprobe_events\n\tn=$((n + 1))\ndone </tmp/calls\n"
                           "[ $n = 0 ] || echo 1 >events/throttle/enable\necho $n", 60))


def calls(machine: Machine) -> int:
    """How many there were; ends the count."""
    return int(machine.run(f"cd {TRACEFS}\nn=0\nwhile read -r name hits missed; do n=$((n + hits + missed)); done "
                           "<kprobe_profile\n[ ! -d events/throttle ] || echo 0 >events/throttle/enable\n"
                           "echo >kprobe_events\necho $n", 60))


def work(lab: Lab, name: str) -> None:
    fio.verify(lab.client, f"/dev/{name}", fio.Verify("4k", 1, "128k"), fio.Verify("64k", 8, "2m"))
    for rw in ("randwrite", "randread"):
        lab.client.run(fio.command("together", f"/dev/{name}", rw=rw, bs="4k", iodepth=32, size="4m", number_ios=512,
                                   **TOGETHER) + " >/dev/null", 120)


def run(lab: Lab, invalidate: str) -> None:
    disk = rnbd.null_disk(lab.server)
    for guards in ("N", "Y"):
        for machine in (lab.server, lab.client):
            machine.run(f"modprobe rtrs_core guard_registrations={guards}")
        rnbd.load_server(lab, always_invalidate=invalidate)
        rnbd.load_client(lab)
        name = rnbd.map_device(lab, disk)
        watched = {side: watch(machine) for side, machine in (("client", lab.client), ("server", lab.server))}
        try:
            work(lab, name)
        finally:
            got = {"client": calls(lab.client), "server": calls(lab.server)}
        rnbd.unmap(lab, name)
        rnbd.unload_client(lab)
        rnbd.unload_server(lab)
        for side, functions in watched.items():
            rnbd.check(functions > 4, f"{side}: only {functions} functions of a throttle are known")
            # The server registers nothing anew, and takes nothing back, without always_invalidate.
            meets = guards == "Y" and (side == "client" or invalidate == "Y")
            rnbd.equal(got[side] > 100 if meets else got[side] == 0, True,
                       f"guards {guards}: {side}: {got[side]} calls of the throttle's {functions} functions")
