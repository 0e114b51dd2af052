# SPDX-License-Identifier: GPL-2.0
"""Each kind of disk has the identity of what is opened, the same on every kernel: two slices and their disk have three.
A disk whose slice is gone does not come back as the whole disk, nor as one of another size."""

import os
import tempfile
from pathlib import Path

from vmlab import qemu, rnbd
from vmlab.lab import Lab
from vmlab.multipath import folder

OURS = ("client", "server")
KINDS = ("stock",)  # what others lack are the drivers of these disks
MEGABYTES = 64
SECTORS = MEGABYTES << 11
LOOKS = 7  # seconds in which the client looks for its disk again
WHOLE = [f"naa.{qemu.FIRST_WWN + n:x}" for n in range(4)]
VOLUME = "LVM-" + "a1" * 32
HEADER = "0123456789abcdef" * 2
ARRAY = "11223344:55667788:99aabbcc:ddeeff00"
PARTITION = "6c9a1b52-0d6e-4c9b-8d11-0123456789ab"
SEARCHED = "/sys/class/rnbd-server/ctl/devices"

# name, uuid and table of each device of the mapper; below are lines of `disks`
MAPS = (
    ("low", VOLUME, f"0 {SECTORS // 2} linear $sd0 0"),
    ("high", "TEST-high", f"0 {SECTORS // 2} linear $sd0 {SECTORS // 2}"),
    ("nameless", "", f"0 2048 linear $null0 {SECTORS // 2}"),
    ("path", f"mpath-3{WHOLE[3].removeprefix('naa.')}", f"0 {SECTORS} multipath 0 0 1 1 service-time 0 1 0 $sd3"),
    ("part", f"part1-mpath-3{WHOLE[3].removeprefix('naa.')}", "0 2048 linear /dev/mapper/path 2048"),
    ("node", "part1-devnode_8:0_Wh5pYvM", "0 2048 linear /dev/mapper/path 8192"),
    ("luks", f"CRYPT-LUKS2-{HEADER}-luks", f"0 2048 crypt aes-xts-plain64 {'5a' * 64} 0 $null0 0"),
    ("plain", "CRYPT-PLAIN-plain", f"0 2048 crypt aes-xts-plain64 {'5a' * 64} 0 $null0 4096"),
    ("pool", "", f"0 {SECTORS // 2} thin-pool $null1 $null2 128 0"),
    ("thin", VOLUME.replace("a1", "b2"), "0 16384 thin /dev/mapper/pool 0"),
)
PARTITIONS = {"sd1": f"label: gpt\nstart=2048, size=8192, uuid={PARTITION.upper()}",
              "sd2": "label: dos\nlabel-id: 0xc0ffee01\nstart=4096, size=8192"}


def remove_map(name: str) -> str:
    """With its node, which nobody else removes here, and which may be the next device's."""
    return f"dmsetup remove --noudevsync --retry {name}\nrm -f /dev/mapper/{name}"


def make_map(name: str, uuid: str, table: str) -> str:
    option = f"--uuid {uuid}" if uuid else ""
    return f'dmsetup create --noudevsync {name} {option} --table "{table}"\ndmsetup mknodes {name}'


def make_disks(lab: Lab) -> str:
    """Lines of a shell that knows them."""
    found = lab.server.find_disks()
    nulls = [rnbd.null_disk(lab.server, f"nullb{n}", MEGABYTES) for n in range(5)]
    named = "\n".join([f"sd{n}=$(readlink -f {disk})" for n, disk in enumerate(found)] +
                      [f"null{n}={disk}" for n, disk in enumerate(nulls)])
    lines = [named, "modprobe -a dm_mod dm_multipath dm_service_time dm_crypt dm_thin_pool loop virtio_blk nvme raid1"]
    for disk, table in PARTITIONS.items():
        lines += [f"printf '{table}\\n' | sfdisk -q --no-tell-kernel ${disk}", f"blockdev --rereadpt ${disk}"]
    for device in MAPS:
        lines += [make_map(*device)] + (["dmsetup message pool 0 'create_thin 0'"] if device[0] == "pool" else [])
    lines += ["truncate -s 8M /run/file", "losetup /dev/loop6 /run/file",
              "mdadm --create /dev/md7 --quiet --run --assume-clean --level 1 --raid-devices 2 --metadata 1.2 "
              f"--uuid {ARRAY} $null3 $null4 2>&1",
              "until [ -b /dev/nvme0n1 ]; do sleep 0.1; done", "modprobe brd rd_nr=1 rd_size=4096"]
    lab.server.run("\n".join(lines), 120)
    return named


def wanted(server_id: str) -> dict[str, str]:
    """The identity of each device, by a name that the server's shell knows."""
    serial = f"rnbd.{server_id}.{qemu.SERIAL}"
    return {
        "$sd0": WHOLE[0], "/dev/mapper/low": f"dm.{VOLUME}", "/dev/mapper/high": "dm.TEST-high",
        "/dev/mapper/nameless": "",
        "$sd1": WHOLE[1], "${sd1}1": f"{WHOLE[1]}-part.{PARTITION}",
        "$sd2": WHOLE[2], "${sd2}1": f"{WHOLE[2]}-part.c0ffee01-01.4096",
        "$sd3": WHOLE[3], "/dev/mapper/path": WHOLE[3], "/dev/mapper/part": f"dm.part1-mpath-3{WHOLE[3][4:]}",
        "/dev/mapper/node": "", "/dev/mapper/luks": f"dm.CRYPT-LUKS2-{HEADER}-luks", "/dev/mapper/plain": "",
        "/dev/mapper/thin": f"dm.{VOLUME.replace('a1', 'b2')}", "/dev/md7": "md.11223344-5566-7788-99aa-bbccddeeff00",
        "/dev/loop6": "", "$null0": "", "/dev/ram0": "", "/dev/nvme0n1": qemu.NVME_WWID,
        "$(grep -l . /sys/block/vd*/serial | sed 's:/sys/block/:/dev/:; s:/serial::')": serial,
    }


def kinds(lab: Lab, named: str, want: dict[str, str]) -> None:
    paths = lab.server.run(f"{named}\n" + "\n".join(f"echo {device}" for device in want)).split()
    rnbd.equal(len(paths), len(want), "devices")
    script = []
    for path in paths:
        link = f"{rnbd.CTL}/devices/{path.replace('/', '!')}@vm"
        script += [f"echo '{rnbd.map_text(lab, path, access_mode='ro')}' >{rnbd.CTL}/map_device",
                   f"d=$(readlink -f '{link}')", "echo \"=$(cat $d/wwid)\"", "echo normal >$d/rnbd/unmap_device"]
    seen = [line.removeprefix("=") for line in lab.client.run("\n".join(script), 240).splitlines()]
    wrong = [f"{device}: {got!r}, want {want[device]!r}" for device, got in zip(want, seen) if got != want[device]]
    rnbd.check(len(seen) == len(want) and not wrong, f"identities: {'; '.join(wrong)}")


def found(lab: Lab, wwid: str, node: str) -> None:
    name = rnbd.map_device(lab, f"wwid:{wwid}", access_mode="ro")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/wwid"), wwid, "wwid")
    seen = lab.server.run(f"ls {SEARCHED}").split()
    disk = lab.server.run(f"basename $(readlink /sys/dev/block/$(mountpoint -x {node}))").strip()
    rnbd.equal(seen, [disk], f"what {wwid} leads to")
    rnbd.unmap(lab, name)


def state_after(lab: Lab, name: str, change: str) -> str:
    """Of a disk, some looks after its path has gone, a change at the server, and the path's return."""
    rnbd.write(lab.client, f"{folder(lab, 0)}/disconnect", "1")
    rnbd.wait_until(lab.server, f"[ -z \"$(ls {SEARCHED})\" ]", 30, "exports closed")
    lab.server.run(change, 60)
    rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1")
    lab.client.run(f"sleep {LOOKS}")
    return rnbd.read(lab.client, f"/sys/block/{name}/rnbd/state")


def back(lab: Lab, name: str, change: str) -> None:
    lab.server.run(change, 60)
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 30, "the disk is back")
    lab.client.run(f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null")


def missing(lab: Lab, named: str) -> None:
    """Its slice is removed, and the other one: only the whole disk is left."""
    slices = MAPS[:2]
    name = rnbd.map_device(lab, "/dev/mapper/low", no_path_timeout=-1)
    remove = "\n".join(remove_map(slice_name) for slice_name, _, _ in slices)
    rnbd.equal(state_after(lab, name, remove), "closed", "state of a disk whose slice is gone")
    back(lab, name, "\n".join([named, *(make_map(*device) for device in slices)]))
    rnbd.unmap(lab, name)


def other_size(lab: Lab, named: str) -> None:
    """Its identity is elsewhere, on a device of another size."""
    uuid = "TEST-size"
    lab.server.run(f"{named}\n" + make_map("size", uuid, "0 4096 linear $null0 16384"))
    name = rnbd.map_device(lab, "/dev/mapper/size", no_path_timeout=-1)
    larger = f"{named}\n{remove_map('size')}\n" + make_map("larger", uuid, "0 8192 linear $null0 16384")
    rnbd.equal(state_after(lab, name, larger), "closed", "state of a disk whose identity has another size")
    rnbd.check("of another size" in lab.client.log(), "no word of the other size")
    back(lab, name, f"{named}\n{remove_map('larger')}\n" + make_map("again", uuid, "0 4096 linear $null0 16384"))
    rnbd.unmap(lab, name)
    lab.server.run(remove_map("again"))


def rounds(lab: Lab) -> None:
    named = make_disks(lab)
    lab.server.run("modprobe rtrs_server\nmodprobe rnbd_server server_id=machine", 90)
    rnbd.load_client(lab)
    missing(lab, named)
    other_size(lab, named)
    want = wanted("machine")
    kinds(lab, named, want)
    # Its paths are the same unit.
    found(lab, WHOLE[3], "/dev/mapper/path")
    found(lab, want["${sd1}1"], lab.server.run(f"{named}\necho ${{sd1}}1").strip())
    rnbd.unload_client(lab)
    rnbd.unload_server(lab)


def run(lab: Lab) -> None:
    with tempfile.TemporaryDirectory() as place:
        disks = [Path(place) / str(n) for n in range(len(WHOLE))]
        for disk in disks:
            disk.touch()
            os.truncate(disk, MEGABYTES << 20)
        lab.server.disks = disks
        try:
            lab.reboot("server")
            rounds(lab)
        finally:
            lab.server.disks = []
            lab.server.kill()
