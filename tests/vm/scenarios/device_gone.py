# SPDX-License-Identifier: GPL-2.0
"""The RDMA device of a path is taken away and put back, on either machine: the path goes and comes, no I/O fails."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.machine import Machine
from vmlab.multipath import SESSION, carries, connects, end_load, folder, verified_load, wait_back, wait_lost

SLOW = True
OURS = ("client", "server")


def remove(machine: Machine, nic: int) -> None:
    machine.run(f"rdma link delete rxe{nic}", 60)


def insert(machine: Machine, nic: int) -> None:
    machine.run(f"rdma link add rxe{nic} type rxe netdev {machine.netdev(nic)}", 60)


def asking(lab: Lab) -> None:
    """It goes while somebody's address is being asked for: the removal waits for no answer."""
    text = f"ip:{lab.client.address(1)}@ip:{lab.server.address(1)}77"
    lonely = lab.client.spawn(f"! echo {text} >{SESSION}/add_path", 120)
    lab.client.run("sleep 2")
    rnbd.check(lonely.running, "a path to nobody ended at once")
    try:
        took = rnbd.timed(lab.client, "rdma link delete rxe1", 60)
        rnbd.check(took < 10, f"the device was gone after {took:.1f} s only")
    finally:
        insert(lab.client, 1)
    result = lab.client.wait(lonely)
    rnbd.check(result.ok, f"a path to nobody ended with {result.rc}")


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    rnbd.write(lab.client, f"{SESSION}/mp_policy", "round-robin")
    load = verified_load(lab, name)
    for machine, nic in ((lab.client, 0), (lab.server, 1)):
        before = connects(lab, nic)
        carries(lab, nic, "has its share")
        # Returns when nothing uses the device any more.
        remove(machine, nic)
        try:
            wait_lost(lab, nic, before, 60)
            carries(lab, 1 - nic, "carries all")
        finally:
            insert(machine, nic)
        # By itself: at the latest after the pause of the attempt that still met no device.
        wait_back(lab, nic, before, 120)
        carries(lab, nic, "is at work again")
    rnbd.equal(rnbd.read(lab.client, f"'{folder(lab, 0)}/hca_name'"), "rxe0", "hca_name")
    end_load(lab, load)

    # The only device of the only path: I/O fails, and the disk comes back with it.
    rnbd.write(lab.client, f"{folder(lab, 1)}/remove_path", "1")
    remove(lab.client, 0)
    try:
        rnbd.wait_until(lab.client, f"grep -qx closed /sys/block/{name}/rnbd/state", 60, "the disk is closed")
        read = f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct"
        rnbd.check(not lab.client.try_run(read, 30).ok, "a read without a device worked")
        rnbd.equal(rnbd.write_error(lab.client, f"{folder(lab, 0)}/reconnect", "1"), "ENOTCONN", "reconnect")
    finally:
        insert(lab.client, 0)
    rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1")
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 60, "the disk is back")
    lab.client.run(read, 30)
    asking(lab)
    rnbd.unmap(lab, name)
