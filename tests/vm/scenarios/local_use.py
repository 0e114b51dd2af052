# SPDX-License-Identifier: GPL-2.0
"""A server's disk is used once. While a client has a configured export open, a mount, swap, a volume or mkfs on the
server gets EBUSY; and what the server uses is not exported, and the log says by what it is used, unless the export's
local_use is shared. A device that is opened by its path is claimed by nobody, as ever."""

from vmlab import rnbd
from vmlab.guide import Guide
from vmlab.lab import Lab

OURS = ("client", "server")
TREE = rnbd.CONFIGURED
BUSY = "busy"


def users_are_gone(lab: Lab, *exports: str) -> None:
    files = " ".join(f"{TREE}/{name}/users" for name in exports)
    rnbd.wait_until(lab.server, f"! grep -hv '^0$' {files}", 30, "no users")


def map_error(lab: Lab, device: str, session: str = "vm", **options: object) -> str:
    return rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", rnbd.map_text(lab, device, session, **options))


def refused(lab: Lab, export: str, words: str) -> None:
    """At OPEN, and when the export is enabled anew; each time the log has a line that names what uses the device."""
    said = f"is in use on this server: {words}"
    count = f"dmesg | grep -c '{export}: Not .*{said}' || true"
    before = int(lab.server.run(count))
    rnbd.equal(map_error(lab, export), "EBUSY", f"mapping what is {words}")
    rnbd.write(lab.server, f"{TREE}/{export}/enable", "0")
    rnbd.equal(rnbd.write_error(lab.server, f"{TREE}/{export}/enable", "1"), "EBUSY", f"enabling what is {words}")
    rnbd.equal(rnbd.read(lab.server, f"{TREE}/{export}/enable"), "0", "enable after that")
    rnbd.equal(int(lab.server.run(count)) - before, 2, f"lines of the log that say: {words}")
    # As the administrator may have it.
    rnbd.write(lab.server, f"{TREE}/{export}/local_use", "shared")
    rnbd.write(lab.server, f"{TREE}/{export}/enable", "1")
    name = rnbd.map_device(lab, export)
    lab.client.run(f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null")
    rnbd.unmap(lab, name)
    users_are_gone(lab, export)
    rnbd.write(lab.server, f"{TREE}/{export}/local_use", "exclusive")


def used_by_the_server(lab: Lab, disk: str) -> None:
    """File system, swap, volume, program: in this order."""
    size = int(lab.server.run(f"blockdev --getsz {disk}"))
    lab.server.run(f"mkfs.ext4 -qF {disk}\nmkdir -p /tmp/srv\nmount {disk} /tmp/srv")
    refused(lab, "one", "mounted on /tmp/srv")
    # By its path it is to be had as ever.
    rnbd.unmap(lab, rnbd.map_device(lab, disk))
    # Of swap only an open can tell.
    lab.server.run(f"umount /tmp/srv\nmkswap -q {disk}\nswapon {disk}")
    rnbd.equal(map_error(lab, "one"), "EBUSY", "mapping swap")
    lab.server.run(f"dmesg | grep -q 'one: Not opened for vm: .*: used as swap'\nswapoff {disk}\n"
                   f"dmsetup create --noudevsync lv --table '0 {size} linear {disk} 0'")
    refused(lab, "one", "held by lv")
    lab.server.run("dmsetup remove --noudevsync --retry lv")
    # Nothing tells of a program.
    hold = f"perl -MFcntl -e 'sysopen(F, \"{disk}\", O_RDWR | O_EXCL) or die $!; print STDERR 1; sleep %d' 2>/tmp/held"
    job = lab.server.spawn("rm -f /tmp/held\n" + hold % 600, 900)
    rnbd.wait_until(lab.server, "[ -s /tmp/held ]", 30, "a program has the disk")
    rnbd.equal(map_error(lab, "one"), "EBUSY", "mapping what a program has exclusively")
    lab.server.run("dmesg | grep -q 'one: Not opened for vm: .*: what no list .* has it exclusively'\npkill perl")
    lab.server.wait(job)


def used_by_a_client(lab: Lab, disk: str) -> None:
    size = int(lab.server.run(f"blockdev --getsz {disk}"))
    lab.server.run(f"mkfs.ext4 -qF {disk}")
    # Several sessions, and two exports, are one holder.
    one, two = rnbd.map_device(lab, "one", access_mode="ro"), rnbd.map_device(lab, "two", session="other")
    for name in (one, two):
        for what, script in (("mount", f"mount {disk} /tmp/srv"), ("mount ro", f"mount -o ro {disk} /tmp/srv"),
                             ("mkswap", f"mkswap {disk}"), ("mkfs", f"mkfs.ext4 -qF {disk}"),
                             ("a volume", f"dmsetup create --noudevsync lv --table '0 {size} linear {disk} 0'"),
                             ("an array", "mdadm --create /dev/md9 --level=1 --raid-devices=2 --metadata=1.2 --run "
                              f"{disk} missing")):
            result = lab.server.try_run(f"LC_ALL=C {script} 2>&1", 60)
            rnbd.check(not result.ok and any(word in result.out for word in (BUSY, "in use", "already mounted")),
                       f"{what} on a disk that is exported: {result.ok} {result.out}")
        # The claim goes with the last one.
        rnbd.unmap(lab, name)
        users_are_gone(lab, "one" if name == one else "two")
    lab.server.run(f"mount {disk} /tmp/srv\numount /tmp/srv")


def parts(lab: Lab, disk: str) -> None:
    """A disk and its partition are not exported both, unless that is said of one of them."""
    lab.server.run(f"printf 'label: gpt\\nsize=16MiB\\n' | sfdisk -q --wipe always {disk}\n"
                   f"blockdev --rereadpt {disk} || true\n[ -b {disk}p1 ]", 60)
    rnbd.make_export(lab.server, "part", f"{disk}p1")
    for first, second in (("one", "part"), ("part", "one")):
        name = rnbd.map_device(lab, first)
        refused(lab, second, f"in use by export {first}")
        rnbd.write(lab.server, f"{TREE}/{second}/enable", "0")
        rnbd.unmap(lab, name)
        users_are_gone(lab, first)
        rnbd.write(lab.server, f"{TREE}/{second}/enable", "1")
        rnbd.unmap(lab, rnbd.map_device(lab, second))
        users_are_gone(lab, second)
    # Of a partition that is mounted the disk knows, and the other way round.
    lab.server.run(f"mkfs.ext4 -qF {disk}p1\nmount {disk}p1 /tmp/srv")
    refused(lab, "one", "mounted on /tmp/srv")
    refused(lab, "part", "mounted on /tmp/srv")
    lab.server.run(f"umount /tmp/srv\nrmdir {TREE}/part")


LVM = """activation { udev_sync = 0 udev_rules = 0 monitoring = 0 }
devices { types = [ "rnbd", 16, "nullb", 16 ] obtain_device_list_from_udev = 0 use_devicesfile = 0 }
"""


def left_alone(lab: Lab, disk: str) -> None:
    """What a client has put on its disk looks as if it were the server's: md and LVM of the server take it, as udev
    has them do when the machine starts, but not with the guide's lines."""
    guide = Guide("A server", {"/dev/disk/by-id/wwn-0x5000c500a1b2c3d4": disk})
    md, lvm = guide.block("On a server with mdadm"), guide.block("On a server with LVM")
    tools = "export MDADM_NO_UDEV=1 LVM_SYSTEM_DIR=/tmp/lvm LVM_SUPPRESS_FD_WARNINGS=1\nmkdir -p /run/mdadm /tmp/lvm\n"
    for machine in (lab.client, lab.server):
        machine.run(f"modprobe -a raid1 dm_mod\n{tools}cat >/tmp/lvm/lvm.conf <<'END'\n{LVM}END")
    name = rnbd.map_device(lab, "one")
    lab.client.run(f"{tools}wipefs -qa /dev/{name}\nmdadm --create /dev/md9 --level=1 --raid-devices=2 --metadata=1.2 "
                   f"--run /dev/{name} missing 2>&1\nmdadm --stop /dev/md9 2>&1", 90)
    rnbd.unmap(lab, name)
    users_are_gone(lab, "one")
    take = f"{tools}mdadm --incremental --run %s {disk} 2>&1 || true\ncat /proc/mdstat"
    mine = disk.removeprefix("/dev/")
    rnbd.check(f" {mine}[" in lab.server.run(take % "", 60), "md of the server takes what nobody keeps from it")
    refused(lab, "one", "held by md")
    lab.server.run(f"{tools}mdadm --stop --scan 2>&1", 60)
    lab.server.run("cat >/tmp/mdadm.conf <<'END'\n" + "\n".join(md) + "\nEND")
    rnbd.check(f" {mine}[" not in lab.server.run(take % "--config /tmp/mdadm.conf", 60), "md of the server takes it")

    name = rnbd.map_device(lab, "one")
    lab.client.run(f"{tools}wipefs -qa /dev/{name}\npvcreate -qy /dev/{name}\nvgcreate -qy its /dev/{name}\n"
                   "lvcreate -qy -an -Zn -l1 -n data its\nvgchange -an its", 90)
    rnbd.unmap(lab, name)
    users_are_gone(lab, "one")
    take = f"{tools}vgchange -ay 2>&1 || true\ndmsetup ls"
    rnbd.check("its-data" in lab.server.run(take, 60), "LVM of the server takes what nobody keeps from it")
    refused(lab, "one", "held by its-data")
    lab.server.run(f"{tools}vgchange -an 2>&1", 60)
    lab.server.run("cat >>/tmp/lvm/lvm.conf <<'END'\n" + "\n".join(lvm) + "\nEND")
    rnbd.check("its-data" not in lab.server.run(take, 60), "LVM of the server takes it")


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    for name in ("one", "two"):
        rnbd.make_export(lab.server, name, disk)
    rnbd.equal(rnbd.write_error(lab.server, f"{TREE}/one/local_use", "rw"), "EINVAL", "a local_use that is none")
    try:
        used_by_the_server(lab, disk)
        rnbd.write(lab.server, f"{TREE}/one/enable", "1")
        used_by_a_client(lab, disk)
        parts(lab, disk)
        left_alone(lab, disk)
    finally:
        lab.client.try_run("for d in /sys/block/rnbd*/rnbd; do [ ! -e $d ] || echo force >$d/unmap_device; done")
        lab.server.try_run(f"set +e\numount /tmp/srv; swapoff {disk}; dmsetup remove --noudevsync --retry lv; sleep 1\n"
                           f"rmdir {TREE}/*", 60)
