# SPDX-License-Identifier: GPL-2.0
"""Unmapping: EBUSY while open, force at any time, with I/O running, bad words refused; then the session is gone."""

from vmlab import fio, rnbd
from vmlab.lab import Lab


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    control = f"/sys/block/{name}/rnbd/unmap_device"
    for word in ("", "now", "forceful", "norma"):
        rnbd.equal(rnbd.write_error(lab.client, control, word), "EINVAL", f"unmap_device with {word!r}")

    # An opener keeps the disk; when it has gone, normal works.
    holder = lab.client.spawn(f"exec 4</dev/{name}\nwhile [ ! -e /tmp/go ]; do sleep 0.1; done\nrm /tmp/go", 60)
    lab.client.run("sleep 1")
    rnbd.equal(rnbd.write_error(lab.client, control, "normal"), "EBUSY", "unmap while open")
    lab.client.run("touch /tmp/go")
    lab.client.wait(holder)
    rnbd.unmap(lab, name, "normal")
    rnbd.equal(rnbd.sessions(lab.client, "client"), [], "sessions after the last unmap")

    # Force does not ask; the opener sees errors and must not be stuck.
    name = rnbd.map_device(lab, disk)
    holder = lab.client.spawn(f"exec 4</dev/{name}\ntouch /tmp/open\nwhile [ ! -e /tmp/go ]; do sleep 0.1; done\n"
                              "rm /tmp/go\n"
                              "! dd bs=4k count=1 skip=100 iflag=direct <&4 >/dev/null 2>&1", 60)
    rnbd.wait_until(lab.client, "[ -e /tmp/open ]", 10, "the opener")
    rnbd.unmap(lab, name, "force")
    lab.client.run("touch /tmp/go")
    rnbd.check(lab.client.wait(holder).ok, "a read through a forcibly unmapped disk worked")

    # Force under load.
    for _ in range(3):
        name = rnbd.map_device(lab, disk)
        load = fio.background(lab.client, f"/dev/{name}", 300)
        rnbd.wait_until(lab.client, f"[ $(cut -c1-200 /sys/block/{name}/stat | tr -s ' ' | cut -d' ' -f2) -gt 50 ]",
                        20, "load")
        rnbd.unmap(lab, name, "force")
        result = lab.client.wait(load)
        rnbd.check(not result.ok and not result.timed_out, f"fio on an unmapped disk ended with {result.rc}")
    rnbd.equal(rnbd.sessions(lab.client, "client"), [], "sessions at the end")
    rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rnbd-server/ctl/devices)\" ]", 10, "exports closed")
