# SPDX-License-Identifier: GPL-2.0
"""A disk on an installed system, by the guide's lines: udev's names, mounts of fstab, and LVM, without a hand.

[fstab]: a new file system has its name at once and can be unmapped; a mount outlasts the loss of all paths, and waits
for a server that comes later. [late]: later than systemd waits by itself. [away]: a shutdown of the client, which has
written, ends while its server is away. [lvm]: as lvm2 is installed, volumes are
there each time that the disk is mapped, and in a shutdown they end before it. [names]: partitions by other names, an
automount, a bind mount, LUKS by crypttab and a service that needs it, over two reboots.
"""

import time

from vmlab import rnbd
from vmlab.admin import Admin
from vmlab.channel import scale
from vmlab.guide import Guide
from vmlab.installed import PROGRAM, install
from vmlab.lab import ROLES, Lab

SLOW = True
OURS = ("client", "server")
KINDS = ("stock",)
INSTALLED = True
VARIANTS = {**{what: {"what": what} for what in ("fstab", "late", "away", "names")},
            "lvm": {"what": "lvm", "maps": 5}, "lvm-often": {"what": "lvm", "maps": 50}}
BY_HAND = True  # minutes each: an installed system boots several times

DISK = "/dev/nullb7"
UNIT = "rnbd@data.service"
OPEN = "grep -qx open /sys/block/rnbd0/rnbd/state"


def run(lab: Lab, what: str, maps: int = 0) -> None:
    install(lab, ROLES)
    serve(lab)
    paths = "".join(f"path = {lab.client.address(n)}@{lab.server.address(n)}\n" for n in (0, 1))
    client = Admin(lab.client, PROGRAM)
    client.configure(f"[session vm]\n{paths}[device data]\nsession = vm\ndevice = {DISK}\nno-path-timeout = -1\n")
    lab.client.run("systemctl daemon-reload\nsystemctl enable --now rnbd-client.target\n"
                   f"systemctl is-active {UNIT}\nmkdir -p /srv/data", 180)
    if what == "names":
        names(lab)
        return
    if what == "lvm":
        volumes(lab, client, maps)
    else:
        uuid = file_system(lab, client)
        if what == "away":
            server_away(lab)
            return
        if what == "fstab":
            paths_lost(lab, uuid)
        server_later(lab, 150 if what == "late" else 20)
    lab.client.run("umount /srv/data", 60)


def serve(lab: Lab) -> None:
    rnbd.null_disk(lab.server, megabytes=256)
    rnbd.load_server(lab)


def fstab(lab: Lab, title: str, begin: str, uuid: str) -> None:
    """The guide's line."""
    line = Guide(title, {"UUID=...": f"UUID={uuid}"}).block(begin)[0]
    lab.client.run(f"echo '{line}' >>/etc/fstab\nsystemctl daemon-reload\nsystemctl start srv-data.mount", 120)


def file_system(lab: Lab, client: Admin) -> str:
    """Made, and named at once; whoever unmaps right behind the program that made it meets no EBUSY of udev's."""
    for _ in range(3):
        lab.client.run("mkfs.ext4 -qF /dev/rnbd0")
        client.run("unmap rnbd0")
        lab.client.run(f"systemctl restart {UNIT}", 120)
    lab.client.run("mkfs.ext4 -qF -L store /dev/rnbd0\nudevadm settle\n[ -b /dev/disk/by-label/store ]")
    uuid = lab.client.run("blkid -s UUID -o value /dev/rnbd0").strip()
    named = lab.client.run(f"readlink -f /dev/disk/by-uuid/{uuid}").strip()
    rnbd.equal(named, "/dev/rnbd0", "what the name of the file system leads to")
    fstab(lab, "A disk that is there after each start", "In `/etc/fstab`", uuid)
    return uuid


def paths_lost(lab: Lab, uuid: str) -> None:
    """All cables out, then in again: names and mount stay, whoever asks udev meanwhile."""
    lab.client.run("echo before >/srv/data/file\nsync")
    cables(lab, False)
    rnbd.wait_until(lab.client, f"! {OPEN}", 60, "the loss of the paths is known")
    look = (f"udevadm settle\n[ -b /dev/disk/by-uuid/{uuid} ]\n[ -b /dev/disk/by-label/store ]\n"
            "systemctl is-active srv-data.mount\nmountpoint -q /srv/data")
    lab.client.run(f"sleep 3\n{look}\nudevadm trigger --subsystem-match=block\n{look}", 120)
    cables(lab, True)
    rnbd.wait_until(lab.client, OPEN, 90, "the disk is back")
    lab.client.run(f"{look}\necho after >>/srv/data/file\nsync\ngrep -qx before /srv/data/file", 120)


def server_away(lab: Lab) -> None:
    """What it has not got holds the client up for the guide's time; the disk is whole when both are back."""
    lab.client.run("echo before >/srv/data/file\nsync\n"
                   "dd if=/dev/zero of=/srv/data/dirty bs=1M count=16 2>/dev/null", 60)
    cables(lab, False)
    rnbd.wait_until(lab.client, f"! {OPEN}", 60, "the loss of the paths is known")
    # Somebody who uses it, and does not end when told so.
    lab.client.spawn("trap '' TERM; dd if=/dev/zero of=/srv/data/more bs=1M count=16 conv=fsync", 600)
    begin = time.monotonic()
    lab.client.power_off(limit=240)
    took = time.monotonic() - begin
    said = lab.client.console_text()
    print(f"# off after {took:.0f} s", flush=True)
    # The guide's minute, and what an emulated system takes besides.
    rnbd.check(50 < took < 60 + 60 * scale(), f"the shutdown took {took:.0f} s")
    rnbd.check("no server for rnbd0: the shutdown waits" in said, f"no word on the console: {said[-1500:]}")
    lab.past["client"] += lab.client.log()
    lab.reboot("client")
    cables(lab, True)
    rnbd.wait_until(lab.client, "mountpoint -q /srv/data", 240, "the mount of fstab is there again")
    lab.client.run("grep -qx before /srv/data/file\numount /srv/data", 60)


def server_later(lab: Lab, seconds: int) -> None:
    """The machine boots while its server is away."""
    lab.server.run("rmmod rnbd_server rtrs_server", 90)
    lab.reboot("client", orderly=True)
    lab.client.run(f"sleep {seconds}\n! mountpoint -q /srv/data\n"
                   "[ \"$(systemctl show -P Result srv-data.mount)\" = success ]", seconds + 60.0)
    rnbd.load_server(lab)
    rnbd.wait_until(lab.client, "mountpoint -q /srv/data && systemctl -q is-active srv-data.mount", 240,
                    "the mount of fstab follows the disk")


def volumes(lab: Lab, client: Admin, maps: int) -> None:
    lab.client.run("pvcreate -q /dev/rnbd0\nvgcreate -q vg1 /dev/rnbd0\nlvcreate -q -Wn -L 64M -n data vg1\n"
                   "lvcreate -q -Wn -L 32M -n more vg1\nmkfs.ext4 -q /dev/vg1/data", 120)
    active = "[ $(lvs --noheadings -o lv_active vg1 | grep -c active) = 2 ]"
    for n in range(maps):
        refused = client.run("unmap rnbd0", 6)
        rnbd.check("used by dm-" in refused, f"a disk with volumes is not unmapped in words: {refused}")
        lab.client.run("vgchange -q -an vg1", 60)
        client.run("unmap rnbd0")
        lab.client.run(f"systemctl restart {UNIT}", 120)
        rnbd.wait_until(lab.client, active, 30, f"volumes are there after map {n + 1}")
    # Volumes that were taken off stay off, whatever the paths do.
    lab.client.run("vgchange -q -an vg1", 60)
    cables(lab, False)
    rnbd.wait_until(lab.client, f"! {OPEN}", 60, "the loss of the paths is known")
    cables(lab, True)
    rnbd.wait_until(lab.client, OPEN, 90, "the disk is back")
    lab.client.run(f"sleep 2\nudevadm settle\n! {active}\nvgchange -q -ay vg1", 60)
    fstab(lab, "A disk that is there after each start", "**LVM.**", "")
    lab.client.run("echo kept >/srv/data/file")

    # The server is told of the end, and need not find it out.
    lines = int(lab.server.run("dmesg | wc -l"))
    lab.reboot("client", orderly=True)
    said = lab.server.run(f"dmesg | tail -n +{lines + 1}")
    rnbd.check("disconnected" in said and "closing the path" not in said, f"how the session ended: {said}")
    rnbd.wait_until(lab.client, "grep -qsx kept /srv/data/file", 180, "the volume is mounted after the reboot")
    lab.client.run(active)


def names(lab: Lab) -> None:
    """The guide's lines for three partitions, and a service, are at work after each start, and end in order."""
    lab.client.run("printf 'size=64M\\nsize=64M\\n-\\n' | sfdisk -q --label gpt /dev/rnbd0\nudevadm settle\n"
                   "mkfs.ext4 -q -L store /dev/rnbd0p1\nmkfs.ext4 -q /dev/rnbd0p2\n"
                   "mkdir -p /etc/keys /srv/second /srv/bound /srv/vault\n"
                   "head -c 64 /dev/urandom >/etc/keys/vault\nchmod 600 /etc/keys/vault\n"
                   "cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/rnbd0p3 "
                   "/etc/keys/vault\n"
                   "cryptsetup open --key-file /etc/keys/vault /dev/rnbd0p3 vault\nmkfs.ext4 -q /dev/mapper/vault\n"
                   "cryptsetup close vault\nudevadm settle", 240)
    chapter = "A disk that is there after each start"
    partuuid = lab.client.run("blkid -s PARTUUID -o value /dev/rnbd0p2").strip()
    uuid = lab.client.run("blkid -s UUID -o value /dev/rnbd0p3").strip()
    lines = [*Guide(chapter, {"UUID=...": "LABEL=store"}).block("In `/etc/fstab`")[:1],
             *Guide(chapter, {"PARTUUID=...": f"PARTUUID={partuuid}"}).block("**Partitions, encryption"),
             *Guide(chapter, {}).block("luks,_netdev")]
    crypttab = Guide(chapter, {"UUID=...": f"UUID={uuid}"}).block("In `/etc/crypttab`")[0]
    unit = ("[Unit]\nRequiresMountsFor=/srv/vault\n[Service]\nType=oneshot\nRemainAfterExit=yes\n"
            "ExecStart=/bin/sh -c 'echo began >>/srv/vault/log'\nExecStop=/bin/sh -c 'echo ended >>/srv/vault/log'\n"
            "[Install]\nWantedBy=srv-vault.mount\n")
    lab.client.run(f"cat >/etc/systemd/system/needs-vault.service <<'END'\n{unit}END")
    lab.client.run("\n".join(f"echo '{line}' >>/etc/fstab" for line in lines)
                   + f"\necho '{crypttab}' >>/etc/crypttab\nsystemctl daemon-reload\n"
                   "systemctl start srv-data.mount\nmkdir /srv/data/sub\necho kept >/srv/data/sub/file\n"
                   "systemctl start srv-bound.mount srv-second.automount srv-vault.mount\n"
                   "echo second >/srv/second/file\nsystemctl enable -q --now needs-vault.service", 240)
    for starts in (2, 3):
        before = int(lab.server.run("dmesg | wc -l"))
        lab.reboot("client", orderly=True)
        said = lab.server.run(f"dmesg | tail -n +{before + 1}")
        rnbd.check("disconnected" in said and "closing the path" not in said, f"how the session ended: {said}")
        there = "systemctl -q is-active needs-vault.service && mountpoint -q /srv/bound"
        rnbd.wait_until(lab.client, f"{there} && systemctl -q is-active srv-second.automount", 240,
                        f"all of it is there after start {starts}")
        lab.client.run("grep -qx kept /srv/bound/file\ngrep -qx second /srv/second/file\nmountpoint -q /srv/second\n"
                       f"[ $(grep -cx began /srv/vault/log) = {starts} ]\n"
                       f"[ $(grep -cx ended /srv/vault/log) = {starts - 1} ]", 60)
    lab.client.run("systemctl stop needs-vault.service\numount /srv/bound /srv/second /srv/vault /srv/data\n"
                   "systemctl stop systemd-cryptsetup@vault.service", 120)


def cables(lab: Lab, there: bool) -> None:
    for nic in (0, 1):
        lab.client.set_link(nic, there)
