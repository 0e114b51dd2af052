#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""screen.py PROGRAM: rnbdadm top on a terminal of its own, over a tree of plain files. A line "ok <what>" or
"FAIL <what>" for each test."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

# Else only what has changed is written.
REDRAW = b"\x0c"
KEYS = {"q": b"q", "escape": b"\x1b", "interrupt": b"\x03"}


def tree(root: Path) -> None:
    files = {"sys/class/rnbd-client/ctl/map_device": "Usage"}
    for n in range(30):
        disk = f"sys/block/rnbd{n}"
        files |= {f"{disk}/size": "2048", f"{disk}/stat": "1 0 8 1 1 0 8 1 0 1 1", f"{disk}/rnbd/session": "store",
                  f"{disk}/rnbd/mapping_path": f"/dev/disk{n}", f"{disk}/rnbd/access_mode": "rw",
                  f"{disk}/rnbd/state": "closed" if n == 1 else "open"}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")


class Terminal:
    """The program on a pseudo terminal, and all that it has written so far."""

    def __init__(self, program: str, root: str, term: str = "xterm-256color", *words: str) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.process = subprocess.Popen([program, "--root", root, "top", *words], stdin=theirs, stdout=theirs,
                                        stderr=theirs, env=os.environ | {"TERM": term, "LC_ALL": "C.UTF-8"},
                                        start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.theirs = theirs
        self.seen = b""

    def read(self, seconds: float) -> None:
        if select.select([self.ours], [], [], seconds)[0]:
            self.seen += os.read(self.ours, 65536)

    def until(self, text: str, seconds: float = 20) -> bool:
        end = time.monotonic() + seconds
        while text.encode() not in self.seen and time.monotonic() < end:
            self.read(0.2)
        return text.encode() in self.seen

    def press(self, keys: bytes) -> None:
        self.seen = b""
        os.write(self.ours, keys)

    def ends(self, seconds: float = 20) -> bool:
        """With 0, and the terminal is as it was."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.1)
        self.read(0.1)
        return self.process.poll() == 0 and termios.tcgetattr(self.theirs) == self.before

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


def check(what: str, good: bool, terminal: Terminal) -> None:
    print(f"{'ok' if good else 'FAIL'} top {what}")
    if not good:
        print(f"     {terminal.seen[-600:]!r}, ended with {terminal.process.poll()}")


def main() -> None:
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as root:
        tree(Path(root))
        for name, key in KEYS.items():
            t = Terminal(program, root)
            check(f"has a screen before {name}", t.until("30 devices, 0 paths") and t.until("rnbd3"), t)
            t.press(key)
            check(f"ends with {name}, and leaves the terminal as it was", t.ends(), t)
            t.close()

        t = Terminal(program, root)
        t.until("rnbd3")
        check("cuts what is below the screen", b"rnbd29" not in t.seen, t)
        t.press(b"\x1b[6~" + REDRAW)
        check("goes on to what is below", t.until("rnbd29"), t)
        fcntl.ioctl(t.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 100, 0, 0))
        t.process.send_signal(signal.SIGWINCH)
        t.read(1)
        t.press(b"\x1b[5~\x1b[5~" + REDRAW)
        check("uses all of a screen that has grown", t.until("rnbd0") and t.until("rnbd29"), t)
        t.process.send_signal(signal.SIGTERM)
        check("puts the terminal in order when it is ended", t.ends(), t)
        t.close()

        t = Terminal(program, root, "dumb", "--count", "1")
        good = t.ends() and b"READS/s" in t.seen and not re.search(rb"\x1b\[\d*;?\d*H[^\x1b]*top", t.seen)
        check("is stats --watch where there is no screen", good, t)
        t.close()
        piped = subprocess.run([program, "--root", root, "top", "--count", "1"], capture_output=True, text=True)
        plain = piped.returncode == 0 and chr(27) not in piped.stdout and "READS/s" in piped.stdout
        print(f"{'ok' if plain else 'FAIL'}"
              " top is stats --watch without a terminal")


main()
