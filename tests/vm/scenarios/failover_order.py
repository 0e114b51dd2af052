# SPDX-License-Identifier: GPL-2.0
"""Requests of a dying path reach the server over another one in the order in which they were submitted."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, folder

OURS = ("client", "server")
BLOCKS = 24
# One thread for each block, one after the other, from the last block to the first.
WRITERS = """exec python3 - <<'END'
import mmap, os, subprocess, threading
disk, page = os.open("/dev/{name}", os.O_WRONLY | os.O_DIRECT), mmap.mmap(-1, 4096)
errors = []
def write(block):
    try:
        os.pwrite(disk, page, 4096 * block)
    except OSError as error:
        errors.append(error)
threads = [threading.Thread(target=write, args=(block,)) for block in reversed(range({blocks}))]
subprocess.run("tc qdisc replace dev {netdev} root netem loss 100%", shell=True, check=True)
for number, thread in enumerate(threads, 1):
    thread.start()
    while int(open("/sys/block/{name}/inflight").read().split()[1]) < number:
        pass
for thread in threads:
    thread.join()
assert not errors, errors
END
"""


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    # So few slots that they are given out in a circle: their order is not that of time.
    rnbd.load_server(lab, sess_queue_depth=32)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    rnbd.write(lab.client, f"{SESSION}/mp_policy", "round-robin")
    rnbd.write(lab.client, f"{folder(lab, 1)}/disconnect", "1")
    trace = "/sys/kernel/tracing"
    lab.server.run(f"mountpoint -q {trace} || mount -t tracefs none {trace}\n"
                   f"echo 0 >{trace}/tracing_on; echo >{trace}/trace\n"
                   f"echo 1 >{trace}/events/block/block_bio_queue/enable; echo 1 >{trace}/tracing_on")
    # The cable takes nothing any more, which both sides notice within seconds: the writes are all there before.
    load = lab.client.spawn(WRITERS.format(name=name, blocks=BLOCKS, netdev=lab.client.netdev(0)), 180)
    rnbd.wait_until(lab.client, f"[ $(cut -c9-17 /sys/block/{name}/inflight) -ge {BLOCKS} ]", 60, "all in flight")
    rnbd.write(lab.client, f"{folder(lab, 1)}/reconnect", "1")
    gone = lab.client.spawn(f"echo 1 >{folder(lab, 0)}/disconnect", 120)
    rnbd.check(lab.client.wait(load).ok, "a write failed")
    out = lab.server.run(f"echo 0 >{trace}/tracing_on; cat {trace}/trace\n"
                         f"echo 0 >{trace}/events/block/block_bio_queue/enable")
    # "... block_bio_queue: 252,0 WS 184 + 8 [kworker/u3:1]"
    sectors = [int(words[words.index("+") - 1]) for line in out.splitlines()
               if "block_bio_queue" in line and "+" in (words := line.split())
               and words[words.index("+") - 2].startswith("W")]
    rnbd.equal(sectors, [8 * n for n in reversed(range(BLOCKS))], "order of the writes at the server")
    lab.client.run(f"tc qdisc del dev {lab.client.netdev(0)} root")
    rnbd.check(lab.client.wait(gone).ok, "disconnect failed")
    rnbd.unmap(lab, name)
