# SPDX-License-Identifier: GPL-2.0
"""A disk of the server that hangs is told by log, uevent, attribute and rnbdadm, fails nothing, and goes on."""

from vmlab import fio, rnbd
from vmlab.admin import Admin
from vmlab.lab import Lab

SLOW = True
OURS = ("client", "server")
TIMEOUT_MS = 3000  # of queue/io_timeout, 30 s by default


def run(lab: Lab) -> None:
    below = rnbd.null_disk(lab.server)
    lab.server.run(f"modprobe dm_mod\nsize=$(blockdev --getsz {below})\n"
                   f"dmsetup create --noudevsync slow --table \"0 $size linear {below} 0\"\ndmsetup mknodes slow")
    try:
        hangs(lab)
    finally:
        lab.server.try_run("dmsetup resume --noudevsync slow; rmmod rnbd_server; dmsetup remove --noudevsync slow")


def hangs(lab: Lab) -> None:
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, "/dev/mapper/slow")
    entry = f"/sys/block/{name}/rnbd"
    rnbd.write(lab.client, f"/sys/block/{name}/queue/io_timeout", str(TIMEOUT_MS))
    events = lab.client.spawn("touch /tmp/listening\ntimeout 100 udevadm monitor --kernel --property --subsystem=block "
                              "|| true", 130)
    rnbd.wait_until(lab.client, "[ -e /tmp/listening ]", 10, "the listener")
    lab.client.run("sleep 1")
    rnbd.equal(rnbd.read(lab.client, f"{entry}/slow"), "0", "slow of an idle disk")
    lab.server.run("dmsetup suspend --nolockfs --noflush --noudevsync slow")
    load = fio.background(lab.client, f"/dev/{name}", 40, depth=4)
    rnbd.wait_until(lab.client, f"grep -qx 1 {entry}/slow", 30, "it is slow")
    rnbd.check(int(rnbd.read(lab.client, f"{entry}/oldest_request_ms")) >= TIMEOUT_MS - 20, "it is slow too early")
    rnbd.equal(rnbd.read(lab.client, f"{entry}/state"), "open", "state of a slow disk")
    # For the tool it is a problem after 10 s, whatever the block layer's limit.
    rnbd.wait_until(lab.client, f"[ $(cat {entry}/oldest_request_ms) -gt 10000 ]", 20, "the requests age")
    said = Admin(lab.client).run(f"explain {name}", 12)
    rnbd.check("server's disk has not answered" in said, f"explain says {said}")
    lab.server.run("dmsetup resume --noudevsync slow")
    rnbd.wait_until(lab.client, f"grep -qx 0 {entry}/slow", 30, "it answers")
    result = lab.client.wait(load)
    rnbd.check(result.ok, f"the load met errors: {result.out[-600:]}")
    lab.client.run("pkill -x udevadm")
    seen = lab.client.wait(events).out
    for word in ("slow", "answers"):
        rnbd.equal(seen.count(f"RNBD_EVENT={word}"), 1, f"events {word}")
    rnbd.check(seen.count("RNBD_SESSION=vm") >= 2, f"the events lack the session: {seen[-600:]}")
    log = lab.client.log()
    for line in ("disk does not answer", "disk answers again"):
        rnbd.check(line in log, f"the log lacks {line!r}")
    # A request that waits for a path is no slow disk.
    rnbd.write(lab.client, f"{entry}/no_path_timeout", "-1")
    path = "/sys/class/rtrs-client/vm/paths/*"
    lab.client.run(f"echo 1 >$(echo {path})/disconnect")
    reader = lab.client.spawn(f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct", 60)
    lab.client.run(f"sleep {2 * TIMEOUT_MS // 1000 + 6}")
    rnbd.equal(rnbd.read(lab.client, f"{entry}/slow"), "0", "slow without a path")
    lab.client.run(f"echo 1 >$(echo {path})/reconnect")
    rnbd.check(lab.client.wait(reader).ok, "the reader that waited failed")
    rnbd.equal(lab.client.log().count("disk does not answer"), 1, "lines of the log")
    rnbd.unmap(lab, name)
    rnbd.unload_client(lab)
