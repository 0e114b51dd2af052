# SPDX-License-Identifier: GPL-2.0
"""Emulated cables: a connected pair of datagram sockets for each, one frame a datagram.

The harness keeps both ends open, so that a cable outlives its machines: one that is killed can be booted
again on the same cable. While an end has no machine, frames that arrive there are read and dropped, as
a switch does with a dead port; else the sender would stall in its transmit queue.
"""

from __future__ import annotations

import os
import select
import socket
import threading

BUFFER = 1 << 20


class End:
    """One plug of a cable; at most one machine uses `fd` at a time."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._wake: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None
        self.unplug()

    @property
    def fd(self) -> int:
        return self._sock.fileno()

    def plug(self) -> int:
        """Stop dropping frames; returns the descriptor to hand to a machine."""
        if self._thread and self._wake:
            os.close(self._wake[1])
            self._thread.join()
            os.close(self._wake[0])
            self._thread = self._wake = None
        return self.fd

    def unplug(self) -> None:
        if not self._thread:
            self._wake = os.pipe()
            self._thread = threading.Thread(target=self._drain, args=(self._wake[0],), daemon=True)
            self._thread.start()

    def _drain(self, wake: int) -> None:
        while True:
            ready, _, _ = select.select([self._sock, wake], [], [])
            if wake in ready:
                return
            try:
                if not self._sock.recv(65536, socket.MSG_DONTWAIT):
                    return
            except BlockingIOError:
                pass
            except OSError:
                return

    def close(self) -> None:
        self.plug()
        self._sock.close()


class Cable:
    def __init__(self) -> None:
        left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        for sock in (left, right):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        self.ends = (End(left), End(right))

    def close(self) -> None:
        for end in self.ends:
            end.close()
