# SPDX-License-Identifier: GPL-2.0
"""A module is removed while I/O runs: the server's makes I/O fail, the client's ends it; nothing hangs."""

from vmlab import fio, rnbd
from vmlab.lab import Lab

VARIANTS = {"server": {"role": "server"}, "client": {"role": "client"}}
LOADED = "[ $(tr -s ' ' </sys/block/{0}/stat | cut -d' ' -f2) -gt 50 ]"


def run(lab: Lab, role: str) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    for _ in range(2):
        rnbd.load_client(lab)
        name = rnbd.map_device(lab, disk)
        load = fio.background(lab.client, f"/dev/{name}", 300)
        rnbd.wait_until(lab.client, LOADED.format(name), 30, "load")
        if role == "server":
            lab.server.run("rmmod rnbd_server rtrs_server rtrs_core", 60)
            result = load.wait(120)
            rnbd.check(not result.ok and not result.timed_out, f"fio ended with {result.rc}")
            rnbd.check(not lab.client.try_run(f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct", 30).ok,
                       "a read without a server worked")
            rnbd.unmap(lab, name, "force")
            rnbd.load_server(lab)
        else:
            rnbd.check(not lab.client.try_run("rmmod rnbd_client", 30).ok, "rnbd_client was removed with its disk open")
            rnbd.unmap(lab, name, "force")
            result = load.wait(120)
            rnbd.check(not result.ok and not result.timed_out, f"fio ended with {result.rc}")
        # Mapped but idle: the module takes its disks along.
        name = rnbd.map_device(lab, disk)
        rnbd.unload_client(lab)
        rnbd.check(name not in lab.client.run("ls /sys/block").split(), f"{name} outlived its module")
