#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Writes auth_vectors.hh: keys of the roles and codes of both sides (protocol J.3), as Python's hmac computes them.

The layouts are written from the protocol document, independently of the headers under test. Without an argument it
writes the file, with --check it compares.
"""

import hashlib
import hmac
import ipaddress
import struct
import sys
from pathlib import Path

HERE = Path(__file__).parent
FAMILY_IP4, FAMILY_IP6, FAMILY_GID = 4, 6, 1
QUEUE_DEPTH, MAX_IO, HEADER = 512, 126976, 4096


def digest(text):
    """32 bytes that look like chance, the same in each run."""
    return hashlib.sha256(text.encode()).digest()


def mac(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def request(count, epoch):
    head = struct.pack("<BBHHHHH", 0, 0, 0x1BBD, 0x0200, 0, count, 7)
    uuids = digest("path uuid")[:16] + digest("session uuid")[:16]
    # first_conn; fences, capsules, short heartbeats and authentication; HMAC-SHA-256
    return head + uuids + struct.pack("<BBHI4x", 1, 0b1111, 1, epoch)


def reply(nonce, serial, instance):
    head = struct.pack("<HHHHIII", 0x1BBD, 0x0200, 0, QUEUE_DEPTH, MAX_IO, HEADER, 2)
    return head + struct.pack("<III", 0b1111, serial, instance) + nonce


def endpoint(family, address, port):
    if family == FAMILY_IP4:
        packed = ipaddress.IPv6Address("::ffff:" + address).packed
    else:
        packed = ipaddress.IPv6Address(address).packed
    return struct.pack("<HH", family, port) + packed


def info_request(session, generation, key, nonce):
    plain = struct.pack("<H255s15x", 0, session)
    return plain + struct.pack("<I4x64s", generation, key) + nonce


def info_response(regions):
    head = struct.pack("<HHI", 1, len(regions), 0)
    return head + b"".join(struct.pack("<QII", *region) for region in regions) + bytes(8)


CASES = [
    dict(what="two connections, IPv4", key=b"k", generation=1, session=b"s", pairs=[(17, 18), (0xFFFFFE, 1)],
         family=FAMILY_IP4, client=("10.10.0.2", 41234), server=("10.10.0.1", 1234), epoch=0,
         regions=[(0x100000, 0x1234, QUEUE_DEPTH * (MAX_IO + HEADER))]),
    dict(what="nine connections, IPv6", key=b"store-1.site_b", generation=2, session=b"web-17@host",
         pairs=[(100 + i, 2000 + 3 * i) for i in range(9)], family=FAMILY_IP6, client=("fd00:10:1::2", 65535),
         server=("fd00:10:1::1", 1234), epoch=0xFFFFFFFF,
         regions=[(0xFFFF888000000000 + 0x20000 * i, 0x100 + i, MAX_IO + HEADER) for i in range(QUEUE_DEPTH)]),
    dict(what="longest names, GID", key=b"k" * 63, generation=0xFFFFFFFF, session=b"n" * 254,
         pairs=[(3, 4)] * 2, family=FAMILY_GID, client=("fe80::2:c903:0:1", 0), server=("fe80::2:c903:0:2", 0), epoch=5,
         regions=[(0, 0, 1)]),
]


def vector(case):
    what = case["what"]
    secret = digest(what + " secret")
    client_key = mac(secret, b"rnbd client\0", case["key"])
    server_key = mac(secret, b"rnbd server\0", case["key"])
    req = request(len(case["pairs"]), case["epoch"])
    rep = reply(digest(what + " server")[:24], 12, 0xCAFEF00D)
    info = info_request(case["session"], case["generation"], case["key"], digest(what + " client"))
    pairs = b"".join(struct.pack("<HHII", cid, 0, *pair) for cid, pair in enumerate(case["pairs"]))
    ends = endpoint(case["family"], *case["client"]) + endpoint(case["family"], *case["server"])
    transcript = req + rep + pairs + ends + info
    response = info_response(case["regions"])
    of_client = mac(client_key, b"info request\0", transcript)
    of_server = mac(server_key, b"info response\0", transcript, of_client, response)
    numbers = "{" + ",".join("\n\t    {%d, %d}" % pair for pair in case["pairs"]) + "}"
    # A long message is given by its digest: the test builds the same.
    rows = [("secret", secret), ("client_key", client_key), ("server_key", server_key), ("request", req),
            ("reply", rep), ("info_request", info), ("response_digest", hashlib.sha256(response).digest()),
            ("client_mac", of_client), ("server_mac", of_server)]
    text = f'    {{\n\t.what = "{what}",\n\t.key = "{case["key"].decode()}",\n'
    for name, value in rows:
        text += f"\t.{name} =\n" + literal(value)
    text += f"\t.pairs = {numbers},\n\t.family = {case['family']},\n"
    for side in ("client", "server"):
        text += f"\t.{side} =\n" + literal(endpoint(case["family"], *case[side]))
    regions = case["regions"]
    text += "\t.regions = {%d, 0x%xull, 0x%xull, 0x%x, %du},\n" % (
        len(regions), regions[0][0], regions[1][0] - regions[0][0] if len(regions) > 1 else 0, *regions[0][1:])
    return text + "    },\n"


def literal(value):
    digits = value.hex()
    lines = [f'\t    "{digits[at:at + 64]}"' for at in range(0, len(digits), 64)]
    return "\n".join(lines) + ",\n"


def content():
    return """// SPDX-License-Identifier: GPL-2.0
// Written by auth_vectors.py; not by hand. Known answers for protocol J.3.
// clang-format off
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace auth_vectors {

struct Regions {
	unsigned count;
	std::uint64_t address, step; // of the first, and from each to the next
	std::uint32_t rkey; // of the first; the others count up
	std::uint32_t length;
};

// Texts of bytes are hexadecimal.
struct Vector {
	const char *what, *key, *secret, *client_key, *server_key, *request, *reply, *info_request;
	const char *response_digest, *client_mac, *server_mac;
	std::vector<std::pair<unsigned, unsigned>> pairs;
	unsigned family;
	const char *client, *server;
	Regions regions;
};

inline const std::vector<Vector> kVectors = {
""" + "".join(vector(case) for case in CASES) + """};

} // namespace auth_vectors
"""


def main():
    path = HERE / "auth_vectors.hh"
    if "--check" in sys.argv[1:]:
        sys.exit(0 if path.read_text() == content() else f"{path} is not what {sys.argv[0]} writes")
    path.write_text(content())


if __name__ == "__main__":
    main()
