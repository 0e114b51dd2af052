# SPDX-License-Identifier: GPL-2.0
"""A client boots from a disk of the server, mapped with a key by the initramfs of the package, and ends in order."""

import tempfile
from pathlib import Path

from vmlab import rnbd, rooted
from vmlab.admin import Admin
from vmlab.lab import Lab

SLOW = True
OURS = ("client", "server")
KINDS = ("stock",)

PROGRAM = "/usr/sbin/rnbdadm"


def run(lab: Lab) -> None:
    plain = lab.client
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        installed = rooted.install(folder)
        text = config(lab)
        rooted.make_root(folder / "root.img", installed, text)
        key = serve(lab, folder / "root.img")
        initrd = rooted.make_initrd(lab, folder, installed, text, {"vm.1": key})
        rooted.boot(lab, initrd)
    booted(lab, key)
    left_alone(lab)
    cables(lab)
    lab.client.power_off()
    Admin(lab.server).run("server export remove data --force")
    lab.server.run("rm -r /etc/rnbd")  # the next scenario's server is fresh, too
    lab.past["client"] += lab.client.log()
    lab.machines["client"] = plain


def config(lab: Lab) -> str:
    paths = "".join(f"path = {lab.client.address(n)}@{lab.server.address(n)}\n" for n in (0, 1))
    return (f"[session vm]\nkey = vm\nauth = required\n{paths}soft-roce = {lab.client.netdev()}\n"
            "[device root]\nsession = vm\ndevice = data\nno-path-timeout = -1\ninitramfs = yes\n")


def serve(lab: Lab, image: Path) -> str:
    """Exports a disk with this content to who has the key, which it gives."""
    disk = rnbd.null_disk(lab.server, megabytes=rooted.SIZE >> 20)
    lab.server.run(f"dd if={lab.server.put(image)} of={disk} bs=1M conv=sparse 2>/dev/null\nsync", 120)
    server = Admin(lab.server)
    server.run("key generate vm")
    server.run("key load")
    rnbd.load_server(lab, auth="required")
    server.run(f"server export add data {disk} --key vm")
    return lab.server.run("cat /etc/rnbd/keys.d/vm.1")


def booted(lab: Lab, key: str) -> None:
    """The root is the disk; the units have taken it as it is, and the path whose network came later is there."""
    rnbd.equal(lab.client.run("findmnt -no SOURCE /").strip(), "/dev/rnbd0", "the root file system")
    rnbd.wait_until(lab.client, "systemctl is-active rnbd@root.service rnbd-client.target", 60, "the units are active")
    rnbd.equal(lab.client.run("ls -d /sys/block/rnbd*").split(), ["/sys/block/rnbd0"], "disks")
    connected(lab)
    # The key is in the kernel since the initramfs; the unit that loads it finds it there.
    lab.client.run(f"umask 077\nmkdir -p /etc/rnbd/keys.d\nprintf '%s\\n' '{key.strip()}' >/etc/rnbd/keys.d/vm.1\n"
                   "systemctl restart rnbd-keys.service\njournalctl -u rnbd-keys | grep -q 'key vm:1: unchanged'")


def connected(lab: Lab) -> None:
    client = Admin(lab.client, PROGRAM)
    both = "[ $(grep -lx connected /sys/class/rtrs-client/vm/paths/*/state | wc -l) = 2 ]"
    rnbd.wait_until(lab.client, both, 120, "both paths are connected")
    rnbd.equal([p["proven"] for p in client.json("list paths", "paths")], ["vm:1"] * 2, "what the paths have proven")


def left_alone(lab: Lab) -> None:
    """Neither the units nor a command take the root file system away."""
    lab.client.run("systemctl stop rnbd-client.target rnbd@root.service\n[ -b /dev/rnbd0 ]\n"
                   "[ $(systemctl show -P ActiveState rnbd@root.service) = inactive ]\n"
                   "systemctl start rnbd-client.target\nsystemctl is-active rnbd@root.service", 90)
    Admin(lab.client, PROGRAM).run("unmap root", 6)


def cables(lab: Lab) -> None:
    """A write waits while no cable is there, and goes on."""
    before = lab.client.run("cat /sys/class/rtrs-client/vm/paths/*/stats/reconnects")
    write = "dd if=/dev/zero of=/root/late bs=64k count=16 oflag=direct conv=fsync,notrunc 2>&1"
    writer = lab.client.spawn(f"while [ ! -e /tmp/stop ]; do {write}; done", 300)
    for up in (False, True):
        for nic in (0, 1):
            lab.client.set_link(nic, up)
        if not up:
            lab.server.run("sleep 8")
    rnbd.wait_until(lab.client, "[ \"$(cat /sys/class/rtrs-client/vm/paths/*/stats/reconnects)\" != "
                    f"'{before.strip()}' ]", 120, "the paths were lost")
    connected(lab)
    lab.client.run("touch /tmp/stop")
    written = lab.client.wait(writer)
    rnbd.check(written.ok, f"a write failed: {written.out[-500:]}")
