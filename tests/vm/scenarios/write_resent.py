# SPDX-License-Identifier: GPL-2.0
"""A write is answered, but its acknowledgement is lost, and the client's adapter sends the page again and again: it
is the writer's again only when that is over, so that nobody else's bytes ever go to the server."""

from vmlab import make, rnbd
from vmlab.lab import Lab
from vmlab.machine import Machine

OURS = ("client",)
KINDS = ("stock",)  # the others have no filter of packets
AGAIN = 30  # seconds until the page is sent again; the adapter waits one or two, and has seven tries
KEPT = 6  # seconds for which the page is somebody else's, and looked for
# The first byte behind the headers of IPv4 and UDP: the operation of soft-RoCE's packet. 0x11 is an acknowledgement.
ACKNOWLEDGEMENT = "match ip protocol 17 0xff match u8 0x11 0xff at 28"


def mute(machine: Machine) -> None:
    """The machine acknowledges nothing any more, but says everything else."""
    dev = machine.netdev()
    machine.run(f"modprobe -a sch_prio sch_netem cls_u32\n"
                f"tc qdisc replace dev {dev} root handle 1: prio bands 3 priomap {'0 ' * 16}\n"
                f"tc qdisc add dev {dev} parent 1:3 handle 3: netem loss 100%\n"
                f"tc filter add dev {dev} parent 1: protocol ip prio 1 u32 {ACKNOWLEDGEMENT} flowid 1:3")


def run(lab: Lab) -> None:
    program = make.programs() / "rtrs-resent"
    at_server, at_client = lab.server.put(program), lab.client.put(program)
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    dev = lab.server.netdev()
    watch = lab.server.spawn(f"{at_server} watch {dev} {AGAIN + KEPT + 60} >/tmp/watch.out", 240)
    rnbd.wait_until(lab.server, "grep -q ready /tmp/watch.out", 20, "the watcher's start")
    mute(lab.server)
    try:
        writer = lab.client.spawn(f"{at_client} write /dev/{name} {KEPT} >/tmp/write.out", 120)
        rnbd.wait_until(lab.client, "grep -q ready /tmp/write.out", 20, "the writer's start")
        # No longer: a path that has nothing acknowledged shows no life.
        rnbd.wait_until(lab.server, "grep -q again /tmp/watch.out", AGAIN, "the page is sent again")
        over = lab.client.try_run("grep -q over /tmp/write.out").ok
        rnbd.check(not over, "the write ended before it was acknowledged")
    finally:
        lab.server.run(f"tc qdisc del dev {dev} root")
    result = lab.client.wait(writer)
    rnbd.check(result.ok, f"the write failed: {result.out}")
    lab.server.wait(watch)
    seen = lab.server.run("tail -n 1 /tmp/watch.out").split()
    written, reused = int(seen[1]), int(seen[3])
    rnbd.check(written > 1, f"the page was not sent again: {seen}; nothing was shown")
    rnbd.equal(reused, 0, "frames to the server with what the page held when its write had ended")
    rnbd.equal(rnbd.read(lab.client, "/sys/class/rtrs-client/vm/paths/*/stats/reconnects"), "0 0", "reconnects")
    rnbd.unmap(lab, name)
