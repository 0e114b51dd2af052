# SPDX-License-Identifier: GPL-2.0
"""Virtual machines on exports of a thin pool, as in the guide: libvirt's hook maps their disks, one of two guests at
work moves to the other host by libvirt's live migration and back, and what they were told is written is there."""

import re
import subprocess
import tempfile
from pathlib import Path

from vmlab import programs, rnbd
from vmlab.guide import Guide
from vmlab.lab import ROOT, Lab
from vmlab.machine import Machine

OURS = ("client", "server")
KINDS = ("stock",)
MORE = ("client2",)
SLOW = True
BY_HAND = True  # minutes: `make cluster`
MEGABYTES = 256
GUESTS = ("guest1", "guest2")
STEPS = 8
WEAR = 4096  # blocks that a guest writes in turn, behind the first one (guest/nested.S)

DOMAIN = """<domain type='qemu'>
  <name>{name}</name>
  <memory unit='MiB'>16</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
    <boot dev='hd'/>
  </os>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    {disk}
    <serial type='file'><source path='/share/{name}.console' append='on'/></serial>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
  </devices>
</domain>
"""

# A guest may have been stopped in the midst of one block more than it has told.
CHECK = """with open("/dev/vg0/{name}", "rb") as disk:
    blocks = range(max(1, {last} - {wear} + 2), {last} + 1)
    for n in blocks:
        disk.seek(512 * (1 + n % {wear}))
        assert disk.read(512) == n.to_bytes(4, "little") * 128, n
print(len(blocks))"""

# What the packages' scripts and units do, in a machine without users and systemd; and TCP, for there is no ssh.
DAEMON = """mkdir -p /var/lib/libvirt /var/cache/libvirt /var/log/libvirt /etc/libvirt/hooks
[ -s /etc/machine-id ] || tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id
cat >/etc/libvirt/qemu.conf <<'END'
user = "root"
group = "root"
security_driver = "none"
namespaces = []
cgroup_controllers = []
stdio_handler = "file"
END
cat >/etc/libvirt/libvirtd.conf <<'END'
listen_tls = 0
listen_tcp = 1
auth_tcp = "none"
auth_unix_ro = "none"
auth_unix_rw = "none"
END
grep -q libvirt-qemu /etc/passwd || {
    echo 'libvirt-qemu:x:64055:64055::/var/lib/libvirt:/bin/false' >>/etc/passwd
    echo 'libvirt-qemu:x:64055:' >>/etc/group
}
libvirtd --daemon --listen
"""


def boot_sector(folder: Path) -> Path:
    """What the guests are."""
    made = folder / "nested.bin"
    for command in (("as", "--32", "-o", str(folder / "nested.o"), str(ROOT / "tests/vm/guest/nested.S")),
                    ("ld", "-m", "elf_i386", "-Ttext", "0x7c00", "--oformat", "binary", "-o", str(made),
                     str(folder / "nested.o"))):
        subprocess.run(command, check=True)
    return made


def serve(lab: Lab, guide: Guide) -> None:
    programs.install(lab, lab.server, ["lvm2", "thin-provisioning-tools"])
    null = rnbd.null_disk(lab.server, megabytes=MEGABYTES)
    disk = rnbd.named_disk(lab.server, null, "pv", "TEST-40")
    rnbd.load_server(lab)
    lab.server.run(f"modprobe dm_thin_pool\npvcreate -qq {disk}\nvgcreate -qq vg0 {disk}", 60)
    for command in guide.block("On the server a thin pool"):
        lab.server.run(command, 120)
    with tempfile.TemporaryDirectory() as folder:
        path = lab.server.put(boot_sector(Path(folder)))
    for name in GUESTS:
        lab.server.run(f"dd if={path} of=/dev/vg0/{name} conv=fsync 2>/dev/null")


def host(lab: Lab, machine: Machine, guide: Guide, hosts: list[Machine]) -> None:
    programs.install(lab, machine, ["libvirt-daemon", "libvirt-clients", "libvirt-daemon-driver-qemu"])
    names = "\n".join(f"{other.address()} {other.name}" for other in hosts)
    machine.run(f"modprobe rnbd_client\ncat >>/etc/hosts <<'END'\n{names}\nEND")
    hook = "\n".join(guide.block("On each host"))
    machine.run(f"mkdir -p /etc/libvirt/hooks\ncat >/etc/libvirt/hooks/qemu <<'END'\n{hook}\nEND\n"
                "chmod 755 /etc/libvirt/hooks/qemu")
    machine.run(DAEMON, 120)
    rnbd.wait_until(machine, "virsh version >/tmp/virsh 2>&1", 240, f"libvirt answers on {machine.name}")


def identity(machine: Machine, guide: Guide, name: str) -> str:
    """The link of an export's disk that is the same everywhere."""
    session = f"session={machine.name}-guests"
    machine.run(f"rnbdadm map {name} --access rw --session {machine.name}-guests --path {guide.places['10.0.0.1']}\n"
                "udevadm settle", 60)
    link = machine.run(f"{session}\nset -- $(udevadm info -q symlink /dev/rnbd/by-session/$session/{name})\n"
                       "for l; do case $l in disk/by-id/rnbd-*) echo /dev/$l;; esac; done").strip()
    machine.run(f"rnbdadm unmap /dev/rnbd/by-session/{machine.name}-guests/{name}", 60)
    return link


def written(machine: Machine, name: str) -> int:
    """What the guest has on the disk, as far as its console on this host says. A move may leave each host a part of a
    line."""
    lines = machine.run(f"cat /share/{name}.console 2>/dev/null || true").split("\n")
    bad = [line for line in lines if line.startswith(("wrong", "failed"))]
    rnbd.check(not bad, f"{name} on {machine.name}: {bad[:3]}")
    told = [int(line[8:], 16) for line in lines if re.fullmatch(r"written [0-9a-f]{8}", line)]
    return told[-1] if told else 0


def goes_on(machine: Machine, name: str, limit: float) -> int:
    before = written(machine, name)
    rnbd.wait_until(machine, f"n=$(tail -n 2 /share/{name}.console | sed -n '1s/^written //p')\n"
                    f"[ $((0x${{n:-0}})) -ge {before + STEPS} ]", limit, f"{name} writes on {machine.name}")
    return written(machine, name)


def moves(lab: Lab, guide: Guide, name: str, source: Machine, target: Machine) -> None:
    order, = guide.block("know each other by their names")
    before = written(source, name)
    source.run(order.replace("qemu+ssh://host2", f"qemu+tcp://{target.address()}").replace("guest1", name), 900)
    after = goes_on(target, name, 300)
    rnbd.check(after > before, f"{name} has written {after} on {target.name}, {before} before")
    rnbd.check(name not in source.run("rnbdadm list -o csv"), f"{source.name} still has the disk")
    rnbd.check(name in target.run("rnbdadm list -o csv"), f"{target.name} has no such disk")


def twice(owner: Machine, other: Machine, name: str) -> None:
    """A guest that runs on one host does not start on another one, where somebody has defined it, too."""
    other.run(f"cat >/run/twice.xml <<'END'\n{owner.run(f'virsh dumpxml --inactive {name}')}\nEND\n"
              f"virsh define /run/twice.xml", 60)
    result = other.try_run(f"virsh start {name}", 120)
    rnbd.check(not result.ok and "hook" in result.out, f"{name} started on {other.name}, too: {result.out[-400:]}")
    other.run(f"virsh undefine {name}\n! rnbdadm list -o csv | grep {name}", 60)
    goes_on(owner, name, 300)


def storage_pool(machine: Machine, guide: Guide, name: str, link: str) -> None:
    """A disk of the host's own in which libvirt makes volumes."""
    pool = "\n".join(guide.block("in the section `devices`"))
    machine.run("mkdir -p /etc/lvm\necho 'devices { types = [ \"rnbd\", 16 ] }' >/etc/lvm/lvm.conf\n"
                f"cat >/run/pool.xml <<'END'\n{pool}\nEND\n"
                f"rnbdadm map {name} --access rw --session {machine.name}-own --path {guide.places['10.0.0.1']}\n"
                f"udevadm settle\ndd if=/dev/zero of={link} bs=1M count=1 conv=fsync 2>/dev/null", 60)
    for command in guide.commands("in `pool.xml`, and"):
        machine.run("cd /run\n" + command.replace("20G", "8M").replace("/dev/disk/by-id/rnbd-WWID", link), 120)
    machine.run("dd if=/usr/bin/bash of=/dev/local/guest3 bs=64k count=16 oflag=direct 2>/dev/null\n"
                "virsh vol-list local\n[ $(lvs --noheadings -o lv_name local) = guest3 ]\n"
                "virsh vol-delete guest3 local\nvirsh pool-destroy local\nvirsh pool-undefine local\n"
                f"vgremove -qq -f local\nrnbdadm unmap {link}", 120)


def run(lab: Lab) -> None:
    hosts = [lab.client, lab.client2]
    guide = Guide("Virtual machines", {"10.0.0.1": lab.server.address(), "400G": f"{MEGABYTES // 2}M", "40G": "40M",
                                       "'host*'": "'client*'"})
    serve(lab, guide)
    for machine in hosts:
        host(lab, machine, guide, hosts)
    disk = "\n".join(guide.block("The guest's XML names the disk"))
    links = {}
    for name in GUESTS:
        link = links[name] = identity(lab.client, guide, name)
        domain = DOMAIN.format(name=name, disk=disk.replace("/dev/disk/by-id/rnbd-WWID", link))
        lab.client.run(f"cat >/run/{name}.xml <<'END'\n{domain}\nEND\nvirsh define /run/{name}.xml\n"
                       f"virsh start {name}", 300)
    for name in GUESTS:
        goes_on(lab.client, name, 900)
    twice(lab.client, lab.client2, "guest1")
    moves(lab, guide, "guest1", lab.client, lab.client2)
    twice(lab.client2, lab.client, "guest1")
    goes_on(lab.client, "guest2", 300)
    moves(lab, guide, "guest1", lab.client2, lab.client)
    last = {}
    for name in GUESTS:
        lab.client.run(f"virsh destroy {name}\nvirsh undefine {name}", 120)
        last[name] = written(lab.client, name)
        rnbd.check(lab.client.run("rnbdadm list -o csv").count(name) == 0, f"{name} has gone, its disk has not")
    for name, n in last.items():
        same = lab.server.run(f"python3 - <<'END'\n{CHECK.format(name=name, last=n, wear=WEAR)}\nEND", 60)
        print(f"# {name}: {same.strip()} blocks, {n} writes", flush=True)
    storage_pool(lab.client, guide, GUESTS[0], links[GUESTS[0]])
    for machine in hosts:
        machine.run("pkill -x libvirtd\nudevadm control --exit")
    lab.server.run("rnbdadm server export remove --all --force\nvgremove -qq -f vg0\ndmsetup remove --noudevsync pv\n"
                   "udevadm control --exit", 60)
