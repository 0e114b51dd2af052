# SPDX-License-Identifier: GPL-2.0
"""A disk that flushes for 40 s at the end of its session keeps no other session from connecting and working."""

from vmlab import rnbd
from vmlab.channel import scale
from vmlab.lab import Lab

SLOW = True
OURS = ("client", "server")
HUNG = "/proc/sys/kernel/hung_task_timeout_secs"
FLUSH = 40.0  # seconds; longer than a connection is waited for


def slow_flush_of(lab: Lab, disk: str, seconds: float) -> str:
    """A view of the disk whose flushes take long."""
    lab.server.run("modprobe dm-delay\n"
                   f"size=$(blockdev --getsz {disk})\n"
                   "dmsetup create --noudevsync slowflush "
                   f"--table \"0 $size delay {disk} 0 0 {disk} 0 0 {disk} 0 {seconds * 1000:.0f}\"\n"
                   "[ -e /dev/mapper/slowflush ] || dmsetup mknodes slowflush")
    return lab.server.run("readlink -f /dev/mapper/slowflush").strip()


def run(lab: Lab) -> None:
    seconds = FLUSH * min(scale(), 4.0)
    victim_disk = rnbd.null_disk(lab.server)
    other_disk = rnbd.null_disk(lab.server, "nullb8")
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    slow = slow_flush_of(lab, victim_disk, seconds)
    # Who flushes waits for the disk, which the kernel reports when it takes much longer than here.
    patience = rnbd.read(lab.server, HUNG)
    rnbd.write(lab.server, HUNG, "600")
    try:
        victim = rnbd.map_device(lab, slow, session="victim")
        lab.client.run(f"dd if=/dev/zero of=/dev/{victim} bs=4k count=1 oflag=direct")
        path = lab.client.run("ls -d /sys/class/rtrs-client/victim/paths/*").strip()
        rnbd.write(lab.client, f"{path}/disconnect", "1", 120)
        lab.server.run("sleep 1")  # now the disk is being flushed, which no counter shows
        begin = lab.server.uptime()
        # The victim comes back while its disk is still at it; it is the first to wait for that.
        back = lab.client.spawn(f"until echo 1 >{path}/reconnect; do sleep 1; done", 300)
        lab.client.run("sleep 2")
        text = rnbd.map_text(lab, other_disk, session="other")
        took = rnbd.timed(lab.client, f"echo '{text}' >{rnbd.CTL}/map_device", 120)
        rnbd.check(took < 2 * scale(), f"another session needed {took:.1f} s to connect and map")
        rnbd.check(f"{slow}@victim: Device closed" not in lab.server.log(), "the flush had ended: that proves nothing")
        other = rnbd.mapped_name(lab, other_disk, "other")
        dd = "bs=4k count=64 oflag=direct,dsync 2>/dev/null"
        took = rnbd.timed(lab.client, f"dd if=/dev/zero of=/dev/{other} {dd}", 60)
        rnbd.check(took < 2 * scale(), f"64 writes took {took:.1f} s")
        rnbd.unmap(lab, other)
        # And the victim goes on when its disk is through.
        rnbd.check(lab.client.wait(back).ok, "the victim did not connect again")
        left = max(0.0, begin + seconds - lab.server.uptime())
        read = f"dd if=/dev/{victim} of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null"
        lab.client.run(f"until {read}; do sleep 0.5; done", left + 60)
    finally:
        lab.client.try_run("for d in /sys/block/rnbd*/rnbd/unmap_device; do echo force >$d; done", 120)
        rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rtrs-server)\" ]", 120, "sessions gone")
        rnbd.wait_until(lab.server, "dmsetup remove slowflush", 300, "the disk is free")
        rnbd.write(lab.server, HUNG, patience)
