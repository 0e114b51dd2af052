# SPDX-License-Identifier: GPL-2.0
"""Emulated cables: a connected pair of datagram sockets for each, one frame a datagram; and switches, with a cable
to each machine.

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


def _pair() -> tuple[socket.socket, socket.socket]:
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for sock in pair:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    return pair


class Cable:
    def __init__(self) -> None:
        self.ends = tuple(End(sock) for sock in _pair())

    def close(self) -> None:
        for end in self.ends:
            end.close()


class Switch:
    """Between more machines than two. It learns who is behind which port, and drops what a port has no room for."""

    def __init__(self, ports: int) -> None:
        pairs = [_pair() for _ in range(ports)]
        self.ends = tuple(End(theirs) for theirs, _ in pairs)
        self._ports = [ours for _, ours in pairs]
        self._wake = os.pipe()
        self._thread = threading.Thread(target=self._forward, daemon=True)
        self._thread.start()

    def _forward(self) -> None:
        behind: dict[bytes, socket.socket] = {}
        while True:
            ready, _, _ = select.select([*self._ports, self._wake[0]], [], [])
            if self._wake[0] in ready:
                return
            for port in ready:
                frame = port.recv(65536)
                behind[frame[6:12]] = port
                known = behind.get(frame[:6])
                for other in [known] if known else self._ports:
                    if other is not port:
                        try:
                            other.send(frame, socket.MSG_DONTWAIT)
                        except OSError:
                            pass

    def close(self) -> None:
        os.close(self._wake[1])
        self._thread.join()
        os.close(self._wake[0])
        for end in self.ends:
            end.close()
        for port in self._ports:
            port.close()
