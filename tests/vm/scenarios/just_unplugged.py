# SPDX-License-Identifier: GPL-2.0
"""A cable is pulled: what is sent at that moment breaks soft-RoCE's queue pairs, but not the one for connects."""

from vmlab import debian, rnbd, soft_roce
from vmlab.lab import Lab
from vmlab.multipath import back, carries, connects, end_load, folder, verified_load, wait_lost
from vmlab.scenario import Skip

OURS = ("client", "server")
# UML has no cables.
KINDS = ("stock",)
VARIANTS = {"client": {"side": "client"}, "server": {"side": "server"}}
PARAMETERS = "/sys/module/rdma_rxe/parameters"
# As long as a busy machine may need to forget its neighbours; less than what a path waits before it says goodbye.
MOMENT_MS = 500
# A connection that breaks by itself does so with the next packet, and not by silence.
BREAKS = 10


def run(lab: Lab, side: str) -> None:
    machine = lab.server if side == "server" else lab.client
    if debian.series(lab.kernels[machine.name].release) != "6.1":
        raise Skip("the patch is one of 6.1's soft-RoCE, which behaves by it as that of newer kernels")
    soft_roce.exchange(lab, machine, "rxe-unplugged.patch")
    # Answers are still to come when the cable is out, which are what breaks the server's connection.
    disk = rnbd.null_disk(lab.server, irqmode=2, completion_nsec=100_000_000)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    load = verified_load(lab, name)
    rnbd.write(machine, f"{PARAMETERS}/unplugged_ms", str(MOMENT_MS))
    before = connects(lab, 0)
    machine.set_link(0, False)
    if machine is lab.client:
        wait_lost(lab, 0, before, BREAKS)
    else:
        path = folder(lab, 0).replace("rtrs-client", "rtrs-server")
        rnbd.wait_until(lab.server, f"[ ! -e '{path}' ]", BREAKS, "the server's connection breaks")
    carries(lab, 1, "carries all")
    # What a path still has to say is said while the cable is out.
    said = " + ".join(f"$(cat {PARAMETERS}/unplugged_{when})" for when in ("connects", "later"))
    rnbd.wait_until(machine, f"[ $(({said})) -gt 0 ]", 30, "the path says that it ends")
    met = int(rnbd.read(machine, f"{PARAMETERS}/unplugged_connects"))
    rnbd.check(met == 0, f"{met} messages of the connection manager met a cable that had just been pulled")
    machine.set_link(0, True)
    wait_lost(lab, 0, before, 60)
    back(lab, 0)
    carries(lab, 0, "is at work again")
    end_load(lab, load)
    rnbd.unmap(lab, name)
    rnbd.unload_client(lab)
    rnbd.unload_server(lab)
    soft_roce.restore(machine)
