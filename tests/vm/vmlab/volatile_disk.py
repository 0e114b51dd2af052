# SPDX-License-Identifier: GPL-2.0
"""A disk of a QEMU machine with a volatile write cache that a loss of power really empties.

A server of the NBD protocol inside of this process. What was written and neither flushed nor written with FUA is in
the cache: power_loss() keeps a random part of its sectors, and the machine that comes up afterwards sees the rest
as it was before.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
from pathlib import Path

SECTOR = 512
_OPTION, _REPLY = 0x49484156454F5054, 0x0003E889045565A9
_EXPORT_NAME, _ABORT, _INFO, _GO = 1, 2, 6, 7
_ACK, _EXPORT, _UNSUPPORTED = 1, 3, 0x80000001
_READ, _WRITE, _DISCONNECT, _FLUSH = 0, 1, 2, 3
_FUA = 1
_FLAGS = 1 | 4 | 8  # has flags, knows flush, knows FUA
_EINVAL = 22


class VolatileDisk:
    """Listens at `path` of the host, for one machine at a time."""

    def __init__(self, path: Path, megabytes: int, chance: random.Random) -> None:
        self.path = path
        self.forgets_flushes = False  # True: a disk that lies, to see a test fail
        self.flushes = 0
        self._connections: list[dict[str, int]] = []  # what each machine has asked for
        self._size = megabytes << 20
        self._durable = bytearray(self._size)
        self._cache: dict[int, bytes] = {}  # by sector
        self._chance = chance
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._idle = threading.Event()
        self._idle.set()
        threading.Thread(target=self._serve, daemon=True).start()

    def power_loss(self) -> int:
        """After the machine was killed: how many cached sectors are lost."""
        if not self._idle.wait(10):
            raise AssertionError("the machine of this disk is still alive")
        # Nothing, everything, or any part of what was not flushed may have been written out.
        kept = 0.0 if self.forgets_flushes else self._chance.choice((0.0, 0.2, 0.5, 0.8))
        before = len(self._cache)
        survivors = [s for s in sorted(self._cache) if self._chance.random() < kept]
        for sector in survivors:
            self._store(sector)
        self._cache.clear()
        return before - len(survivors)

    def story(self) -> str:
        """What it was asked for, and which blocks of its first MiB have nothing: for when a test has failed."""
        asked = "; ".join(", ".join(f"{count} {what}" for what, count in one.items()) for one in self._connections)
        block = 8 * SECTOR
        empty = [str(n) for n in range(min(self._size, 1 << 20) // block) if not any(self._read(n * block, block))]
        return f"its disk was asked, boot by boot, for {asked}; empty blocks: {' '.join(empty) or 'none'}"

    def close(self) -> None:
        self._listener.close()
        self.path.unlink(missing_ok=True)

    # --- the cache

    def _store(self, sector: int) -> None:
        self._durable[sector * SECTOR:(sector + 1) * SECTOR] = self._cache[sector]

    def _read(self, offset: int, size: int) -> bytes:
        data = bytearray(self._durable[offset:offset + size])
        for n in range(size // SECTOR):
            cached = self._cache.get(offset // SECTOR + n)
            if cached:
                data[n * SECTOR:(n + 1) * SECTOR] = cached
        return bytes(data)

    def _write(self, offset: int, data: bytes, fua: bool) -> None:
        first = offset // SECTOR
        for n in range(len(data) // SECTOR):
            self._cache[first + n] = data[n * SECTOR:(n + 1) * SECTOR]
        if fua:
            self._flush(range(first, first + len(data) // SECTOR))

    def _flush(self, sectors: range | None = None) -> None:
        if self.forgets_flushes:
            return
        for sector in sectors or list(self._cache):
            self._store(sector)
            del self._cache[sector]

    # --- the protocol

    def _serve(self) -> None:
        while True:
            try:
                sock = self._listener.accept()[0]
            except OSError:
                return
            self._idle.clear()
            self._connections.append({"reads": 0, "writes": 0, "flushes": 0})
            try:
                with sock, sock.makefile("rb") as stream:
                    if self._negotiate(sock, stream):
                        self._transmit(sock, stream)
            except (EOFError, OSError):
                pass  # the machine was killed
            finally:
                self._idle.set()

    @staticmethod
    def _take(stream, form: str) -> tuple:
        data = stream.read(struct.calcsize(form))
        if len(data) != struct.calcsize(form):
            raise EOFError
        return struct.unpack(form, data)

    def _negotiate(self, sock: socket.socket, stream) -> bool:
        sock.sendall(b"NBDMAGIC" + struct.pack(">QH", _OPTION, 3))
        self._take(stream, ">I")
        while True:
            _, option, size = self._take(stream, ">QII")
            stream.read(size)
            if option == _EXPORT_NAME:
                sock.sendall(struct.pack(">QH", self._size, _FLAGS))
                return True

            def reply(kind: int, data: bytes = b"", option: int = option) -> None:
                sock.sendall(struct.pack(">QIII", _REPLY, option, kind, len(data)) + data)

            if option in (_INFO, _GO):
                reply(_EXPORT, struct.pack(">HQH", 0, self._size, _FLAGS))
            reply(_ACK if option in (_INFO, _GO, _ABORT) else _UNSUPPORTED)
            if option == _ABORT:
                return False
            if option == _GO:
                return True

    def _transmit(self, sock: socket.socket, stream) -> None:
        while True:
            _, flags, command, handle, offset, size = self._take(stream, ">IHHQQI")
            answer, error = b"", 0
            asked = {_READ: "reads", _WRITE: "writes", _FLUSH: "flushes"}.get(command)
            if asked:
                self._connections[-1][asked] += 1
            if offset % SECTOR or size % SECTOR or offset + size > self._size:
                error = _EINVAL
            if command == _WRITE:
                data = stream.read(size)
                if len(data) != size:
                    return
                if not error:
                    self._write(offset, data, bool(flags & _FUA))
            elif command == _READ:
                answer = b"" if error else self._read(offset, size)
            elif command == _FLUSH:
                self.flushes += 1
                self._flush()
            elif command == _DISCONNECT:
                return
            else:
                error = _EINVAL
            sock.sendall(struct.pack(">IIQ", 0x67446698, error, handle) + answer)
