# SPDX-License-Identifier: GPL-2.0
"""A path's statistics agree with what was done: latencies, errors by kind, requests in flight, and their resets."""

from vmlab import rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab
from vmlab.multipath import SESSION, end_load, folder, verified_load

OURS = ("client", "server")
ERROR_KINDS = ("connect", "disconnected", "heartbeat", "timeout", "completion", "post", "malformed", "stray", "answer",
               "lost")
DEPTH = 8  # of verified_load()
BAD_SECTOR = 1 << 15


def stats(lab: Lab, nic: int, name: str) -> str:
    return rnbd.read(lab.client, f"{folder(lab, nic)}/stats/{name}")


def errors(lab: Lab, nic: int = 0) -> dict[str, int]:
    rows = [line.split() for line in stats(lab, nic, "errors").split("\n")]
    rnbd.equal(tuple(row[0] for row in rows), ERROR_KINDS, "kinds of errors")
    return {kind: int(number) for kind, number in rows if int(number)}


def sums(lab: Lab, nic: int, name: str) -> list[int]:
    """Reads and writes over all classes of a histogram."""
    rows = [line.rpartition(": ")[2].split() for line in stats(lab, nic, name).split("\n") if "maximum" not in line]
    return [sum(int(row[i]) for row in rows) for i in (0, 1)]


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    lab.server.run(f"echo +{BAD_SECTOR}-{BAD_SECTOR} >/sys/kernel/config/nullb/nullb7/badblocks")
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    latencies(lab, name)
    kinds_of_errors(lab, name)
    of_the_disk(lab, name)
    in_flight(lab, name)
    of_each_client(lab, name, disk)
    rnbd.unmap(lab, name)


def latencies(lab: Lab, name: str) -> None:
    verify(lab.client, f"/dev/{name}", Verify("4k", 8, "256k"))
    for nic in (0, 1):
        for histogram in ("latency_us", "rdma_lat"):
            rdma, counted = at_rest(lab, nic, histogram)
            rnbd.check(rdma[0] and rdma[2], f"path {nic} carried nothing: {rdma}")
            rnbd.equal(counted, [rdma[0], rdma[2]], f"{histogram} of path {nic}")
    rows = [line.rpartition(":")[0] for line in stats(lab, 0, "latency_us").split("\n")]
    rnbd.equal(rows, [f"{1 << i} us" for i in range(23)] + [f">= {1 << 22} us"], "classes")
    # Each reset is that of one file, until all are reset.
    rnbd.write(lab.client, f"{folder(lab, 0)}/stats/latency_us", "0")
    was_reset(lab, 0, "latency_us")
    rnbd.check(sums(lab, 0, "rdma_lat")[1] and sums(lab, 1, "latency_us")[1], "too much was reset")
    rnbd.write(lab.client, f"{folder(lab, 1)}/stats/reset_all", "1")
    was_reset(lab, 1, "latency_us")
    was_reset(lab, 1, "rdma_lat")


def at_rest(lab: Lab, nic: int, histogram: str) -> tuple[list[int], list[int]]:
    """What `rdma` and a histogram say together: every few seconds the client reads the states of its devices."""
    for _ in range(20):
        before = [int(word) for word in stats(lab, nic, "rdma").split()]
        counted = sums(lab, nic, histogram)
        after = [int(word) for word in stats(lab, nic, "rdma").split()]
        if before == after and not after[4]:
            return after, counted
    raise AssertionError(f"path {nic} is never at rest: {before}, then {after}")


def was_reset(lab: Lab, nic: int, histogram: str) -> None:
    """Nothing but such a read can have come since."""
    reads, writes = sums(lab, nic, histogram)
    rnbd.check(reads <= 1 and not writes, f"{histogram} of path {nic} after its reset: {reads} reads, {writes} writes")


def kinds_of_errors(lab: Lab, name: str) -> None:
    for nic in (0, 1):
        rnbd.equal(errors(lab, nic), {}, f"errors of path {nic}")
    # The server's disk says no. The administrator's own doing is no error.
    rnbd.write(lab.client, f"{folder(lab, 1)}/disconnect", "1")
    bad = f"dd if=/dev/{name} of=/dev/null bs=512 skip={BAD_SECTOR} count=1 iflag=direct"
    rnbd.check(not lab.client.try_run(bad).ok, "a bad block was read")
    rnbd.write(lab.client, f"{folder(lab, 1)}/reconnect", "1")
    answers = errors(lab, 0)
    rnbd.equal(set(answers), {"answer"}, f"errors of path 0: {answers}")
    rnbd.equal(errors(lab, 1), {}, "errors of path 1")
    # The server ends the path.
    server = folder(lab, 1).replace("rtrs-client", "rtrs-server")
    rnbd.write(lab.server, f"{server}/disconnect", "1")
    rnbd.wait_until(lab.client, f"grep -qx 'disconnected 1' {folder(lab, 1)}/stats/errors", 30, "it is counted")
    rnbd.write(lab.client, f"{folder(lab, 1)}/reconnect", "1")
    rnbd.equal(errors(lab, 1), {"disconnected": 1}, "errors of path 1")
    rnbd.write(lab.client, f"{folder(lab, 1)}/stats/errors", "1")
    rnbd.equal(errors(lab, 1), {}, "errors of path 1 after their reset")
    rnbd.equal(errors(lab, 0), answers, "errors of path 0 after the reset of the other")


def of_the_disk(lab: Lab, name: str) -> None:
    """Those of the block device; the bad block was one error."""
    here = f"/sys/block/{name}/rnbd/stats"
    requests = rnbd.read(lab.client, f"{here}/requests").split()
    rnbd.equal(requests[::2], ["errors", "requeues", "retries", "waits"], "kinds")
    rnbd.check(int(requests[1]) >= 1, f"errors: {requests}")
    rnbd.write(lab.client, f"{here}/reset_all", "0")
    rnbd.equal(rnbd.read(lab.client, f"{here}/requests").split()[1::2], ["0"] * 4, "after the reset")
    lab.client.run(f"dd if=/dev/{name} of=/dev/null bs=4k count=5 iflag=direct 2>/dev/null\n"
                   f"dd if=/dev/zero of=/dev/{name} bs=4k count=3 oflag=direct 2>/dev/null\n"
                   f"blkdiscard -l 4096 /dev/{name}", 60)
    rows = [line.rpartition(": ")[2].split() for line in rnbd.read(lab.client, f"{here}/latency_us").split("\n")]
    total = [sum(int(row[i]) for row in rows) for i in (0, 1, 2)]
    rnbd.check(total[0] >= 5 and total[1] == 3 and total[2] >= 1, f"latency_us: {total}")
    rnbd.equal(rnbd.write_error(lab.client, f"{here}/latency_us", "2"), "EINVAL", "reset by 2")


def of_each_client(lab: Lab, name: str, disk: str) -> None:
    """The server counts what each session asks of the disk, and nobody's is counted as another's."""
    def asked(session: str) -> dict[str, int]:
        at = f"/sys/class/rnbd-server/ctl/devices/{disk.removeprefix('/dev/')}/sessions/{session}/requests"
        words = rnbd.read(lab.server, at).split()
        return dict(zip(words[::2], map(int, words[1::2]), strict=True))

    second = rnbd.map_device(lab, disk, session="vm2", access_mode="ro")
    lab.client.run("udevadm settle", 60)
    before = {s: asked(s) for s in ("vm", "vm2")}
    lab.client.run(f"dd if=/dev/zero of=/dev/{name} bs=4k count=3 oflag=direct conv=fsync 2>/dev/null\n"
                   f"blkdiscard -l 8192 /dev/{name}\nblkdiscard -z -l 8192 /dev/{name}\n"
                   f"dd if=/dev/{second} of=/dev/null bs=64k count=5 iflag=direct 2>/dev/null\n"
                   f"! dd if=/dev/{second} of=/dev/null bs=512 skip={BAD_SECTOR} count=1 iflag=direct 2>/dev/null")
    writer, reader = ({kind: n - before[s][kind] for kind, n in asked(s).items() if n - before[s][kind]}
                      for s in ("vm", "vm2"))
    rnbd.equal(reader, {"reads": 6, "read_bytes": 5 * 65536, "errors": 1}, "what the reader asked of the disk")
    # udev may look at the disk when its writer closes it.
    writer.pop("reads", None)
    writer.pop("read_bytes", None)
    zeroed = writer.pop("written_bytes") - 3 * 4096, writer.pop("writes") - 3, writer.pop("write_zeroes", 0)
    rnbd.check(zeroed in ((0, 0, 1), (8192, 1, 0)), f"zeros by the disk, or written: {zeroed}")
    rnbd.check(writer.pop("flushes") >= 1, f"flushes: {asked('vm')}")
    rnbd.equal(writer, {"discards": 1}, "what the writer asked of the disk besides")
    rnbd.unmap(lab, second)


def in_flight(lab: Lab, name: str) -> None:
    """Policies change and statistics are reset under I/O: the number in flight stays a fact."""
    load = verified_load(lab, name)
    script = "\n".join(f"""
for policy in round-robin min-latency min-inflight; do
        echo $policy >{SESSION}/mpath_policy
        for n in 1 2 3 4 5 6 7 8; do
                for p in '{folder(lab, 0)}' '{folder(lab, 1)}'; do
                        echo 1 >$p/stats/{reset}
                        cut -d' ' -f5 $p/stats/rdma
                done
        done
done""" for reset in ("reset_all", "rdma"))
    seen = [int(word) for word in lab.client.run(script, 120).split()]
    rnbd.equal(len(seen), 2 * 3 * 8 * 2, "samples")
    # The number is a sum over CPUs, no snapshot: what ends while it is made may count.
    rnbd.check(0 <= min(seen) and 0 < max(seen) <= 8 * DEPTH, f"requests in flight: {seen}")
    end_load(lab, load)
    for nic in (0, 1):
        rnbd.equal(stats(lab, nic, "rdma").split()[4], "0", f"in flight on path {nic} at the end")
