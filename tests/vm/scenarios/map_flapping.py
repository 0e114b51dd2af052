# SPDX-License-Identifier: GPL-2.0
"""Two paths that go in turn, never both, while devices are mapped and unmapped: no message is lost with its path.
And both ends take a path away at the same time, again and again: who comes second touches nothing that is gone."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import folder

SLOW = True
OURS = ("client",)
ROUNDS = 12


def both_ends(lab: Lab, path: str) -> None:
    """The server's `disconnect` of a path that is on its way to its end already; the client comes back each time."""
    files = "/sys/class/rtrs-server/vm/paths/*/disconnect"
    server = lab.server.spawn(f"n=0\nwhile [ ! -e /tmp/stop ]; do\nfor f in {files}; do\n"
                              "echo 1 2>/dev/null >$f && n=$((n + 1))\ndone\ndone 2>/dev/null\necho $n", 300)
    lab.client.run(f"for i in 1 2 3 4 5 6 7 8; do\necho 1 >'{path}/disconnect'\n"
                   f"echo 1 >'{path}/reconnect' || true\ndone 2>/dev/null", 240)
    lab.server.run("touch /tmp/stop")
    result = lab.server.wait(server)
    rnbd.check(result.ok and int(result.out.split()[-1]) > 8, f"the server has taken no path away: {result.out!r}")
    lab.server.run("rm /tmp/stop")
    lab.client.run(f"until grep -qx connected '{path}/state'; do echo 1 >'{path}/reconnect' || sleep 0.2; done", 60)


def run(lab: Lab) -> None:
    disk, other = rnbd.null_disk(lab.server), rnbd.null_disk(lab.server, "nullb8")
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    stays = rnbd.map_device(lab, disk, nics=(0, 1))
    paths = [folder(lab, nic) for nic in (0, 1)]
    lab.client.run("rm -f /tmp/stop")
    flapper = lab.client.spawn("while [ ! -e /tmp/stop ]; do\n" + "\n".join(
        f"echo 1 >'{path}/disconnect'\necho 1 >'{path}/reconnect'" for path in paths) + "\ndone", 600)
    text = rnbd.map_text(lab, other, nics=(0, 1))
    entry = f"/sys/block/$(basename $(readlink -f '{rnbd.CTL}/devices/!dev!nullb8@vm'))/rnbd"
    for i in range(ROUNDS):
        rnbd.equal(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text, 120), "", f"map number {i}")
        lab.client.run(f"echo normal >{entry}/unmap_device", 120)
        rnbd.equal(lab.server.run("ls /sys/class/rnbd-server/ctl/devices").split(), ["nullb7"], "open after an unmap")
    rnbd.check(flapper.running, "the paths no longer flap")
    lab.client.run("touch /tmp/stop")
    result = lab.client.wait(flapper)
    rnbd.check(result.ok, f"disconnect or reconnect failed: {result.out}")
    both_ends(lab, paths[0])
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{stays}/rnbd/state", 60, "the disk is back")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{stays}/rnbd/state"), "open", "state of the disk that stays")
    lab.client.run(f"dd if=/dev/{stays} of=/dev/null bs=4k count=16 iflag=direct")
    rnbd.unmap(lab, stays)
    rnbd.unload_client(lab)
