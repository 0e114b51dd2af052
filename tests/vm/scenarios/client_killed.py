# SPDX-License-Identifier: GPL-2.0
"""The client loses power under load: a client that comes back at once maps; the server cleans up alone; it unloads."""

from vmlab import fio, rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab
from vmlab.multipath import folder

SLOW = True
LIMIT = 35 + 15


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    if lab.ours("server"):
        one_path_has_gone(lab, disk)
    name = rnbd.map_device(lab, disk)
    fio.background(lab.client, f"/dev/{name}", 300, rw="randwrite", block="16k", depth=16)
    rnbd.wait_until(lab.client, f"[ $(tr -s ' ' </sys/block/{name}/stat | cut -d' ' -f6) -gt 50 ]", 30, "load")
    rnbd.equal(rnbd.sessions(lab.server, "server"), ["vm"], "sessions at the server")
    # Back at once, long before heartbeats are missed, and with the same name.
    lab.client.kill()
    lab.reboot("client")
    rnbd.load_client(lab)
    if lab.ours("server"):
        name = rnbd.map_device(lab, disk)
        verify(lab.client, f"/dev/{name}", Verify("4k", 16, "512k"))
    lab.client.kill()
    rnbd.wait_until(lab.server,
                    "[ ! -e /sys/class/rtrs-server/vm ] && [ -z \"$(ls /sys/class/rnbd-server/ctl/devices)\" ]",
                    LIMIT, "the dead client's session and exports are gone")
    lab.reboot("client")
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    verify(lab.client, f"/dev/{name}", Verify("4k", 16, "512k"), Verify("64k", 8, "1m"))
    # Again, and this time the server is unloaded while it still believes in its client.
    lab.client.kill()
    rnbd.unload_server(lab)


def one_path_has_gone(lab: Lab, disk: str) -> None:
    """The server knows already that one of two paths is dead, and has still to find out about the other."""
    rnbd.map_device(lab, disk, nics=(0, 1))
    lab.client.kill()
    rnbd.write(lab.server, f"{folder(lab, 0)}/disconnect".replace("rtrs-client", "rtrs-server"), "1")
    lab.reboot("client")
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    verify(lab.client, f"/dev/{name}", Verify("4k", 4, "128k"))
    rnbd.unmap(lab, name)
