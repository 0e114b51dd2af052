# SPDX-License-Identifier: GPL-2.0
"""Two fresh machines, a key by rnbdadm, a disk that both sides have proven; the next key while it is in use."""

import shlex

from vmlab import rnbd
from vmlab.admin import Admin
from vmlab.lab import Lab
from vmlab.multipath import carries, connects, end_load, gentle_load, wait_lost

OURS = ("client", "server")
FOLDER = "/etc/rnbd/keys.d"


def run(lab: Lab) -> None:
    client, server = Admin(lab.client), Admin(lab.server)
    disk = rnbd.null_disk(lab.server)
    fresh(lab, client, server, disk)
    name = mapped(lab, client, server)
    load = gentle_load(lab, name, 600)
    bound(lab, client, server)
    rotated(lab, client, server)
    end_load(lab, load)
    ended(lab, client, server, name)


def fresh(lab: Lab, client: Admin, server: Admin, disk: str) -> None:
    """As README says."""
    rnbd.equal(server.run("key load"), "", "what is loaded where there is nothing")
    rnbd.check("keys.d/vm.1\nfingerprint " in server.run("key generate vm"), "generate says where the key lies")
    rnbd.equal(lab.server.run(f"stat -c '%a %U' {FOLDER} {FOLDER}/vm.1").split(), ["700", "root", "600", "root"],
               "modes of the folder and the file")
    # The module comes with the keys, and comes once.
    rnbd.equal(server.run("key load"), "key vm:1: loaded\n", "the first load")
    rnbd.equal(server.run("key load"), "key vm:1: unchanged\n", "the second load")
    rnbd.load_server(lab, auth="required")
    server.run(f"server export add data {disk} --key vm")
    rnbd.check("need not prove" not in server.run("doctor", 12), "doctor takes a server with keys for an open one")

    rnbd.load_client(lab)
    client.run(f"map data --session vm {paths(lab)}", 1)
    rnbd.check("requires a proof" in client.run(f"discover -s vm {paths(lab)} 2>&1", 1), "asked without a proof")
    client.run(f"map data --session vm {paths(lab)} --key vm --auth required", 1)
    brought = bring(lab, "vm.1")
    lab.client.run(f"chmod 644 {brought}")
    rnbd.check("mode 0644" in client.run(f"key add {brought}", 11), "a key that others could read is taken")
    lab.client.run(f"chmod 600 {brought}")
    client.run(f"key add {brought}")
    rnbd.equal(row(client, "vm:1"), row(server, "vm:1"), "the key on both machines")
    rnbd.equal([row(client, "vm:1")[k] for k in ("on_disk", "in_kernel", "problem")], [True, True, None], "the key")


def mapped(lab: Lab, client: Admin, server: Admin, key: str = "vm:1") -> str:
    out = client.run(f"map data --session vm {paths(lab)} --key vm --auth required --no-path-timeout -1")
    proofs(client, server, key)
    rnbd.equal([(e["name"], e["here"]) for e in client.json("discover vm", "discovered")], [("data", True)],
               "what is exported to who has proven the key")
    for admin in (client, server):
        admin.run("key check")
        admin.run("key remove vm", 6)
        admin.run("key remove vm:3", 3)
    return out.strip().removeprefix("/dev/")


def bound(lab: Lab, client: Admin, server: Admin) -> None:
    """The name is the key's, and others open others, by command and by configuration."""
    server.run("server key set vm --client vm --client 'web-*'")
    rnbd.equal(server.json("server key list", "key_lists"), [{"key": "vm", "clients": ["vm", "web-*"]}], "lists")
    client.run(f"map data --session other --path {path(lab, 0)} --key vm --auth required", 1)
    server.configure("[key vm]\nclient = vm\n[key guest]\nclient = guest\n")
    rnbd.equal(server.run("apply --exports"), "key vm: changed\nkey guest: made\n", "apply")
    server.run("server key remove guest")
    proofs(client, server, "vm:1")


def rotated(lab: Lab, client: Admin, server: Admin) -> None:
    """The next generation, path by path, and the end of the one before: no request meets an error."""
    rnbd.check("server must have that first" in client.run("key rotate vm", 1), "a client may begin")
    rnbd.check("rnbdadm key remove vm:1" in server.run("key rotate vm"), "rotate says what is left to do")
    client.run(f"key add {bring(lab, 'vm.2')}")
    rnbd.equal(row(client, "vm:2")["fingerprint"], row(server, "vm:2")["fingerprint"], "fingerprints of the new key")
    proofs(client, server, "vm:1")
    server.run("key remove vm:1", 6)
    for nic in (0, 1):
        client.run(f"path reconnect {path(lab, nic)}", limit=120)
    proofs(client, server, "vm:2")
    before = [connects(lab, nic) for nic in (0, 1)]
    for admin in (server, client):
        admin.run("key remove vm:1")
    lab.client.run("sleep 3")
    rnbd.equal([connects(lab, nic) for nic in (0, 1)], before, "paths that came back after the end of an old key")
    for nic in (0, 1):
        carries(lab, nic, "goes on")
    for admin in (server, client):
        rnbd.equal([key["generation"] for key in admin.json("key list", "keys")], [2], "keys that are left")
        rnbd.equal(admin.run("key load"), "key vm:2: unchanged\n", "a load while the key is in use")
        admin.run("key check")


def ended(lab: Lab, client: Admin, server: Admin, name: str) -> None:
    """Without a key on the server its client is out, and a load brings both together again."""
    before = [connects(lab, nic) for nic in (0, 1)]
    kept = lab.server.run(f"cat {FOLDER}/vm.2")
    server.run("key remove vm --force")
    for nic in (0, 1):
        wait_lost(lab, nic, before[nic], 20)
    lab.server.run(f"umask 077\nprintf %s {shlex.quote(kept)} >{FOLDER}/vm.2")
    rnbd.check("the kernel does not have it" in server.run("key check", 12), "check finds nothing")
    # One that is refused costs itself only.
    lab.server.run(f"echo nonsense >{FOLDER}/other.1\nchmod 600 {FOLDER}/other.1")
    rnbd.check("key vm:2: loaded\n" in server.run("key load", 10), "a load beside a bad file")
    lab.server.run(f"rm {FOLDER}/other.1")
    client.run("recover vm", limit=120)
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 60, "the device comes back")
    proofs(client, server, "vm:2")
    client.run(f"unmap {name}")
    after_many(lab, client, server)
    server.run("server export remove data")
    server.run("server key remove --all")
    for machine in (lab.client, lab.server):
        machine.run("rm -r /etc/rnbd")  # the next scenario's machines are fresh, too


def after_many(lab: Lab, client: Admin, server: Admin) -> None:
    """A session that has proven nothing before finds a key of which there have been many."""
    server.run("key generate vm --generation 1000")
    server.run("key load")
    client.run(f"key add {bring(lab, 'vm.1000')}")
    for admin in (server, client):
        admin.run("key remove vm:2")
    name = mapped(lab, client, server, "vm:1000")
    client.run(f"unmap {name}")


def path(lab: Lab, nic: int) -> str:
    return f"{lab.client.address(nic)}@{lab.server.address(nic)}"


def paths(lab: Lab) -> str:
    return " ".join(f"--path {path(lab, nic)}" for nic in (0, 1))


def bring(lab: Lab, name: str) -> str:
    """The file of the server on the client, as scp leaves it; its place."""
    text = lab.server.run(f"cat {FOLDER}/{name}")
    lab.client.run(f"umask 077\nprintf '%s\\n' {shlex.quote(text.strip())} >/tmp/{name}")
    return f"/tmp/{name}"


def row(admin: Admin, key: str) -> dict:
    found = [k for k in admin.json("key list", "keys") if f"{k['name']}:{k['generation']}" == key]
    rnbd.equal(len(found), 1, f"keys {key}")
    return found[0]


def proofs(client: Admin, server: Admin, want: str) -> None:
    """All paths say so on both sides."""
    for admin in (client, server):
        rnbd.equal([p["proven"] for p in admin.json("list paths", "paths")], [want] * 2, "what the paths have proven")
