# SPDX-License-Identifier: GPL-2.0
"""Pairs of machines with different kernels of Debian's: which there are, and laboratories of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .lab import ROLES, Options

WHICH = ("ring", "all", "arm64")
PLAN = "pairs"
ARCHITECTURES = ("stock", "arm64")


def ring(series: Sequence[str]) -> list[dict[str, str]]:
    """As few pairs as give each kernel both roles: each serves the one before it."""
    return [{"server": series[n], "client": series[n - 1]} for n in range(len(series))]


def every(series: Sequence[str]) -> list[dict[str, str]]:
    """All of them, in both directions."""
    return [{"server": server, "client": client} for server in series for client in series if server != client]


def kernels_of(which: str, series: Sequence[str]) -> tuple[str, ...]:
    return ARCHITECTURES if which == "arm64" else tuple(series)


def plan_of(which: str) -> str:
    """What a report of them is called."""
    return f"{PLAN}-{which}" if which == "arm64" else PLAN


def architectures() -> list[dict[str, str]]:
    """Debian's kernel of either architecture, each once as the server."""
    return ring(ARCHITECTURES)


def laboratories(which: str, series: Sequence[str], first: Options) -> list[Options]:
    """Those of a ring, with our modules; of all pairs, or of two architectures, with the in-tree ones on either side as
    well, which comes third for each pair."""
    found = []
    for kernels in {"ring": ring(series), "all": every(series), "arm64": architectures()}[which]:
        pair = dataclasses.replace(first, kernels=kernels, logs=first.logs / "-".join(kernels.values()))
        found.append(pair)
        if which != "ring":
            found += [dataclasses.replace(pair, peers={**pair.peers, role: "intree"},
                                          logs=pair.logs / f"intree-{role}") for role in ROLES]
    return found
