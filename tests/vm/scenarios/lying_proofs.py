# SPDX-License-Identifier: GPL-2.0
"""Servers that pretend to be somebody (protocol J.3): the client believes none, uses no key of theirs, tells why, sends
nothing that it was not asked for, and can be unloaded at once.

LIES="name name" tells only these.
"""

from vmlab import liar, rnbd, stain
from vmlab.keys import add_key, fresh_secret
from vmlab.lab import Lab

SLOW = True
OURS = ("client",)
LIMIT = 60  # seconds for one lie
# The keyring is rtrs_core's.
AGAIN = "rmmod rnbd_client rtrs_client && modprobe rnbd_client"


def run(lab: Lab) -> None:
    rnbd.load_client(lab)
    secret = fresh_secret()
    add_key(lab.client, "machine", 1, secret)
    stain.fill(lab.client)
    liar.visit(lab, LIMIT, f"--key machine --after '{AGAIN}'", f"--key machine:1:{secret.hex()} --stain")
    rnbd.unload_client(lab)
