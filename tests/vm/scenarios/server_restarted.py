# SPDX-License-Identifier: GPL-2.0
"""The server's machine restarts, and one path is back before the other is missed: the disk is opened anew and works."""

from vmlab import rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab
from vmlab.multipath import folder

OURS = ("client", "server")


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    verify(lab.client, f"/dev/{name}", Verify("4k", size="256k"))
    lab.server.kill()
    lab.reboot("server")
    rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    # Path 0, which has work, learns of it by its heartbeat only, half a minute later.
    lab.client.run(f"until echo 1 >{folder(lab, 1)}/reconnect; do sleep 1; done", 60)
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 60, "the disk is back")
    verify(lab.client, f"/dev/{name}", Verify("4k", size="256k"))
    rnbd.wait_until(lab.client, f"grep -qx connected {folder(lab, 0)}/state || echo 1 >{folder(lab, 0)}/reconnect", 90,
                    "the other path is back")
    rnbd.unmap(lab, name)
