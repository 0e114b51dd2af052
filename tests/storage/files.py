# SPDX-License-Identifier: GPL-2.0
"""Files of a journaling file system across a crash: what fsync promised has to be there.

    files.py write FOLDER RECORD SEED SECONDS
    files.py verify FOLDER RECORD

RECORD is a file on something that does not crash. Its line N is the name of the file whose version N was written,
renamed to that name and synced with its folder, after which line N was appended to the file "log", and synced.
"""

import os
import random
import sys
import time
import zlib

NAMES = 24
LINE = 9  # bytes


def body(seed: int, version: int) -> bytes:
    chance = random.Random(seed << 20 | version)
    data = chance.randbytes(chance.randrange(1, 30000))
    return b"%d %d %d\n" % (version, len(data), zlib.crc32(data)) + data


def sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write(folder: str, record: str, seed: int, seconds: int) -> None:
    end = time.monotonic() + seconds
    version = len(read_record(record))
    with open(record, "a", encoding="ascii") as out, open(f"{folder}/log", "ab", buffering=0) as log:
        # What follows the last line that was noted came too late to be noted.
        log.truncate(LINE * version)
        sync_folder(folder)
        while time.monotonic() < end:
            version += 1
            name = f"{folder}/f{version * 7919 % NAMES}"
            with open(f"{name}.new", "wb", buffering=0) as f:
                f.write(body(seed, version))
                os.fsync(f.fileno())
            os.rename(f"{name}.new", name)
            sync_folder(folder)
            log.write(b"%08d\n" % version)
            os.fdatasync(log.fileno())
            out.write(f"{name}\n")
            out.flush()


def read_record(record: str) -> list[str]:
    try:
        with open(record, encoding="ascii") as lines:
            return lines.read().split()
    except FileNotFoundError:
        return []


def judge_log(data: bytes, lines: int) -> list[str]:
    wanted = b"".join(b"%08d\n" % (n + 1) for n in range(lines))
    return [] if data.startswith(wanted) else [f"log: {lines} lines were synced, and are not there"]


def judge(name: str, least: int) -> str:
    """What is wrong with a file of which this version was synced."""
    try:
        with open(name, "rb") as f:
            head, data = f.readline(), f.read()
    except OSError as e:
        return str(e)
    try:
        version, size, checksum = (int(word) for word in head.split())
    except ValueError:
        return f"{name} does not begin with what was written"
    if version < least:
        return f"{name}: version {version}, but {least} was synced"
    if size != len(data) or checksum != zlib.crc32(data):
        return f"{name}: content of version {version} is not what was written"
    return ""


def verify(folder: str, record: str) -> int:
    names = read_record(record)
    synced = {name: n + 1 for n, name in enumerate(names)}
    wrong = [judge(name, version) for name, version in sorted(synced.items())]
    with open(f"{folder}/log", "rb") as log:
        wrong += judge_log(log.read(), len(names))
    wrong = [text for text in wrong if text]
    print("\n".join(wrong[:10]))
    print(f"{len(names)} files were synced, {len(wrong)} are wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    else:
        sys.exit(verify(sys.argv[2], sys.argv[3]))
