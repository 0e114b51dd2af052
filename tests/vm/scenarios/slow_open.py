# SPDX-License-Identifier: GPL-2.0
"""The server takes seconds to open a device: heartbeats and I/O of other devices in the same session do not wait, nor
does who looks for another device by its wwid. Where an open hangs, who looks for a disk that is not there is told."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, folder

OURS = ("client", "server")
READ = 3.0  # seconds that a read of this disk takes


def by_wwid(lab: Lab, below: str, slow: str) -> None:
    disk = rnbd.named_disk(lab.server, below, "one", "TEST-20")
    opening = lab.server.spawn(f"for i in 1 2 3; do blockdev --rereadpt {slow}; done", 120)
    lab.server.run("sleep 0.5")
    seconds = rnbd.timed(lab.client, f"echo '{rnbd.map_text(lab, 'wwid:dm.TEST-20')}' >{rnbd.CTL}/map_device", 120)
    rnbd.check(opening.running, "nobody was opening the slow device any more")
    rnbd.check(seconds < READ, f"to map {disk} by its wwid took {seconds:.1f} s")
    rnbd.unmap(lab, rnbd.mapped_name(lab, "wwid:dm.TEST-20"))
    rnbd.check(lab.server.wait(opening).ok, "the slow device could not be opened")
    lab.server.run("dmsetup remove --noudevsync --retry one")


def not_there(lab: Lab, below: str) -> None:
    """Who reads the partitions of a disk that hangs holds it up for all who open it, as long as we like."""
    loop = "/dev/loop5"
    one = rnbd.named_disk(lab.server, below, "one", "TEST-22")
    lab.server.run(f"modprobe loop\nlosetup -P --direct-io=on {loop} {one}\n"
                   "dmsetup suspend --nolockfs --noflush --noudevsync one")
    opening = lab.server.spawn(f"blockdev --rereadpt {loop}", 300)
    try:
        lab.server.run("sleep 0.5")
        for _ in range(2):
            text = rnbd.map_text(lab, "wwid:dm.NOT-THERE")
            rnbd.equal(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text, 40), "ENOENT", "a disk not there")
        rnbd.check(opening.running, "nobody was opening the disk that hangs any more")
        refused = rnbd.map_text(lab, "/dev/mapper/not-there")
        rnbd.equal(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", refused), "ENOENT", "a name not there")
    finally:
        lab.server.run("dmsetup resume --noudevsync one")
    lab.server.wait(opening)
    # The look that hung ends, too.
    lab.server.run(f"losetup -d {loop}\nwhile losetup {loop} 2>/dev/null; do sleep 0.1; done\n"
                   "dmsetup remove --noudevsync --retry one", 30)


def run(lab: Lab) -> None:
    fast = rnbd.null_disk(lab.server)
    # Who reads its partition table holds the lock that an open takes.
    slow = rnbd.null_disk(lab.server, "nullb8", irqmode=2, completion_nsec=int(READ * 1e9))
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, fast)
    # Silence of 2 s would end the path.
    rnbd.write(lab.client, f"{SESSION}/heartbeat_interval_ms", "500")
    rnbd.write(lab.client, f"{SESSION}/heartbeat_missed_max", "4")
    table = lab.server.spawn(f"for i in 1 2 3; do blockdev --rereadpt {slow}; done", 120)
    lab.server.run("sleep 0.5")
    opening = lab.client.spawn(f"echo '{rnbd.map_text(lab, slow)}' >{rnbd.CTL}/map_device", 120)
    reads = 0
    while opening.running and table.running:
        lab.client.run(f"dd if=/dev/{name} of=/dev/null bs=4k count=8 iflag=direct 2>/dev/null")
        reads += opening.running
    # One that waited for the open would end with it.
    rnbd.check(reads > 3, f"{reads} rounds of reads of another disk during a slow open")
    rnbd.check(lab.client.wait(opening).ok, "the slow device was not mapped")
    lab.server.wait(table)
    rnbd.equal(rnbd.read(lab.client, f"'{folder(lab, 0)}/stats/reconnects'").split(), ["0", "0"], "reconnects")
    rnbd.unmap(lab, rnbd.mapped_name(lab, slow))
    rnbd.unmap(lab, name)
    by_wwid(lab, fast, slow)
    not_there(lab, fast)
