# SPDX-License-Identifier: GPL-2.0
"""The server's machine is shut down, its disk before its network: clients hear of no error, and know what was lost."""

import random
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import end_load, folder, verified_load
from vmlab.qemu import SERIAL
from vmlab.volatile_disk import VolatileDisk

OURS = ("client", "server")
KEEP_DISKS = ("stock", "debug")  # others have no driver for a disk that fails in a shutdown


def plug_in_disk(lab: Lab) -> str:
    """A disk that was there a second later than the network, and so dies a second earlier."""
    lab.server.run("echo 00000000000000000000000000000002 >/etc/machine-id")
    slow = lab.server.put(lab.modules_of("server") / "tests/misdeeds/slow_shutdown.ko")
    lab.server.run("modprobe virtio_scsi\nf=$(readlink -f /sys/bus/virtio/drivers/virtio_scsi/virtio*/..)\n"
                   f"echo 1 >$f/remove\ninsmod {slow}\necho 1 >/sys/bus/pci/rescan", 30)
    return lab.server.find_disks()[0]


def back(lab: Lab, name: str) -> None:
    # An attempt of the path itself may be under way.
    lab.client.run(f"until echo 1 >{folder(lab, 0)}/reconnect; do sleep 0.5; done", 60)
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 60, "the disk is back")


WRITE = "dd if=/dev/zero bs=4k count=1 oflag=direct conv=notrunc of=/dev/"
FLUSH = "dd if=/dev/zero bs=4k count=1 oflag=direct conv=notrunc,fsync of=/dev/"
SERVING = "/sys/class/rnbd-server/ctl/serving"
INSTANCE = "/sys/class/rnbd-server/ctl/instance"


def numbered(lab: Lab) -> str:
    """The wwid of a disk that has nothing but a serial number: one of this machine, by which it can be opened, too."""
    disk = lab.server.run("modprobe virtio_blk\nfor d in /sys/block/vd*; do\n"
                          f"[ \"$(cat $d/serial)\" = {SERIAL} ] && echo /dev/${{d##*/}}\ndone").strip()
    name = rnbd.map_device(lab, disk, access_mode="ro")
    wwid = rnbd.read(lab.client, f"/sys/block/{name}/wwid")
    rnbd.check(re.fullmatch(rf"rnbd\.[0-9a-f]{{32}}\.{SERIAL}", wwid), f"wwid of a serial number: {wwid!r}")
    rnbd.unmap(lab, name)
    rnbd.unmap(lab, rnbd.map_device(lab, f"wwid:{wwid}", access_mode="ro"))
    return wwid


def loaded_anew(lab: Lab, name: str) -> None:
    """Nothing can have been lost while the machine ran on."""
    lab.client.run(WRITE + name)
    rnbd.unload_server(lab)
    rnbd.load_server(lab)
    back(lab, name)
    lab.client.run(FLUSH + name)


def stopped(lab: Lab, find_disk: Callable[[], str], name: str) -> None:
    """The server stops and tells a number, by which clients know after a boot that what they wrote is there."""
    rnbd.equal(rnbd.read(lab.server, INSTANCE), "0", "instance of a server that serves")
    for bad in ("2", "-1", "yes", ""):
        rnbd.equal(rnbd.write_error(lab.server, SERVING, bad), "EINVAL", f"serving {bad!r}")
    lab.client.run(WRITE + name)
    for serving in ("1", "0", "0", "1", "0"):  # the same again changes nothing
        rnbd.write(lab.server, SERVING, serving, 60)
        rnbd.equal(rnbd.read(lab.server, SERVING), serving, "serving")
    rnbd.wait_until(lab.client, f"grep -qx disconnected {folder(lab, 0)}/state", 10, "the client is told")
    waiting = lab.client.spawn(WRITE + name, 300)
    instance = rnbd.read(lab.server, INSTANCE)
    rnbd.check(instance != "0", "a server that has stopped tells no instance")
    lab.reboot("server", orderly=True)
    find_disk()
    rnbd.load_server(lab, instance=instance)
    back(lab, name)
    rnbd.check(lab.client.wait(waiting).ok, "a write that waited failed")
    lab.client.run(FLUSH + name)


def shut_down(lab: Lab, find_disk: Callable[[], str], name: str) -> None:
    """Under load, and without a number: I/O meets no error, but a flush can't cover what was written before."""
    # Only a real disk still has in the next boot what would be verified.
    load = verified_load(lab, name, depth=32, do_verify=int(lab.kernel.kind in KEEP_DISKS))
    before = rnbd.read(lab.client, f"/sys/block/{name}/stat")
    rnbd.wait_until(lab.client, f'[ "$(cat /sys/block/{name}/stat)" != "{before}" ]', 30, "I/O goes on")
    lab.client.run("sleep 1")
    # A server that falls silent is missed after 35 s (protocol B.3); an orderly end is told.
    lab.server.power_off()
    rnbd.equal(rnbd.read(lab.client, f"{folder(lab, 0)}/state"), "disconnected", "state of the path")
    lab.reboot("server")
    find_disk()
    rnbd.load_server(lab)
    back(lab, name)
    end_load(lab, load)
    rnbd.check(not lab.client.try_run(FLUSH + name).ok, "a flush covered writes that the server may have lost")


def rounds(lab: Lab, find_disk: Callable[[], str]) -> None:
    disk = find_disk()
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, no_path_timeout=-1)
    # Loss is remembered as long as somebody has the disk open.
    lab.client.run("rm -f /tmp/hold; mkfifo /tmp/hold")
    holder = lab.client.spawn(f"exec 3</dev/{name}; read -r end </tmp/hold", 900)
    loaded_anew(lab, name)
    has_number = lab.kernel.kind in KEEP_DISKS
    wwid = numbered(lab) if has_number else ""
    stopped(lab, find_disk, name)
    rnbd.equal(numbered(lab) if has_number else "", wwid, "wwid of a serial number in the next boot")
    shut_down(lab, find_disk, name)
    lab.client.run("echo >/tmp/hold")
    rnbd.check(lab.client.wait(holder).ok, "the holder of the disk failed")
    rnbd.unmap(lab, name)
    rnbd.unload_client(lab)


def run(lab: Lab) -> None:
    # What an earlier scenario has lost is remembered as long as the machine is up.
    if lab.server.try_run("[ -e /sys/bus/platform/devices/rnbd-server-losses ]").ok:
        lab.reboot("server")
    if lab.kernel.kind not in KEEP_DISKS:
        rounds(lab, lambda: rnbd.null_disk(lab.server))
        return
    with tempfile.TemporaryDirectory() as sockets:
        disk = VolatileDisk(Path(sockets) / "disk", 16, random.Random(0))
        lab.server.disks = [disk.path]
        try:
            lab.reboot("server")
            rounds(lab, lambda: plug_in_disk(lab))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{disk.story()}") from error
        finally:
            lab.server.disks = []
            lab.server.kill()
            disk.close()
