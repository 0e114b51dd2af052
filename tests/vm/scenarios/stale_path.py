# SPDX-License-Identifier: GPL-2.0
"""One of three paths stays cut while the server's modules are loaded anew: the other two are connected soon, and the
disk works; the third one follows when its cable is back."""

from vmlab import rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab
from vmlab.multipath import SESSION, connects, folder, wait_lost

OURS = ("client", "server")
SOON = 10


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    third = rnbd.path_option(lab, 1, family=6).removeprefix("path=")
    rnbd.write(lab.client, f"{SESSION}/add_path", third)
    cut = f"'{folder(lab, 0)}/state'"
    rnbd.write(lab.client, f"{SESSION}/heartbeat_interval_ms", "500")
    before = connects(lab, 0)
    lab.client.set_link(0, False)
    wait_lost(lab, 0, before, 30)

    others = {path: connects(lab, path) for path in (1, third)}
    rnbd.unload_server(lab)
    for path, was in others.items():
        wait_lost(lab, path, was, 20)
    rnbd.load_server(lab)
    connected = " && ".join(f"grep -qx connected '{folder(lab, path)}/state'" for path in others)
    took = rnbd.wait_until(lab.client, connected, SOON, "two of three paths are back")
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 10, "the disk is back")
    verify(lab.client, f"/dev/{name}", Verify("4k", size="256k"))
    rnbd.check(rnbd.read(lab.client, cut) != "connected", "the path whose cable is out is connected")
    lab.client.run(f"cat >/dev/null <<'END'\ntwo paths back after {took:.1f} s\nEND")

    lab.client.set_link(0, True)
    rnbd.wait_until(lab.client, f"grep -qx connected {cut} || echo 1 >{folder(lab, 0)}/reconnect", 90,
                    "the third path is back")
    rnbd.unmap(lab, name)
