# SPDX-License-Identifier: GPL-2.0
"""The server's machine is shut down under load, its disk before its network: no client gets to hear of that."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import end_load, folder, verified_load
from vmlab.volatile_disk import VolatileDisk

OURS = ("client", "server")


def plug_in_disk(lab: Lab) -> str:
    """A disk that was there a second later than the network, and so dies a second earlier."""
    slow = lab.server.put(lab.our_modules / "tests/misdeeds/slow_shutdown.ko")
    lab.server.run("modprobe virtio_scsi\nf=$(readlink -f /sys/bus/virtio/drivers/virtio_scsi/virtio*/..)\n"
                   f"echo 1 >$f/remove\ninsmod {slow}\necho 1 >/sys/bus/pci/rescan", 30)
    return lab.server.find_disks()[0]


def rounds(lab: Lab, count: int, find_disk: Callable[[], str]) -> None:
    disk = find_disk()
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, no_path_timeout=-1)
    load = verified_load(lab, name, depth=32)
    for _ in range(count):
        before = rnbd.read(lab.client, f"/sys/block/{name}/stat")
        rnbd.wait_until(lab.client, f'[ "$(cat /sys/block/{name}/stat)" != "{before}" ]', 30, "I/O goes on")
        lab.client.run("sleep 1")
        # A server that falls silent is missed after 35 s (protocol B.3); an orderly end is told.
        lab.server.power_off()
        rnbd.equal(rnbd.read(lab.client, f"{folder(lab, 0)}/state"), "disconnected", "state of the path")
        lab.reboot("server")
        rnbd.equal(find_disk(), disk, "the disk after the shutdown")
        rnbd.load_server(lab)
        rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1", 60)
        rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 60, "the disk is back")
        rnbd.check(load.running, "the I/O ended by itself")
    end_load(lab, load)
    rnbd.unmap(lab, name)
    rnbd.unload_client(lab)


def run(lab: Lab) -> None:
    if lab.kernel.kind != "stock":
        # They have no driver for a disk that fails in a shutdown.
        rounds(lab, 1, lambda: rnbd.null_disk(lab.server))
        return
    with tempfile.TemporaryDirectory() as sockets:
        disk = VolatileDisk(Path(sockets) / "disk", 16, random.Random(0))
        lab.server.disks = [disk.path]
        try:
            lab.reboot("server")
            rounds(lab, 2, lambda: plug_in_disk(lab))
        finally:
            lab.server.disks = []
            lab.server.kill()
            disk.close()
