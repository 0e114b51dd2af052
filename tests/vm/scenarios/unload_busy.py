# SPDX-License-Identifier: GPL-2.0
"""A module is removed while I/O runs: the server's makes I/O fail, the client's ends it; nothing hangs. Nor does it
wait for a map that waits for a path."""

from vmlab import fio, rnbd
from vmlab.lab import Lab

VARIANTS = {"server": {"role": "server"}, "client": {"role": "client"}, "map": {"role": "map"}}
SECONDS = 5  # a map waits for 8, one of which is over
LOADED = "[ $(tr -s ' ' </sys/block/{0}/stat | cut -d' ' -f2) -gt 50 ]"


def with_waiting_map(lab: Lab, disk: str) -> None:
    other = rnbd.null_disk(lab.server, "nullb8")
    for _ in range(2):
        rnbd.load_client(lab)
        rnbd.map_device(lab, disk)
        lab.client.run("echo 1 >$(echo /sys/class/rtrs-client/vm/paths/*)/disconnect")
        waiting = lab.client.spawn(f"! echo 'sessname=vm device_path={other}' >{rnbd.CTL}/map_device", 60)
        lab.client.run("sleep 1")
        rnbd.check(waiting.running, "the map did not wait for a path")
        seconds = rnbd.timed(lab.client, "rmmod rnbd_client", 60)
        result = lab.client.wait(waiting)
        rnbd.check(result.ok, f"the map ended with {result.rc}: {result.out[-200:]}")
        rnbd.check(seconds < SECONDS, f"removing the module took {seconds} s")
        lab.client.run("rmmod rtrs_client rtrs_core")


def run(lab: Lab, role: str) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    if role == "map":
        with_waiting_map(lab, disk)
        return
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
