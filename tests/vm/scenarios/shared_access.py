# SPDX-License-Identifier: GPL-2.0
"""A shared disk: many writers and no exclusive one, fencing by the export's rules, and a writer that loses its power.

A third client runs on the server's own machine, so that it lives on when the client's machine is switched off.
"""

from vmlab import fio, rnbd
from vmlab.lab import Lab
from vmlab.shared import Client

SLOW = True
OURS = ("client", "server")
TREE = rnbd.CONFIGURED
OPENED = "/sys/class/rnbd-server/ctl/devices/*/sessions"
GONE = 35 + 15


def opened(lab: Lab) -> list[str]:
    """Who has the server's one disk open, and how."""
    return lab.server.run(f"cd {OPENED}\ngrep -H . */access_mode").split()


def rules(lab: Lab, disk: str, a: Client, b: Client, c: Client) -> None:
    """Those who share, and those who want to be alone, keep each other out: of the disk, by whatever name."""
    for nobody in (disk, "alone"):
        a.refused(nobody, "shared", "EACCES")
    for client in (a, b, c):
        client.map("gfs", "shared")
    rnbd.equal(opened(lab), [f"{name}/access_mode:shared" for name in ("a", "b", "c")], "who shares")
    late = Client(lab, lab.client, "late")
    for device, mode in (("gfs", "rw"), ("gfs", "migration"), ("alone", "rw"), (disk, "migration")):
        late.refused(device, mode, "EPERM")
    rnbd.write(lab.client, f"{rnbd.CTL}/discover", late.text("-", "ro").partition(" device_path")[0])
    told = [line.split()[1:] for line in lab.client.run(f"cat {rnbd.CTL}/discovered").splitlines()[1:-1]]
    rnbd.equal(told, [["shared", "written", "gfs"], ["rw", "written", "alone"]], "what is told of the exports")
    late.map("alone", "ro")
    late.unmap()
    for client in (a, b, c):
        client.refused("gfs", "shared", "EEXIST")
        client.unmap()
    for first, mode in ((a, "rw"), (b, "migration")):
        first.map("gfs", mode)
        c.refused("gfs", "shared", "EPERM")
        first.unmap()


def together(lab: Lab, a: Client, b: Client, c: Client) -> None:
    """All write at once, each where the others do not; what one has written, the others read."""
    jobs = [(client.machine, client.machine.spawn(client.verify(area), 180)) for area, client in enumerate((a, b, c))]
    for machine, job in jobs:
        result = machine.wait(job)
        rnbd.check(result.ok, f"a writer beside others failed: {result.out[-800:]}")
    for round_, (writer, readers) in enumerate(((a, (b, c)), (c, (a, b)), (b, (c, a)))):
        writer.machine.run(writer.put("/usr/bin/bash", round_, 8))
        for reader in readers:
            reader.same("/usr/bin/bash", round_, 8)


def fence(lab: Lab, b: Client, others: tuple[Client, ...]) -> None:
    """Who is taken out of the export's list has written his last when that returns, and does not come back."""
    keeper = others[-1]
    load = fio.background(b.machine, f"/dev/{b.disk}", 120, rw="randwrite", depth=32)
    busy = f"[ $(tr -s ' ' </sys/block/{b.disk}/stat | sed 's/^ //' | cut -d' ' -f5) -gt 200 ]"
    rnbd.wait_until(b.machine, busy, 60, "load")
    names = " ".join(client.session for client in others)
    lab.server.run(f"echo '{names}' >{TREE}/gfs/allowed_sessions\n{keeper.put('/usr/bin/bash', 0, 16)}", 60)
    rnbd.check(not b.machine.wait(load).ok, "the fenced client's I/O went on")
    rnbd.wait_until(b.machine, f"grep -qx closed /sys/block/{b.disk}/rnbd/state", 20, "the fenced client is closed out")
    rnbd.equal(rnbd.write_error(b.machine, f"/sys/block/{b.disk}/rnbd/remap_device", "1"), "EACCES", "remap")
    for client in others:
        client.same("/usr/bin/bash", 0, 16)
        client.machine.run(client.verify(1), 120)
    rnbd.write(lab.server, f"{TREE}/gfs/allowed_sessions", "")
    rnbd.write(b.machine, f"/sys/block/{b.disk}/rnbd/remap_device", "1")
    b.same("/usr/bin/bash", 0, 16)


def power_off(lab: Lab, a: Client, c: Client) -> None:
    """One writer's machine goes off under load: the other does not notice, and finds its last write done."""
    fio.background(a.machine, f"/dev/{a.disk}", 300, rw="randwrite", depth=32)
    loop = f"while [ ! -e /run/enough ]; do {c.verify(1, '256k')} || exit 1; echo >>/run/rounds; done"
    lab.server.run("rm -f /run/enough /run/rounds")
    survivor = lab.server.spawn(loop, 300)
    rnbd.wait_until(lab.server, "[ -e /run/rounds ]", 60, "the survivor writes")
    rnbd.check(len(opened(lab)) == 3, "all three have the disk open")
    lab.client.kill()
    rnbd.wait_until(lab.server, f"! ls -d {OPENED}/[ab]", GONE, "the dead machine's sessions are gone")
    before = int(lab.server.run("wc -l </run/rounds"))
    lab.server.run(c.put("/usr/bin/bash", 0, 16))
    rnbd.wait_until(lab.server, f"[ $(wc -l </run/rounds) -ge {before + 2} ]", 60, "the survivor goes on")
    lab.server.run("touch /run/enough")
    result = lab.server.wait(survivor)
    rnbd.check(result.ok, f"the survivor saw errors: {result.out[-800:]}")
    c.same("/usr/bin/bash", 0, 16)
    # Alone is nobody yet, and the dead one comes back to what the living one has written.
    Client(lab, lab.server, "late").refused("gfs", "rw", "EPERM")
    lab.reboot("client")
    rnbd.load_client(lab)
    a.map("gfs", "shared")
    a.same("/usr/bin/bash", 0, 16)
    rnbd.equal(opened(lab), ["a/access_mode:shared", "c/access_mode:shared"], "who shares after that")


def fence_of_the_dead(lab: Lab, a: Client, c: Client) -> None:
    """The list waits, too, for what a session that has ended by itself has left in a disk that is slow."""
    load = {"rw": "randwrite", "depth": 32}
    fio.background(a.machine, f"/dev/{a.disk}", 300, **load)
    down = "$(dmesg | grep -c 'RTRS Session a disconnected' || true)"
    before = int(lab.server.run(f"echo {down}"))
    lab.server.run("dmsetup suspend --nolockfs --noflush --noudevsync shared")
    waiting = f"$(tr -s ' ' </sys/block/{a.disk}/inflight | cut -d' ' -f3)"
    rnbd.wait_until(a.machine, f"[ {waiting} -ge 32 ]", 60, "writes wait for the disk")
    lab.client.kill()
    rnbd.wait_until(lab.server, f"[ {down} -gt {before} ]", GONE, "the session has ended")
    rnbd.equal(opened(lab), ["a/access_mode:shared", "c/access_mode:shared"], "what its I/O keeps open")
    fence = lab.server.spawn(f"echo c >{TREE}/gfs/allowed_sessions", 120)
    rnbd.wait_until(lab.server, f"grep -qx c {TREE}/gfs/allowed_sessions", 30, "the list is changed")
    lab.server.run("sleep 1")
    rnbd.check(fence.running, "the fence was said to stand while the dead one's writes were under way")
    lab.server.run("dmsetup resume --noudevsync shared")
    rnbd.check(lab.server.wait(fence).ok, "the fence failed")
    rnbd.equal(opened(lab), ["c/access_mode:shared"], "who is left")
    lab.server.run(c.put("/usr/bin/bash", 0, 16))
    c.same("/usr/bin/bash", 0, 16)
    lab.reboot("client")
    rnbd.load_client(lab)
    a.refused("gfs", "shared", "EACCES")
    rnbd.write(lab.server, f"{TREE}/gfs/allowed_sessions", "")


def run(lab: Lab) -> None:
    disk = rnbd.named_disk(lab.server, rnbd.null_disk(lab.server), "shared", "TEST-31")
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    lab.server.run("modprobe rnbd_client", 90)
    a, b = Client(lab, lab.client, "a"), Client(lab, lab.client, "b")
    c = Client(lab, lab.server, "c")
    rnbd.make_export(lab.server, "gfs", disk, access="shared")
    rnbd.make_export(lab.server, "alone", disk)
    try:
        rules(lab, disk, a, b, c)
        for client in (a, b, c):
            client.map("gfs", "shared")
        together(lab, a, b, c)
        fence(lab, b, (a, c))
        power_off(lab, a, c)
        fence_of_the_dead(lab, a, c)
        c.unmap()
        a.map("gfs", "rw")
        a.unmap()
    finally:
        lab.server.try_run("dmsetup resume --noudevsync shared")
        for machine in (lab.client, lab.server):
            if machine.alive:
                machine.try_run("for d in /sys/block/rnbd*/rnbd; do echo force >$d/unmap_device; done")
        lab.server.try_run("touch /run/enough\nrmmod rnbd_client rtrs_client", 90)
        rnbd.wait_until(lab.server, f"[ $(cat {TREE}/gfs/users) = 0 ]", GONE, "no users")
        lab.server.run(f"rmdir {TREE}/gfs {TREE}/alone\ndmsetup remove --noudevsync --retry shared")
