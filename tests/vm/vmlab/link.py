# SPDX-License-Identifier: GPL-2.0
"""Emulated cables: a connected pair of datagram sockets for each, one frame a datagram; and switches, with a cable
to each machine.

A machine that can't be told that its cable is out has it cut instead: neither end takes a frame.

The harness keeps both ends open, so that a cable outlives its machines: one that is killed can be booted
again on the same cable. While an end has no machine, frames that arrive there are read and dropped, as
a switch does with a dead port; else the sender would stall in its transmit queue.
"""

from __future__ import annotations

import ctypes
import os
import select
import socket
import struct
import threading

BUFFER = 1 << 20
# Of <asm-generic/socket.h> and <linux/filter.h>: a program of one instruction, which takes no byte of a frame.
SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
_NOTHING = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
_TAKE_NOTHING = struct.pack("HP", 1, ctypes.addressof(_NOTHING))


class Wire:
    """Two sockets, of which each takes what the other one sends while no plug is out."""

    def __init__(self) -> None:
        self.socks = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._out: set[int] = set()
        for sock in self.socks:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)

    def set_plug(self, plug: int, there: bool) -> None:
        was_cut = bool(self._out)
        if there:
            self._out.discard(plug)
        else:
            self._out.add(plug)
        if was_cut == bool(self._out):
            return
        for sock in self.socks:
            if self._out:
                sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, _TAKE_NOTHING)
            else:
                sock.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)


class End:
    """One plug of a cable; at most one machine uses `fd` at a time."""

    def __init__(self, wire: Wire, plug: int) -> None:
        self._wire = wire
        self._plug = plug
        self._sock = wire.socks[plug]
        self._wake: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None
        self.unplug()

    @property
    def fd(self) -> int:
        return self._sock.fileno()

    def plug(self) -> int:
        """Stop dropping frames; returns the descriptor to hand to a machine, which begins with its cable in."""
        self.set_link(True)
        if self._thread and self._wake:
            os.close(self._wake[1])
            self._thread.join()
            os.close(self._wake[0])
            self._thread = self._wake = None
        return self.fd

    def set_link(self, up: bool) -> None:
        self._wire.set_plug(self._plug, up)

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
        wire = Wire()
        self.ends = tuple(End(wire, plug) for plug in range(2))

    def close(self) -> None:
        for end in self.ends:
            end.plug()
        for end in self.ends:
            end.close()


class Switch:
    """Between more machines than two. It learns who is behind which port, and drops what a port has no room for."""

    def __init__(self, ports: int) -> None:
        wires = [Wire() for _ in range(ports)]
        self.ends = tuple(End(wire, 0) for wire in wires)
        self._ports = [wire.socks[1] for wire in wires]
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
