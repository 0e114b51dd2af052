# SPDX-License-Identifier: GPL-2.0
"""Lies of a server that breaks the protocol: each ends as it must, and an honest session works after it."""

from vmlab import liar, rnbd
from vmlab.lab import Lab

SLOW = True
# Lies that a client notices by a timeout of 30 s are told side by side. The limit is that of one lie: how many of them
# a machine manages in a minute is not what is tested.
VARIANTS = {"quick": {"options": "", "limit": 40}, "slow": {"options": "--slow", "limit": 200}}
OURS = ("client",)


def run(lab: Lab, options: str, limit: int) -> None:
    rnbd.load_client(lab)
    liar.visit(lab, limit, options)
    rnbd.unload_client(lab)
