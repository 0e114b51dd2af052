# SPDX-License-Identifier: GPL-2.0
"""What people put on a disk: LVM with XFS, an encrypted disk with ext4, a mirror over two servers that loses one."""

from vmlab import fio, rnbd
from vmlab.channel import Job
from vmlab.lab import Lab
from vmlab.multipath import folder

SLOW = True
OURS = ("client", "server")
KINDS = ("stock", "debug", "uml")  # the other has no md and dm-crypt
# There is no udev in the machines, and LVM has to be told of disks that it does not know (admin-guide.md).
ALONE = "export DM_DISABLE_UDEV=1 MDADM_NO_UDEV=1\n"
LVM = "--config 'devices{types=[\"rnbd\",16]} activation{udev_sync=0 udev_rules=0 verify_udev_operations=0}'"
MOUNT = "/tmp/on-top"
MARK = "nobody reads this on the server"


def files(lab: Lab, device: str, kind: str) -> None:
    """A file system with some files that are there, unchanged, when it is mounted the next time."""
    check = {"xfs": f"xfs_repair -n {device}", "ext4": f"e2fsck -fn {device}"}[kind]
    # XFS does not want to be as small as these disks are.
    small = {"xfs": "--unsupported", "ext4": ""}[kind]
    lab.client.run(f"modprobe {kind}\nmkfs.{kind} -q {small} {device} 2>&1\n"
                   f"mkdir -p {MOUNT}\nmount -t {kind} {device} {MOUNT}\n"
                   f"for n in 1 2 3; do cp /usr/bin/bash {MOUNT}/f$n; done\n"
                   f"sync -f {MOUNT}\nrm {MOUNT}/f2\nfstrim {MOUNT} || true\numount {MOUNT}\n"
                   f"{check} >/tmp/check 2>&1 || {{ cat /tmp/check; exit 1; }}\n"
                   f"mount -t {kind} {device} {MOUNT}\nfor n in 1 3; do cmp {MOUNT}/f$n /usr/bin/bash; done\n"
                   f"umount {MOUNT}", 180)


def lvm(lab: Lab, names: list[str]) -> None:
    """One logical volume that is striped over two disks."""
    disks = " ".join(f"/dev/{name}" for name in names)
    lab.client.run(f"{ALONE}modprobe dm_mod\npvcreate -qq {LVM} {disks}\nvgcreate -qq {LVM} vg {disks}\n"
                   f"lvcreate -qq {LVM} -y -n lv -i 2 -I 64 -l 100%FREE vg\ndmsetup mknodes", 120)
    fio.verify(lab.client, "/dev/mapper/vg-lv", fio.Verify("4k", size="512k"), fio.Verify("128k", 4, "2m"))
    files(lab, "/dev/mapper/vg-lv", "xfs")
    lab.client.run(f"{ALONE}vgremove -qq -f {LVM} vg\npvremove -qq {LVM} {disks}", 120)


def encrypted(lab: Lab, name: str) -> None:
    lab.client.run(f"{ALONE}modprobe dm_crypt\nmodprobe xts\nprintf secret >/tmp/key\n"
                   f"cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/{name} /tmp/key\n"
                   f"cryptsetup open --allow-discards --key-file /tmp/key /dev/{name} secret\ndmsetup mknodes\n"
                   f"yes '{MARK}' | dd of=/dev/mapper/secret bs=64k count=16 iflag=fullblock oflag=direct 2>/dev/null\n"
                   f"grep -qa '{MARK}' /dev/mapper/secret\n! grep -qa '{MARK}' /dev/{name}", 180)
    fio.verify(lab.client, "/dev/mapper/secret", fio.Verify("4k", size="256k"))
    files(lab, "/dev/mapper/secret", "ext4")
    lab.client.run(f"{ALONE}cryptsetup close secret", 60)


def in_sync(lab: Lab) -> None:
    rnbd.wait_until(lab.client, "[ $(cat /sys/block/md0/md/sync_action) = idle ] && "
                    "[ $(cat /sys/block/md0/md/degraded) = 0 ]", 180, "the mirror is in sync")


def write_part(lab: Lab, part: int) -> None:
    lab.client.run(f"dd if=/usr/bin/bash of=/dev/md0 bs=64k count=16 seek={16 * part} oflag=direct conv=notrunc "
                   "2>/dev/null")


def lose_half(lab: Lab, load: Job) -> None:
    """I/O over the path of the far half fails, and the mirror goes on with the other."""
    rnbd.write(lab.client, f"{folder(lab, 0)}/disconnect", "1")
    rnbd.wait_until(lab.client, "[ $(cat /sys/block/md0/md/degraded) = 1 ]", 60, "the mirror is degraded")
    rnbd.check(load.running, "the mirror failed with its half")


def regain_half(lab: Lab, name: str, how: str) -> None:
    lab.client.run(f"until echo 1 >{folder(lab, 0)}/reconnect; do sleep 0.5; done\n"
                   f"until grep -qx open /sys/block/{name}/rnbd/state; do sleep 0.1; done\n"
                   f"{ALONE}mdadm -q /dev/md0 --remove /dev/{name}\nmdadm -q /dev/md0 {how} /dev/{name}", 120)
    in_sync(lab)


def mirror(lab: Lab, disk: str) -> None:
    """A mirror over two servers, one of which is the client itself, by its own address. The other one is away for
    a while, then it dies under I/O and comes back with an empty disk: nothing is lost."""
    own = rnbd.null_disk(lab.client, "nullb9", 16)
    lab.client.run("modprobe rnbd_server", 90)
    far = rnbd.map_device(lab, disk)
    address = f"ip:{lab.client.address()}"
    rnbd.write(lab.client, f"{rnbd.CTL}/map_device", f"sessname=own path={address}@{address} device_path={own}")
    near = rnbd.mapped_name(lab, own, "own")
    lab.client.run(f"{ALONE}modprobe raid1\nmdadm -q --create /dev/md0 --run --level 1 --raid-devices 2 "
                   f"--bitmap internal --failfast --metadata 1.2 /dev/{far} /dev/{near}", 60)
    in_sync(lab)
    write_part(lab, 0)
    load = fio.background(lab.client, "/dev/md0", 300, rw="randwrite", offset="4m")
    lose_half(lab, load)
    write_part(lab, 1)
    regain_half(lab, far, "--re-add")
    lab.server.kill()
    lose_half(lab, load)
    write_part(lab, 2)
    lab.reboot("server")
    rnbd.null_disk(lab.server, "nullb8", 16)
    rnbd.load_server(lab)
    regain_half(lab, far, "--add")
    rnbd.check(load.running, "I/O met an error during the resync")
    lab.client.run("pkill -INT fio")
    lab.client.wait(load)
    # From now on the far half alone.
    lab.client.run(f"{ALONE}mdadm -q /dev/md0 --fail /dev/{near}\n"
                   "for part in 0 1 2; do\n"
                   "dd if=/dev/md0 bs=64k count=16 skip=$((16 * part)) iflag=direct 2>/dev/null | "
                   "cmp -n 1048576 - /usr/bin/bash\n"
                   "done\nmdadm -q --stop /dev/md0", 60)
    for name in (far, near):
        rnbd.unmap(lab, name)


def run(lab: Lab) -> None:
    disks = [rnbd.null_disk(lab.server, f"nullb{n}", 48 if n != 8 else 16) for n in (6, 7, 8)]
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    try:
        names = [rnbd.map_device(lab, disk) for disk in disks[:2]]
        lvm(lab, names)
        encrypted(lab, names[0])
        for name in names:
            rnbd.unmap(lab, name)
        mirror(lab, disks[2])
    finally:
        lab.client.try_run(f"set +e\numount {MOUNT}\n{ALONE}mdadm -q --stop /dev/md0\ncryptsetup close secret\n"
                           "dmsetup remove --force vg-lv\nrmmod rnbd_server rtrs_server", 60)
