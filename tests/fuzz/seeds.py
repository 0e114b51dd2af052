#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Writes the seed corpus: one honest message of each kind, and some near the bounds.

The layouts are written from the protocol document, independently of the headers under test.
"""

import struct
import sys
from pathlib import Path

PATH_UUID = bytes(range(16))
SESSION_UUID = bytes(range(0xF0, 0x100))


def request(cid=0, count=9, flags=1, magic=0x1BBD, version=0x0200):
    head = struct.pack("<BBHHHHH", 0, 0, magic, version, cid, count, 1)
    return head + PATH_UUID + SESSION_UUID + bytes([flags]) + bytes(11)


def reply(errno=0, depth=512, io_size=126976, header=4096, flags=2):
    head = struct.pack("<HHhHIII", 0x1BBD, 0x0200, errno, depth, io_size, header, flags)
    return head + bytes(36)


def info_request(name):
    return struct.pack("<H", 0) + name.ljust(255, b"\0") + bytes(15)


def info_response(regions):
    head = struct.pack("<HHI", 1, len(regions), 0)
    return head + b"".join(struct.pack("<QII", *r) for r in regions)


def proven_info_request(name, key, generation=1):
    tail = struct.pack("<I4x64s", generation, key) + bytes(range(0xA0, 0xC0)) + bytes(range(0x40, 0x60))
    return info_request(name) + tail


def proven_info_response(regions):
    return info_response(regions) + bytes(8) + bytes(range(0x60, 0x80))


def info_input(depth, chunk, message):
    return struct.pack("<HI", depth, chunk) + message


def imm_input(imm, depth=512, chunk=131072, cid=0, error=0):
    return struct.pack("<IIH", depth, chunk, cid) + struct.pack(">I", imm) + struct.pack("<i", error)


def rnbd_io(operation, sector=8, size=4096, flags=0):
    return struct.pack("<HHIQIIH6x", 4, 0, 0, sector, operation | flags, size, 0x4004)


def write_header(message):
    return struct.pack("<HH", 2, len(message))


def read_header(message, size, flags=1):
    head = struct.pack("<HHHH", 3, len(message), flags, 1 if size else 0)
    return head + (struct.pack("<QII", 0x1000, 0x44332211, size) if size else b"")


def chunk_input(data_len, message, header):
    off = data_len + len(message)
    start = max(off - 256, 0)
    before = bytes(data_len - start) if data_len > start else b""
    content = (before + message)[-(off - start):] + header
    return struct.pack("<IB", off, 2) + content


def rnbd_input(message, bits=0x1C, size=0, version=2, capacity=1 << 20):
    return struct.pack("<BIBQ", bits, size, version, capacity) + message


def open_response(block=512):
    return struct.pack(
        "<HHIQIIIIIHHHHBB10x",
        3, 0, 5, 2097152, 1280, 32768, 16384, 4096, 512, 4096, block, 128, 1, 0, 3,
    )


def session_info(kind):
    return struct.pack("<HHB31x", kind, 0, 2)


def open_message(name, mode=1):
    return struct.pack("<HHBB", 2, 0, mode, 0) + name.ljust(255, b"\0") + bytes(3)


def device_states():
    entries = struct.pack("<IIQ", 3, 1, 16) + struct.pack("<IIQ", 9, 6, 1 << 32)
    return struct.pack("<HHIII", 0x8001, 0, 2, 0xFFFFFFFF, 7) + entries


def identity(wwid, losses=1):
    return struct.pack("<HHI", 0x8003, 0, losses) + wwid.ljust(120, b"\0")


def exports():
    one = struct.pack("<IBBHQ256s", 3, 1, 2, 0, 16, b"one")
    two = struct.pack("<IBBHQ256s", 9, 0, 13, 0, 0, b"t w")
    return struct.pack("<HHIII", 0x8007, 0, 2, 0xFFFFFFFF, 1) + one + two


def reserve(operation, kind=0, key=0, second=0, flags=0):
    return struct.pack("<HHIQQQBBHI", 0x8008, 0, 5, 77, key, second, operation, kind, flags, 0)


def device_limits(alignment=0):
    return struct.pack("<HHIIIII40x", 0x8005, 0, 4096, 65536, 262144, alignment & 0xFFFFFFFF, 1)


def seeds():
    yield "private_data", "request", request()
    yield "private_data", "request-last", request(cid=8, flags=0)
    yield "private_data", "request-ib", request() + bytes(36)
    yield "private_data", "reply", reply()
    yield "private_data", "reply-limit", reply(depth=2048, flags=0)
    yield "private_data", "reject", reply(errno=-104, depth=0, io_size=0, header=0, flags=0)

    chunk = 8192
    yield "info", "request", info_input(4, chunk, info_request(b"session1"))
    yield "info", "request-long", info_input(4, chunk, info_request(b"n" * 254))
    yield "info", "response-one", info_input(4, chunk, info_response([(0x1000, 7, 4 * chunk)]))
    yield "info", "response-each", info_input(
        4, chunk, info_response([(0x10000 * i, i, chunk) for i in range(1, 5)])
    )
    yield "info", "rkey", info_input(3, chunk, struct.pack("<HHI", 4, 3, 0x12345678))

    yield "authentication", "request", proven_info_request(b"session1", b"store-1.site_b")
    yield "authentication", "request-long", proven_info_request(b"n" * 254, b"k" * 63, 0xFFFFFFFF)
    yield "authentication", "response-one", proven_info_response([(0x1000, 7, 4 * chunk)])
    yield "authentication", "response-each", proven_info_response([(0x10000 * i, i, chunk) for i in range(1, 5)])
    yield "authentication", "description", b"rnbd:store-1.site_b:4294967295"
    yield "authentication", "sessions", b"web-* db\nname"

    yield "immediate", "request", imm_input(3 << 19 | 4128)
    yield "immediate", "response", imm_input(1 << 28 | 22 << 19 | 5, error=-22)
    yield "immediate", "response-inval", imm_input(2 << 28 | 511, cid=1, error=-512)
    yield "immediate", "heartbeat", imm_input(8 << 28)
    yield "immediate", "heartbeat-ack", imm_input(9 << 28)

    read, write = rnbd_io(0), rnbd_io(1, flags=0x300)
    yield "io_header", "write", chunk_input(4096, write, write_header(write))
    yield "io_header", "read", chunk_input(4096, read, read_header(read, 4096))
    for name, message, header in (("read", read, read_header(read, 4096)), ("write", write, write_header(write))):
        prefix = struct.pack("<IHH", 3 << 19 | 4096 + len(message), len(message), 0)
        yield "capsule", name, prefix + message + header
    yield "capsule", "answer", struct.pack("<II", 2 << 28 | 22 << 19 | 5, 0x12345678)
    flush = rnbd_io(2, sector=0, size=0)
    yield "io_header", "flush", chunk_input(0, flush, read_header(flush, 0, flags=0))
    discard = rnbd_io(3)
    yield "io_header", "discard", chunk_input(0, discard, write_header(discard))
    for name, off in (("edge-write", 8188), ("edge-read", 8184), ("edge-descriptor", 8168)):
        yield "io_header", name, struct.pack("<IB", off, 2) + bytes(256) + read_header(read, 64)

    yield "rnbd_messages", "session-info", rnbd_input(session_info(0), size=36)
    yield "rnbd_messages", "session-info-answer", rnbd_input(session_info(1))
    yield "rnbd_messages", "open", rnbd_input(open_message(b"/dev/sda"), size=56)
    yield "rnbd_messages", "open-parent", rnbd_input(open_message(b"a/../b", 0), size=56)
    yield "rnbd_messages", "open-answer", rnbd_input(open_response())
    yield "rnbd_messages", "open-answer-4k", rnbd_input(open_response(4096))
    yield "rnbd_messages", "close", rnbd_input(struct.pack("<HHI", 5, 0, 5), bits=0x1D)
    numbered = struct.pack("<HHBxxxQ256s", 0x800a, 0, 1, 7, b"/dev/sda")
    yield "rnbd_messages", "numbered-open", rnbd_input(numbered, size=56)
    yield "rnbd_messages", "numbered-close", rnbd_input(struct.pack("<HHIQ", 0x800c, 0, 0, 7), bits=0x1D)
    for operation, bits, size in ((0, 0x1C, 4096), (1, 0x1D, 4096), (3, 0x1D, 0), (4, 0x1D, 0),
                                  (5, 0x1D, 0)):
        yield "rnbd_messages", f"io-{operation}", rnbd_input(rnbd_io(operation), bits, size)
    yield "rnbd_messages", "io-flush", rnbd_input(flush)
    yield "rnbd_messages", "io-short", rnbd_input(read[:24], size=4096, version=1)

    yield "rnbd_messages", "states", rnbd_input(struct.pack("<HHII", 0x8000, 0, 7, 2), size=4096)
    yield "rnbd_messages", "states-answer", rnbd_input(device_states())
    yield "rnbd_messages", "identify", rnbd_input(struct.pack("<HHI", 0x8002, 0, 5), size=128)
    yield "rnbd_messages", "identify-answer", rnbd_input(identity(b"naa.5"))
    yield "rnbd_messages", "wwid-name", rnbd_input(b"wwid:naa.5")
    yield "rnbd_messages", "discover", rnbd_input(struct.pack("<HHI", 0x8006, 0, 7), size=4096)
    yield "rnbd_messages", "discover-answer", rnbd_input(exports())
    yield "rnbd_messages", "reserve-register", rnbd_input(reserve(1, 0, 1, 2, 1), size=24)
    yield "rnbd_messages", "reserve-preempt", rnbd_input(reserve(5, 3, 1, 2), size=24)
    yield "rnbd_messages", "reserve-keys", rnbd_input(reserve(7), size=4096)
    answer = struct.pack("<HHIIIQQQ", 0x8009, 0, 9, 3, 2, 1, 1, 2)
    yield "rnbd_messages", "reserve-answer", rnbd_input(answer)
    yield "rnbd_messages", "limits", rnbd_input(struct.pack("<HHI", 0x8004, 0, 5), size=64)
    yield "rnbd_messages", "limits-answer", rnbd_input(device_limits())
    yield "rnbd_messages", "limits-misaligned", rnbd_input(device_limits(-1))

    texts = {
        "options": "sessname=s1 device_path=/dev/x path=ip:10.0.0.1@ip:10.0.0.2 dest_port=1234"
        " access_mode=migration nr_poll_queues=-1\n",
        "options-short": "sessname=s device_path=d",
        "path4": "ip:10.0.0.1,ip:10.0.0.2",
        "path6": "ip:fe80::1%eth0@ip:2001:db8::2",
        "gid": "gid:fe80:0000:0000:0000:0002:c903:0000:0001",
        "policy": "min-latency\n",
        "number": "-1\n",
        "hex": "0xffff\n",
        "mount": "40 1 0:41 /@ / rw shared:1 master:2 - btrfs /dev/sda2 rw,subvol=/@",
        "mpath": "mpath-35000c500a0000001",
        "kpartx": "part1-mpath-eui.0011223344556677",
        "crypt": "CRYPT-LUKS2-0123456789abcdef0123456789abcdef-home",
        "partition-dos": "c0ffee01-05",
        "partition-gpt": "6c9a1b52-0d6e-4c9b-8d11-0123456789ab",
        "uevent": "MAJOR=8\nMINOR=0\nDEVNAME=sda\nDEVTYPE=disk\n",
        "device": "/dev/%SESSNAME%/disks,a//b/../c",
    }
    for name, text in texts.items():
        yield "text_input", name, text.encode()

    yield "sq_accounting", "plain", bytes([3, 60, 16]) + bytes(range(4)) * 16
    yield "sq_accounting", "mixed", bytes([3, 9, 2]) + bytes([0x41, 0x02, 0x80, 0x21, 0x81, 0x03] * 8)


def main():
    root = Path(sys.argv[1])
    for target, name, content in seeds():
        folder = root / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
