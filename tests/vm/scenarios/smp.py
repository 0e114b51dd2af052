# SPDX-License-Identifier: GPL-2.0
"""Two CPUs on each side, of many that there could be: a connection for each, jobs on both at once, completions that
cross, unmap under load."""

from vmlab import fio, rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab

CPUS = 2
POSSIBLE = 64
KINDS = ("stock", "debug", "kcsan")


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    queues = lab.client.run(f"ls /sys/block/{name}/mq").split()
    rnbd.equal(queues, ["0", "1"], "hardware queues")
    # One more is for heartbeats. None for CPUs that are not there.
    pairs = lab.client.run("rdma resource show qp | grep -c 'type RC'").strip()
    rnbd.equal(pairs, str(1 + CPUS), "queue pairs of the client")
    verify(lab.client, f"/dev/{name}", Verify("4k", 32, "1m", jobs=4), Verify("64k", 8, "2m", jobs=2),
           Verify("4k", 16, "2m", extra="bssplit=512/20:4k/40:64k/40\nnumjobs=2\noffset_increment=2m"))
    # All jobs on one CPU while the other takes its interrupts, then the other way round.
    for cpu in (0, 1):
        verify(lab.client, f"/dev/{name}", Verify("4k", 16, "512k", extra=f"cpus_allowed={cpu}"))
    # Of this load, and not of what went before.
    reads = f"$(tr -s ' ' </sys/block/{name}/stat | cut -d' ' -f2)"
    before = int(lab.client.run(f"echo {reads}"))
    load = fio.background(lab.client, f"/dev/{name}", 300, numjobs=2)
    rnbd.wait_until(lab.client, f"[ {reads} -gt {before + 50} ]", 30, "load")
    rnbd.unmap(lab, name, "force")
    rnbd.check(not lab.client.wait(load).ok, "fio on an unmapped disk ended well")
