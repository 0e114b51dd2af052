# SPDX-License-Identifier: GPL-2.0
"""The table of kernels in README.md, made of the reports that tests/vm/run --record leaves."""

import re

DOCUMENT = "README.md"
REPORTS = "tests/vm/results/"
WORDS = ("plan", "target", "release", "system", "commit", "day", "result")
SUPPORTED = "cxxrt/build/check-kernel.sh"
SERIES = re.compile(r"^series(?:_([a-z0-9]+))?='([^']*)'$", re.MULTILINE)
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, \d+ skipped)?$")
# What is no plan of one of Debian's own kernels, by its name.
BUILT = {
    "uml": "user-mode Linux with sanitizers",
    "debug": "x86 with sanitizers",
    "kcsan": "x86 with KCSAN",
    "pairs": "Debian's own, in pairs",
    "pairs-arm64": "Debian's own, amd64 with arm64",
    "kernels": "the newest of Debian's suites, built and not run",
}
HEAD = "| kernel | ran as | on | tests | at commit, on |\n|---|---|---|---|---|\n"


def fields(file):
    """The words of a report with their values."""
    found = dict(line.partition(" ")[::2] for line in file.lines)
    lacking = [word for word in WORDS if not found.get(word)]
    if lacking:
        raise ValueError(f"no {lacking[0]}")
    if not CLOSING.match(found["result"]):
        raise ValueError(f"'{found['result']}' is no closing line")
    return found


def series_of(release):
    found = re.match(r"\d+\.\d+", release)
    return found.group() if found else ""


def own_of(release):
    """Debian's own kernel of a release: ("6.12", "arm64") of 6.12.9+deb12-arm64-16k."""
    return series_of(release), "arm64" if "-arm64" in release else ""


def describe(arch, release=""):
    pages = ", pages of 16 KiB" if release.endswith("-16k") else ""
    return f"Debian's own, {arch}{pages}" if arch else "Debian's own"


def number(series):
    return tuple(int(part) for part in series.split("."))


def render(tree):
    """The lines between the marks. A kernel that is supported and was not recorded has a row, too."""
    reports = [fields(file) for file in tree.files if file.path.startswith(REPORTS)]
    # Debian's own first, then by series.
    reports.sort(key=lambda r: (r["plan"] in BUILT, number(series_of(r["release"])), r["system"], r["plan"]))
    rows = []
    for r in reports:
        kind = BUILT.get(r["plan"]) or describe(own_of(r["release"])[1], r["release"])
        series = ", ".join(dict.fromkeys(series_of(each) for each in r["release"].split(", ")))
        rows.append(
            f"| {series}, {kind} | {r['release']} | {r['system']}, `make {r['target']}` "
            f"| {r['result']} | {r['commit']}, {r['day']} |\n"
        )
    script = tree.by_path.get(SUPPORTED)
    supported = [(s, arch) for arch, all_of in SERIES.findall(script.text) for s in all_of.split()] if script else []
    own = {own_of(r["release"]) for r in reports if r["plan"] not in BUILT}
    rows += [f"| {s}, {describe(arch)} | | | no run recorded | |\n" for s, arch in supported if (s, arch) not in own]
    return HEAD + "".join(rows)
