# SPDX-License-Identifier: GPL-2.0
"""Large packets of one of two paths are lost, as behind a switch with a smaller MTU: I/O goes on over the good one.

The path connects, and its heartbeats come. It hangs once, for seconds, and is not given anything again while the good
one is there, for a minute at first. It is used at once when it is the only one, or when an administrator says so.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from vmlab import channel, multipath, rnbd
from vmlab.lab import Lab
from vmlab.machine import Machine

OURS = ("client", "server")
SLOW = True
VARIANTS = {"to-server": {"at": "client", "dd": "if=/dev/zero of=/dev/{} oflag=direct"},
            "to-client": {"at": "server", "dd": "if=/dev/{} of=/dev/null iflag=direct"}}
BAD = 1  # the cable
WORDS = "large packets lost"
# The first I/O on it: a request is late after 5 s, and its connection dead after 10 more; or the server sees for 10 s
# that nothing is acknowledged. Looks are a second apart.
HANGS, FLOWS = 25, 5


@contextmanager
def small_ones_only(machine: Machine) -> Iterator[None]:
    """No IP packet of 4096 to 8191 bytes goes out there: data, as RDMA puts 4096 bytes into one, and nothing else."""
    dev = machine.netdev(BAD)
    machine.run("modprobe -a sch_prio sch_netem cls_u32\n"
                f"tc qdisc replace dev {dev} root handle 1: prio bands 4 priomap {'0 ' * 16}\n"
                f"tc qdisc add dev {dev} parent 1:4 handle 4: netem loss 100%\n"
                f"tc filter add dev {dev} parent 1: protocol ip u32 match u16 0x1000 0xf000 at 2 flowid 1:4")
    try:
        yield
    finally:
        machine.run(f"tc qdisc del dev {dev} root")


def run(lab: Lab, at: str, dd: str) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab, sess_queue_depth=16)  # the list of chunks is small
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, nics=(0, BAD))
    rnbd.write(lab.client, f"{multipath.SESSION}/mp_policy", "round-robin")
    bad = multipath.folder(lab, BAD)
    scale = channel.scale()

    def seconds() -> float:
        """What 8 MiB take, which both paths share."""
        script = (f"read a b </proc/uptime\ndd {dd.format(name)} bs=64k count=128 2>&1\n"
                  "read c b </proc/uptime\necho $a $c")
        begin, end = lab.client.run(script, 240).split()[-2:]
        return float(end) - float(begin)

    seconds()
    used = multipath.requests(lab, BAD)
    rnbd.check(used > 20, f"the other path is not used: {used}")
    with small_ones_only(lab.machines[at]):
        took = seconds()
        rnbd.check(took < HANGS * scale, f"the first I/O took {took:.0f} s")
        rnbd.wait_until(lab.client, f"grep -q '{WORDS}' {bad}/last_reason", 30, f"the path says {WORDS}")
        for _ in range(3):
            took = seconds()
            rnbd.check(took < FLOWS * scale, f"with the bad path out of use it took {took:.0f} s")
        state = rnbd.read(lab.client, f"{bad}/state")
        rnbd.check(state != "connected", "the bad path is in use again")
        log = lab.machines[at].log()
        rnbd.check("large packets" in log and "MTU" in log, "the log does not say what is likely")
        # It is better than nothing.
        rnbd.write(lab.client, f"{multipath.folder(lab, 0)}/disconnect", "1")
        rnbd.wait_until(lab.client, f"grep -qx connected {bad}/state", 20, "the bad path comes when it is the only one")
        rnbd.write(lab.client, f"{multipath.folder(lab, 0)}/reconnect", "1")
        took = seconds()
        rnbd.check(took < HANGS * scale, f"the second time it took {took:.0f} s")
        rnbd.wait_until(lab.client, f"! grep -qx connected {bad}/state && grep -q '{WORDS}' {bad}/last_reason", 30,
                        "the bad path is out of use again")
    # An administrator has mended it, and says so.
    rnbd.write(lab.client, f"{bad}/reconnect", "1")
    rnbd.wait_until(lab.client, f"grep -qx connected {bad}/state", 30, "the path is back by word")
    used = multipath.requests(lab, BAD)
    took = seconds()
    rnbd.check(took < FLOWS * scale, f"with both paths it took {took:.0f} s")
    rnbd.check(multipath.requests(lab, BAD) > used + 20, "the path is back and not used")
    rnbd.unmap(lab, name)
