# SPDX-License-Identifier: GPL-2.0
"""Keys of machines (protocol J.3), as an administrator gives them: by keyctl, into the modules' keyring."""

from __future__ import annotations

import secrets

from .machine import Machine

RING = "%:.rnbd"


def fresh_secret() -> bytes:
    return secrets.token_bytes(32)


def add_key(machine: Machine, name: str, generation: int, secret: bytes) -> None:
    octets = "".join(f"\\{byte:03o}" for byte in secret)
    machine.run(f"/usr/bin/printf '{octets}' | keyctl padd logon rnbd:{name}:{generation} {RING} >/dev/null")


def replace_key(machine: Machine, name: str, generation: int, secret: bytes) -> None:
    """Another secret under the same description, before anybody can look for it in between."""
    octets = "".join(f"\\{byte:03o}" for byte in secret)
    key = f"$(keyctl list {RING} | sed -n 's/^ *\\([0-9]*\\): .* logon: rnbd:{name}:{generation}$/\\1/p')"
    machine.run(f"old={key}\nkeyctl unlink $old {RING}\n"
                f"/usr/bin/printf '{octets}' | keyctl padd logon rnbd:{name}:{generation} {RING} >/dev/null")


def remove_key(machine: Machine, name: str, generation: int) -> None:
    # Root may list the keyring, but what is in it is found by those only who possess it.
    key = f"$(keyctl list {RING} | sed -n 's/^ *\\([0-9]*\\): .* logon: rnbd:{name}:{generation}$/\\1/p')"
    machine.run(f"keyctl unlink {key} {RING}")
