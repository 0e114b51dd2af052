# SPDX-License-Identifier: GPL-2.0
"""Both sides prove who they are by a key (protocol J.3): policies, wrong keys, rotation and removal under I/O."""

import os

from vmlab import rnbd
from vmlab.keys import add_key, fresh_secret, remove_key, replace_key
from vmlab.lab import Lab
from vmlab.multipath import SESSION, back, carries, connects, end_load, folder, gentle_load, wait_back, wait_lost

OURS = ("client", "server")
ROUNDS = 5  # of wrong proofs, until they are too many
SERVER_AUTH = "/sys/module/rtrs_server/parameters/auth"
CLIENT_AUTH = "/sys/module/rtrs_client/parameters/auth"


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    rnbd.equal([rnbd.read(lab.server, SERVER_AUTH), rnbd.read(lab.client, CLIENT_AUTH)], ["optional", "optional"],
               "policies of modules that nobody has told anything")
    rnbd.equal(rnbd.write_error(lab.server, SERVER_AUTH, "always"), "EINVAL", "a policy that is none")
    plain(lab, disk)
    secret = fresh_secret()
    for machine in (lab.client, lab.server):
        add_key(machine, "vm", 1, secret)
    proven(lab, disk)
    refused(lab, disk)
    switched(lab, disk)
    replaced(lab, disk)
    rotated(lab, disk)
    too_often(lab, disk)


def plain(lab: Lab, disk: str) -> None:
    name = rnbd.map_device(lab, disk)
    proofs(lab, "none")
    rnbd.equal(rnbd.read(lab.client, f"{SESSION}/key"), "", "the key of a session that has none")
    # What an open session has by the module's parameter may be said as well.
    refuses(lab, "/dev/other", "ENOENT", auth="optional")
    refuses(lab, "/dev/other", "EINVAL", auth="required")
    rnbd.unmap(lab, name)
    # Who asks for a proof gets one, or nothing.
    refuses(lab, disk, "ENOKEY", auth="required")
    refuses(lab, disk, "ENOKEY", key="vm")
    refuses(lab, disk, "EINVAL", auth="off", key="vm")
    refuses(lab, disk, "EINVAL", key="v/m")
    refuses(lab, disk, "EINVAL", auth="yes")
    # A secret that somebody has thought of.
    add_key(lab.client, "weak", 1, b"correct horse battery staple 123")
    refuses(lab, disk, "EINVAL", key="weak")
    lab.client.run("dmesg | grep -q 'weak:1 is no secret'")


def proven(lab: Lab, disk: str) -> None:
    name = rnbd.map_device(lab, disk, nics=(0, 1), key="vm", auth="required")
    proofs(lab, "vm:1", (0, 1))
    rnbd.equal([rnbd.read(lab.client, f"{SESSION}/{file}") for file in ("auth", "key")], ["required", "vm"],
               "what the session wants")
    lab.client.run(f"dd if=/dev/{name} of=/dev/null bs=64k count=16 iflag=direct 2>/dev/null")
    # A session that is open is not made to look otherwise.
    refuses(lab, "/dev/other", "EINVAL", key="another")
    refuses(lab, "/dev/other", "ENOENT", key="vm")
    rnbd.unmap(lab, name)


def refused(lab: Lab, disk: str) -> None:
    # A server that wants no proofs gives none.
    rnbd.write(lab.server, SERVER_AUTH, "off")
    refuses(lab, disk, "EPROTONOSUPPORT", key="vm", auth="required")
    # A key is named to be used.
    refuses(lab, disk, "EPROTONOSUPPORT", key="vm")
    name = rnbd.map_device(lab, disk, key="vm", auth="optional")
    proofs(lab, "none")
    rnbd.equal(rnbd.read(lab.client, f"{SESSION}/downgrades"), "1", "attempts that went on without the proof")
    lab.client.run("dmesg | grep -q 'the server proves nothing, and auth is optional'")
    # Who names the key for another disk of that session wants a proof, too.
    refuses(lab, "/dev/other", "EINVAL", key="vm")
    refuses(lab, "/dev/other", "ENOENT", key="vm", auth="optional")
    # The server has changed its mind; what was proven once is never plain again.
    rnbd.write(lab.server, SERVER_AUTH, "optional")
    back(lab, 0)
    proofs(lab, "vm:1")
    rnbd.write(lab.server, SERVER_AUTH, "off")
    lab.client.run(f"echo 1 >'{folder(lab, 0)}/disconnect'", 60)
    lab.client.run(f"! echo 1 >'{folder(lab, 0)}/reconnect'", 60)
    rnbd.equal(rnbd.read(lab.client, f"'{folder(lab, 0)}/last_error'"), "-93", "why it does not come back")
    pair = f"ip:{lab.client.address(1)}@ip:{lab.server.address(1)}"
    rnbd.equal(rnbd.write_error(lab.client, f"{SESSION}/add_path", pair, 90), "EPROTONOSUPPORT", "another path, plain")
    rnbd.equal(rnbd.read(lab.client, f"{SESSION}/downgrades"), "1", "attempts that went on without the proof")
    rnbd.unmap(lab, name, "force")
    # One that requires them takes nobody without.
    rnbd.write(lab.server, SERVER_AUTH, "required")
    refuses(lab, disk, "EPROTONOSUPPORT")
    # The client is not told which of these it was.
    add_key(lab.client, "stranger", 1, fresh_secret())
    refuses(lab, disk, "EKEYREJECTED", key="stranger")
    add_key(lab.server, "stranger", 1, fresh_secret())
    refuses(lab, disk, "EKEYREJECTED", key="stranger")
    before = refusals(lab)
    rnbd.check(before["proof_failed"] >= 2 and before["proof_needed"] >= 1, f"the server has counted {before}")


def switched(lab: Lab, disk: str) -> None:
    """Who came in without a proof goes when the server begins to require one."""
    rnbd.write(lab.server, SERVER_AUTH, "optional")
    plain_one = rnbd.map_device(lab, disk, no_path_timeout=-1)
    before = connects(lab, 0)
    proven_one = rnbd.map_device(lab, disk, "other", key="vm", access_mode="ro")
    rnbd.write(lab.server, SERVER_AUTH, "required")
    wait_lost(lab, 0, before, 10)
    rnbd.wait_until(lab.server, "[ \"$(ls /sys/class/rtrs-server)\" = other ]", 10, "the plain session is gone")
    lab.client.run(f"dd if=/dev/{proven_one} of=/dev/null bs=64k count=16 iflag=direct 2>/dev/null")
    rnbd.unmap(lab, proven_one)
    rnbd.write(lab.server, SERVER_AUTH, "optional")
    wait_back(lab, 0, before, 120)
    rnbd.unmap(lab, plain_one)
    rnbd.write(lab.server, SERVER_AUTH, "required")


def replaced(lab: Lab, disk: str) -> None:
    """A secret that comes back under the name and generation of a stolen one keeps nobody in whom that has let in."""
    old, new = fresh_secret(), fresh_secret()
    for machine in (lab.client, lab.server):
        add_key(machine, "stolen", 1, old)
    name = rnbd.map_device(lab, disk, key="stolen", no_path_timeout=-1)
    before = connects(lab, 0)
    replace_key(lab.server, "stolen", 1, new)
    wait_lost(lab, 0, before, 10)
    rnbd.wait_until(lab.client, f"grep -qx -- -129 '{folder(lab, 0)}/last_error'", 60, "the thief hears no")
    replace_key(lab.client, "stolen", 1, new)
    wait_back(lab, 0, before, 120)
    # The same secret anew is another key, too: its time may have been over.
    before = connects(lab, 0)
    replace_key(lab.server, "stolen", 1, new)
    wait_back(lab, 0, before, 120)
    rnbd.unmap(lab, name)


def rotated(lab: Lab, disk: str) -> None:
    """A new generation while the old one is valid, and then the end of both."""
    name = rnbd.map_device(lab, disk, nics=(0, 1), key="vm", no_path_timeout=-1)
    load = gentle_load(lab, name, 600)
    secret = fresh_secret()
    for machine in (lab.server, lab.client):
        add_key(machine, "vm", 2, secret)
    for nic in (0, 1):
        back(lab, nic)
        proofs(lab, "vm:2", (nic,))
    before = [connects(lab, nic) for nic in (0, 1)]
    remove_key(lab.server, "vm", 1)
    # Nobody uses it any more.
    lab.client.run("sleep 3")
    rnbd.equal([connects(lab, nic) for nic in (0, 1)], before, "paths that came back after the end of an old key")
    carries(lab, 0, "goes on")
    # Its end takes all of its paths, and they come back with the next one.
    remove_key(lab.server, "vm", 2)
    for nic in (0, 1):
        wait_lost(lab, nic, before[nic], 20)
    rnbd.wait_until(lab.client, f"grep -qx -- -129 '{folder(lab, 0)}/last_error'", 60, "the client hears no")
    secret = fresh_secret()
    for machine in (lab.server, lab.client):
        add_key(machine, "vm", 3, secret)
    for nic in (0, 1):
        wait_back(lab, nic, before[nic], 120)
    proofs(lab, "vm:3", (0, 1))
    # The server starts anew: both paths prove themselves to it at once, and make one session.
    before = [connects(lab, nic) for nic in (0, 1)]
    lab.server.run("rmmod rnbd_server\nrmmod rtrs_server\nmodprobe rtrs_server auth=required\nmodprobe rnbd_server", 90)
    for nic in (0, 1):
        wait_back(lab, nic, before[nic], 120)
    rnbd.equal(rnbd.sessions(lab.server, "server"), ["vm"], "sessions of the server")
    for nic in (0, 1):
        carries(lab, nic, "carries on")
    end_load(lab, load)
    rnbd.unmap(lab, name)


def too_often(lab: Lab, disk: str) -> None:
    """Sixteen wrong proofs of an address are enough for a while, if it has proven nothing of late: who has could be
    locked out by what is sent in its name."""
    guess(lab, disk, 20)
    rnbd.equal(refusals(lab)["proof_limit"], 0, "refusals of an address that has proven itself")
    lab.server.run("rmmod rnbd_server\nrmmod rtrs_server\nmodprobe rtrs_server auth=required\nmodprobe rnbd_server", 90)
    # Time gives them back, one each two seconds, which is nearly as fast as a busy host asks.
    for _ in range(ROUNDS):
        guess(lab, disk, 40)
        before = refusals(lab)
        if before["proof_limit"]:
            break
    rnbd.check(before["proof_limit"], f"the server has counted no refusal for that: {before}")
    rnbd.equal(rnbd.sessions(lab.client, "client"), [], "sessions that came in")
    lab.client.run("sleep 5")
    name = rnbd.map_device(lab, disk, key="vm")
    proofs(lab, "vm:3")
    rnbd.unmap(lab, name)


def guess(lab: Lab, disk: str, count: int) -> None:
    """So many wrong proofs, together."""
    maps = [rnbd.map_text(lab, disk, session=f"s{i}", key="stranger") for i in range(count)]
    lab.client.run("set +e\n" + "\n".join(f"echo '{text}' >{rnbd.CTL}/map_device 2>/dev/null &" for text in maps) +
                   "\nwait", 300)


def refuses(lab: Lab, disk: str, want: str, **options: object) -> None:
    text = rnbd.map_text(lab, disk, **options)
    rnbd.equal(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text, 90), want, text)


def proofs(lab: Lab, want: str, nics: tuple[int, ...] = (0,)) -> None:
    """Both sides say by what they have proven themselves."""
    for nic in nics:
        for machine, path in ((lab.client, folder(lab, nic)),
                              (lab.server, folder(lab, nic).replace("rtrs-client", "rtrs-server"))):
            rnbd.equal(rnbd.read(machine, f"'{path}/proven'"), want, f"{machine.name}: {os.path.basename(path)}")


def refusals(lab: Lab) -> dict[str, int]:
    lines = rnbd.read(lab.server, "/sys/kernel/debug/rtrs-server/refusals").splitlines()
    return {kind: int(count) for kind, count in map(str.split, lines)}
