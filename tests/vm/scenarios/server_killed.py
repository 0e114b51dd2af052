# SPDX-License-Identifier: GPL-2.0
"""The server loses power under load: the client's I/O fails in time, nothing hangs, it unmaps and unloads."""

import time

from vmlab import fio, rnbd
from vmlab.lab import Lab

SLOW = True
# Loss shows 35 s after the last word of the peer at the latest (protocol B.3); emulated machines are late.
LIMIT = 35 + 15


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    load = fio.background(lab.client, f"/dev/{name}", 300, rw="randrw", depth=8)
    rnbd.wait_until(lab.client, f"[ $(tr -s ' ' </sys/block/{name}/stat | cut -d' ' -f2) -gt 50 ]", 30, "load")
    lab.server.kill()
    killed = time.monotonic()
    result = load.wait(LIMIT + 30)
    took = time.monotonic() - killed
    rnbd.check(not result.ok and not result.timed_out, f"fio ended with {result.rc}: {result.out[-300:]}")
    rnbd.check(took < LIMIT, f"I/O failed after {took:.0f} s, limit {LIMIT} s")
    # From now on I/O fails at once.
    # Not by "!", whose status `set -e` takes no notice of.
    took = rnbd.timed(lab.client, f"if dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null; then\n"
                                  "    echo 'a read without a server worked'; exit 1\nfi")
    rnbd.check(took < 5, f"a read without a server failed after {took:.1f} s only")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/rnbd/state"), "closed", "state of the disk")
    paths = lab.client.run("cat /sys/class/rtrs-client/vm/paths/*/state").split()
    rnbd.equal(paths, ["disconnected"], "state of the path")
    # Neither unmapping nor unloading waits for a server that is not there (but for one connect attempt).
    rnbd.unmap(lab, name, "force", limit=60)
    rnbd.unload_client(lab)
