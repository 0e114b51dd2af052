# SPDX-License-Identifier: GPL-2.0
"""Two paths that go in turn, never both, while devices are mapped and unmapped: no message is lost with its path."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import folder

SLOW = True
OURS = ("client",)
ROUNDS = 12


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
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{stays}/rnbd/state"), "open", "state of the disk that stays")
    lab.client.run(f"dd if=/dev/{stays} of=/dev/null bs=4k count=16 iflag=direct")
    rnbd.unmap(lab, stays)
    rnbd.unload_client(lab)
