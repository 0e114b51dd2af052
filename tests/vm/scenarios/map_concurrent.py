# SPDX-License-Identifier: GPL-2.0
"""Several shells map and unmap at once, in one session that comes and goes and in others: all works or is refused."""

from vmlab import rnbd
from vmlab.lab import Lab

SLOW = True
OURS = ("client", "server")
ROUNDS = 12
# The session is taken, or goes, or the device is open, or another one's disk has just gone.
REFUSALS = "File exists|Operation not permitted|Device or resource busy|No such device|Transport endpoint"


def shell(lab: Lab, device: str, session: str, mode: str, shared: bool) -> str:
    """Map, read, unmap; a device of its own always works, one that others want may be refused while they have it."""
    text = rnbd.map_text(lab, device, session, access_mode=mode)
    link = f"{rnbd.CTL}/devices/{device.replace('/', '!')}@{session}"
    # Then one waits a moment, and goes on till it had its turn: the others end.
    refused = f"grep -qE '{REFUSALS}' $e || {{ cat $e; exit 3; }}; sleep 0.2" if shared else "cat $e; exit 3"
    # Of two who share a disk, one may unmap it below the other.
    ignored = "|| true" if shared else ""
    return f"""e=$(mktemp)
n=0
done=0
while [ $n -lt {ROUNDS} ] || [ $done = 0 ]; do
	n=$((n + 1))
	if /usr/bin/printf '{text}' >{rnbd.CTL}/map_device 2>$e; then
		done=$((done + 1))
		name=$(readlink {link}) {ignored}
		dd if=/dev/${{name##*/}} of=/dev/null bs=4k count=4 iflag=direct 2>/dev/null {ignored}
		/usr/bin/printf force >/sys/block/${{name##*/}}/rnbd/unmap_device 2>$e {ignored}
	else
		{refused}
	fi
done
echo $done"""


def run(lab: Lab) -> None:
    lab.server.run("modprobe brd rd_nr=8 rd_size=1024 max_part=1")
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    jobs = [
        # Two in one session, which ends whenever neither has a disk; one in a session of its own.
        (False, shell(lab, "/dev/ram0", "vm", "rw", False)), (False, shell(lab, "/dev/ram1", "vm", "rw", False)),
        (False, shell(lab, "/dev/ram2", "vm2", "rw", False)),
        # One device: the same disk twice, and another session that wants to write, too.
        (True, shell(lab, "/dev/ram3", "vm", "rw", True)), (True, shell(lab, "/dev/ram3", "vm", "rw", True)),
        (True, shell(lab, "/dev/ram3", "vm3", "rw", True)),
        # Readers are always let in.
        (False, shell(lab, "/dev/ram4", "vm2", "ro", False)), (False, shell(lab, "/dev/ram4", "vm3", "ro", False)),
    ]
    running = [(shared, lab.client.spawn(script, 240)) for shared, script in jobs]
    for n, (shared, job) in enumerate(running):
        result = lab.client.wait(job)
        rnbd.check(result.ok, f"shell {n}: {result.out[-400:]}")
        maps = int(result.out.split()[-1])
        rnbd.check(maps if shared else maps == ROUNDS, f"shell {n}: {maps} of {ROUNDS} maps worked")
    rnbd.equal(lab.client.run("ls /sys/block | grep '^rnbd' || true").split(), [], "disks at the end")
    rnbd.equal(rnbd.sessions(lab.client, "client"), [], "sessions at the end")
    rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rtrs-server | grep -v ctl)\" ]", 30, "sessions gone")
    rnbd.equal(lab.server.run("ls /sys/class/rnbd-server/ctl/devices").split(), [], "exports at the end")
    rnbd.unload_client(lab)
    rnbd.unload_server(lab)
