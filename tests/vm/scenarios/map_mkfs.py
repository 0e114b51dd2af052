# SPDX-License-Identifier: GPL-2.0
"""Map, mkfs.ext4, copy files, unmount, mount again, compare, unmap, unload."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.scenario import Skip

VARIANTS = {"Y": {"invalidate": "Y"}, "N": {"invalidate": "N"}}
INTEROP = True


def run(lab: Lab, invalidate: str) -> None:
    if not lab.client.try_run("modprobe -q ext4 || grep -qw ext4 /proc/filesystems").ok:
        raise Skip("this kernel has no ext4")
    disk = rnbd.null_disk(lab.server, megabytes=64)
    rnbd.load_server(lab, always_invalidate=invalidate)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, **rnbd.patience(lab))
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/size"), str(64 << 11), "size in sectors")
    lab.client.run(f"mkfs.ext4 -q /dev/{name}\nmount -t ext4 /dev/{name} /mnt", 90)
    # Some MB of the host's own files of every size, read through 9p once.
    lab.client.run("mkdir /tmp/src /mnt/a\ncp -r /usr/include/linux/netfilter* /tmp/src\n"
                   "cp /usr/bin/bash /usr/bin/git /tmp/src\n"
                   "(cd /tmp/src && find . -type f | sort | xargs md5sum) >/tmp/sums\n"
                   "cp -r /tmp/src/. /mnt/a\numount /mnt", 90)
    lab.client.run(f"echo 3 >/proc/sys/vm/drop_caches\nmount -t ext4 /dev/{name} /mnt\n"
                   "(cd /mnt/a && md5sum --quiet -c /tmp/sums)\numount /mnt\nrm -rf /tmp/src /tmp/sums", 90)
    out = lab.client.run(f"e2fsck -fn /dev/{name}")
    rnbd.check("clean" in out or "files" in out, out)
    rnbd.unmap(lab, name)
    rnbd.unload_client(lab)
    rnbd.unload_server(lab)
