# SPDX-License-Identifier: GPL-2.0
"""Secrets, and the keys that are made of them (protocol J.3), are in no log, trace, file of the modules or list of
keys, in no form, on neither machine: while they prove something, when they fail, and when they are gone."""

import base64
import gzip
import hashlib
import hmac
import re

from vmlab import rnbd
from vmlab.admin import Admin
from vmlab.keys import RING, add_key, fresh_secret, remove_key
from vmlab.lab import Lab
from vmlab.machine import Machine
from vmlab.multipath import connects, wait_lost

OURS = ("client", "server")
KINDS = ("stock", "debug")
PIECE = 8  # bytes of a secret that nothing else has by chance
WEAK = b"correct horse battery staple 123"
KEYS = "/sys/kernel/config/rtrs/keys"
TRACEFS = "/sys/kernel/tracing"
SYSTEMS = ("rtrs_clt", "rnbd_clt", "rtrs_srv", "rnbd_srv")
EVERYWHERE = f"""set +e
{{
	dmesg
	cat {TRACEFS}/trace
	cat /proc/keys /proc/key-users
	keyctl show {RING}; keyctl list {RING}
	for key in $(keyctl rlist {RING}); do keyctl describe $key; keyctl print $key; keyctl pipe $key; done
	for folder in /sys/class/rtrs-* /sys/class/rnbd-* /sys/block/rnbd* /sys/devices/virtual/rtrs-* \\
			/sys/devices/virtual/rnbd-* /sys/module/rtrs_* /sys/module/rnbd_* /sys/kernel/config/rtrs \\
			/sys/kernel/config/rnbd /sys/kernel/debug/rtrs-* /sys/kernel/debug/rnbd-*; do
		[ -e "$folder" ] || continue
		find $folder/ -follow -maxdepth 8 2>/dev/null
		find $folder/ -follow -maxdepth 8 -type f -perm -u=r -exec cat '{{}}' ';'
	done
}} >/tmp/haystack 2>&1
gzip -c /tmp/haystack | base64
rm /tmp/haystack
"""


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    for machine in (lab.client, lab.server):
        machine.run(f"echo 4096 >{TRACEFS}/buffer_size_kb\n: >{TRACEFS}/trace\n"
                    f"for s in {' '.join(SYSTEMS)}; do e={TRACEFS}/events/$s/enable; [ ! -e $e ] || echo 1 >$e; done")
    try:
        looks(lab, disk)
    finally:
        for machine in (lab.client, lab.server):
            machine.try_run(f"echo 0 >{TRACEFS}/events/enable\n: >{TRACEFS}/trace\necho 1 >{TRACEFS}/buffer_size_kb")
        lab.server.try_run(f"rmdir {KEYS}/honest")


def looks(lab: Lab, disk: str) -> None:
    known = {"weak": WEAK, "honest": fresh_secret(), "stranger": fresh_secret(), "other": fresh_secret()}
    for machine in (lab.client, lab.server):
        add_key(machine, "honest", 1, known["honest"])
    add_key(lab.client, "weak", 1, WEAK)
    add_key(lab.client, "stranger", 1, known["stranger"])
    add_key(lab.server, "stranger", 1, known["other"])
    names = {**{name: name for name in known}, "other": "stranger"}
    pieces = [piece for name, secret in known.items() for made in made_of(names[name], secret) for piece in forms(made)]
    finds_all(pieces, known)
    lab.server.run(f"mkdir {KEYS}/honest\necho vm >{KEYS}/honest/allowed_sessions")

    # Everything that can go wrong, then what goes well, and its end.
    for key, want in (("weak", "EINVAL"), ("stranger", "EKEYREJECTED"), ("nobody", "ENOKEY")):
        text = rnbd.map_text(lab, disk, key=key)
        rnbd.equal(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text, 90), want, text)
    name = rnbd.map_device(lab, disk, key="honest", auth="required")
    lab.client.run(f"dd if=/dev/{name} of=/dev/null bs=64k count=16 iflag=direct 2>/dev/null")
    client, server = hidden(lab.client, pieces), hidden(lab.server, pieces)
    there = {"honest:1 weak:1 stranger:1 rtrs_clt_path_state": client,
             "honest:1 prove rtrs_srv_refusal allowed_sessions proof_failed": server}
    for words, text in there.items():
        for word in words.split():
            rnbd.check(word.encode() in text, f"nobody has looked where {word} is")
    for machine in (lab.client, lab.server):
        admin = Admin(machine)
        commands = ("list -o json", "list paths -o json", "key list", "key list -o json")
        out = "".join(admin.run(words) for words in commands)
        search(out.encode(), pieces, f"rnbdadm on {machine.name}")

    before = connects(lab, 0)
    remove_key(lab.server, "honest", 1)
    wait_lost(lab, 0, before, 20)
    lab.client.run("sleep 3")
    rnbd.unmap(lab, name, "force")
    for machine in (lab.client, lab.server):
        hidden(machine, pieces)


def made_of(name: str, secret: bytes) -> list[bytes]:
    """The secret, and the key of each direction."""
    return [secret, *(hmac.digest(secret, label + b"\0" + name.encode(), hashlib.sha256)
                      for label in (b"rnbd client", b"rnbd server"))]


def forms(secret: bytes) -> list[bytes]:
    """Any part of it, as bytes, in hexadecimal digits, as words of this processor, and in base64."""
    found = [secret[at:at + PIECE] for at in range(len(secret) - PIECE + 1)]
    found += [piece.hex().encode() for piece in found]
    for at in range(0, len(secret), PIECE):
        piece = secret[at:at + PIECE]
        found += [piece[::-1].hex().encode(), (piece[3::-1] + piece[:3:-1]).hex().encode()]
    # Whatever was in front of it, the digits of its midst are one of these.
    found += [base64.b64encode(secret[skip:skip + 9]) for skip in range(3)]
    return found


def plain(text: bytes) -> bytes:
    """Hexadecimal digits without what stands between them."""
    return re.sub(rb"(0x|[\s:,-])", b"", text.lower())


def search(text: bytes, pieces: list[bytes], where: str) -> None:
    together = plain(text)
    rnbd.check(not any(piece in text or piece in together for piece in pieces), f"{where}: a secret is there")


def finds_all(pieces: list[bytes], known: dict[str, bytes]) -> None:
    """The search is worth something."""
    for secret in known.values():
        for text in (b"x" + secret + b"y", secret[5:14], secret.hex().upper().encode(), secret.hex(" ").encode(),
                     b"key: " + secret.hex(":").encode(), base64.b64encode(secret), base64.b64encode(b"ab" + secret),
                     b", ".join(b"0x%02x" % byte for byte in secret)):
            try:
                search(text, pieces, "")
            except AssertionError:
                continue
            raise AssertionError(f"the search does not find {text!r}")


def hidden(machine: Machine, pieces: list[bytes]) -> bytes:
    text = gzip.decompress(base64.b64decode(machine.run(EVERYWHERE, 180)))
    search(text, pieces, machine.name)
    return text
