# SPDX-License-Identifier: GPL-2.0
"""A configured disk comes back after each side has lost power, by nothing but `rnbdadm apply`."""

from vmlab import fio, rnbd
from vmlab.admin import Admin
from vmlab.lab import Lab

SLOW = True
OURS = ("client",)


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    text = config(lab, disk)
    client = start(lab, text)
    rnbd.equal(client.run("apply"), "device data: mapped\n", "the first apply")
    rnbd.equal(client.run("apply"), "device data: unchanged\n", "the second apply")
    rnbd.equal(client.run("diff"), "", "difference")
    rnbd.equal(rnbd.read(lab.client, "/sys/class/rtrs-client/vm/request_timeout"), "17", "a setting")
    lab.client.run("echo before the loss of power | dd of=/dev/rnbd0 bs=4k conv=sync oflag=direct 2>/dev/null")

    lab.reboot("client")
    client = start(lab, text)
    rnbd.check("device data" in client.run("diff", 12), "the missing device is a difference")
    rnbd.equal(client.run("apply"), "device data: mapped\n", "apply after the loss of power")
    rnbd.check("before the loss" in lab.client.run("head -c 4096 /dev/rnbd0 | tr -d '\\0'"), "the data is there")
    rnbd.equal(client.run("diff"), "", "difference")

    lab.reboot("server")
    rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    # The paths need not have noticed yet that the server is another one.
    client.run("session disconnect vm --force")
    rnbd.equal(client.json("list", "devices")[0]["state"], "closed", "state without a path")
    rnbd.wait_until(lab.client, f"{client.program} recover data", 120, "the device comes back")
    rnbd.equal(client.run("apply"), "device data: unchanged\n", "apply after the server came back")
    fio.verify(lab.client, "/dev/rnbd0", fio.Verify("4k", 4, "256k"))

    # What is saved describes what runs.
    client.run("save --file /etc/rnbd/rnbd.conf --force")
    rnbd.equal(client.run("diff"), "", "difference to what was saved")
    client.run("unmap data")
    rnbd.equal(client.json("list", "devices"), [], "devices")


def config(lab: Lab, disk: str) -> str:
    paths = "".join(f"path = {lab.client.address(n)}@{lab.server.address(n)}\n" for n in (0, 1))
    return (f"[defaults]\nrequest-timeout = 17\n[session vm]\npolicy = round-robin\n{paths}"
            f"[device data]\nsession = vm\ndevice = {disk}\n")


def start(lab: Lab, text: str) -> Admin:
    """What a boot does: the modules, and the file that outlives it."""
    rnbd.load_client(lab)
    client = Admin(lab.client)
    client.configure(text)
    return client
