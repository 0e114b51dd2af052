# SPDX-License-Identifier: GPL-2.0
"""OCFS2 on a shared disk, as in the guide: two machines write to one file in turn and make files in one folder, one of
them loses its power, the other goes on, and what either was told is on the disk is there."""

from vmlab import programs, rnbd
from vmlab.guide import Guide
from vmlab.lab import Lab
from vmlab.machine import Machine

OURS = ("client", "server")
KINDS = ("stock",)
MORE = ("client2",)
SLOW = True
BY_HAND = True  # minutes: `make cluster`
TREE = rnbd.CONFIGURED
MEGABYTES = 256
BLOCK = 4096
# As the guide has it, until the heartbeats on the disk count as missed, and what an emulated machine does then.
DEAD = 60 + 90
STEPS = 12

# Blocks of one file in turn with the other machine, so that each needs the lock and the pages of the other one all
# the time; and a file of its own for each. Says what is on the disk for good.
WRITER = """cd /srv
rm -f /share/enough
n=$(cat /share/acknowledged 2>/dev/null || echo 0)
while [ ! -e /share/enough ]; do
    n=$((n + 1))
    printf '%0{size}d\\n' $n | dd of=common bs={block} seek=$((2 * n + {node})) conv=notrunc,fsync 2>/dev/null
    echo $n >files/{node}.$n
    sync files/{node}.$n files
    echo $n >/share/new
    mv /share/new /share/acknowledged
done"""

CHECK = """import os, sys
steps = [int(word) for word in sys.argv[1:]]
with open("/srv/common", "rb") as common:
    for node, last in enumerate(steps):
        for n in range(1, last + 1):
            common.seek((2 * n + node) * {block})
            got = common.read({block})
            assert got == b"%0{size}d\\n" % n, (node, n, got[-20:])
            with open(f"/srv/files/{{node}}.{{n}}") as file:
                assert file.read() == f"{{n}}\\n", (node, n)
print(len(os.listdir("/srv/files")))
"""


def acknowledged(machine: Machine) -> int:
    return int(machine.run("cat /share/acknowledged 2>/dev/null || echo 0"))


def join(lab: Lab, guide: Guide, machine: Machine) -> str:
    """Everything up to the mapped disk; how to mount what is on it."""
    programs.install(lab, machine, ["ocfs2-tools"])
    config = "\n".join(line if line.endswith(":") else f"\t{line}" for line in guide.block("On every node"))
    machine.run(f"mkdir -p /etc/ocfs2\ncat >/etc/ocfs2/cluster.conf <<'END'\n{config}\nEND\n"
                "modprobe -a rnbd_client ocfs2 ocfs2_stack_o2cb")
    # What the package's unit does, with its default.
    machine.run("o2cb register-cluster pool\n"
                "[ $(cat /sys/kernel/config/cluster/pool/heartbeat/dead_threshold) = 31 ]")
    order, = guide.block("and on each client, with a session")
    machine.run(order.replace("node1", machine.name), 60)
    machine.run("udevadm settle")
    mount, = guide.block("and on each\n")
    return f"mkdir -p /srv\n{mount}"


def check(machine: Machine, *steps: int) -> None:
    machine.run(f"cat >/run/check.py <<'END'\n{CHECK.format(block=BLOCK, size=BLOCK - 1)}\nEND\n"
                f"python3 /run/check.py {' '.join(map(str, steps))}", 300)


def run(lab: Lab) -> None:
    nodes = [lab.client, lab.client2]
    null = rnbd.null_disk(lab.server, megabytes=MEGABYTES)
    disk = rnbd.named_disk(lab.server, null, "shared", "TEST-32")
    rnbd.load_server(lab)
    rnbd.make_export(lab.server, "gfs", disk, access="shared")
    guide = Guide("Shared disks", {"10.0.0.1": lab.server.address(), "192.0.2.21": nodes[0].address(),
                                   "192.0.2.22": nodes[1].address(), "name = node1": f"name = {nodes[0].name}",
                                   "name = node2": f"name = {nodes[1].name}"})
    mount = [join(lab, guide, node) for node in nodes]
    make, = (line for line in guide.block("The disk is mapped on each") if line.startswith("mkfs"))
    nodes[0].run(make.replace("node1", nodes[0].name), 120)
    nodes[1].run("udevadm trigger --settle /dev/rnbd0")
    for node, command in zip(nodes, mount):
        node.run(command, 120)
    nodes[0].run("mkdir /srv/files")
    work = [node.spawn(WRITER.format(node=n, block=BLOCK, size=BLOCK - 1), 1200) for n, node in enumerate(nodes)]
    for node in nodes:
        rnbd.wait_until(node, f"[ $(cat /share/acknowledged) -ge {STEPS} ]", 240, f"{node.name} writes")
    last = acknowledged(nodes[1])
    nodes[1].kill()
    before = acknowledged(nodes[0])
    took = rnbd.wait_until(nodes[0], f"[ $(cat /share/acknowledged) -ge {before + STEPS} ]", DEAD,
                           "the one that is left goes on")
    print(f"# it went on after {took:.0f} s of the machine's clock", flush=True)
    check(nodes[0], acknowledged(nodes[0]), last)
    lab.reboot(nodes[1].name)
    command = join(lab, guide, nodes[1])
    nodes[1].run(command, 120)
    rnbd.write(nodes[1], "/share/acknowledged", str(last))
    again = nodes[1].spawn(WRITER.format(node=1, block=BLOCK, size=BLOCK - 1), 600)
    rnbd.wait_until(nodes[1], f"[ $(cat /share/acknowledged) -ge {last + STEPS} ]", 240, "it writes again")
    for node, job in zip(nodes, (work[0], again)):
        node.run("touch /share/enough")
        rnbd.check(node.wait(job).ok, f"{node.name}: the writer failed")
    done = [acknowledged(node) for node in nodes]
    for node in nodes:
        check(node, *done)
    for node in nodes:
        node.run("umount /srv", 120)
    told = nodes[0].run("fsck.ocfs2 -fn /dev/rnbd0", 120)
    rnbd.check("All passes succeeded" in told, f"fsck:\n{told}")
    for node in nodes:
        node.run("o2cb unregister-cluster pool\nrnbdadm unmap --all\nudevadm control --exit")
    lab.server.run(f"echo 0 >{TREE}/gfs/enable\nrmdir {TREE}/gfs\ndmsetup remove --noudevsync shared")
