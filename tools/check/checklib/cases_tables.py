# SPDX-License-Identifier: GPL-2.0
"""The examples of the rules for tables in README.md (cases.py)."""

REPORT = (
    "plan stock\ntarget vm\nrelease 6.1.0-1-amd64\nsystem Debian 12\ncommit 0123456789ab\n"
    "day 2026-01-02\nresult 7 passed, 0 failed\n"
)
TABLE = (
    "<!-- kernels: written by tools/tables -->\n"
    "| kernel | ran as | on | tests | at commit, on |\n|---|---|---|---|---|\n"
    "| 6.1, Debian's own | 6.1.0-1-amd64 | Debian 12, `make vm` | 7 passed, 0 failed "
    "| 0123456789ab, 2026-01-02 |\n"
    "<!-- kernels: end -->\n"
)

FIGURES = "release 6.1.0-1-amd64\nsystem Debian 12\ncommit 0123456789ab\nday 2026-01-02\nrounds 3\n" + "".join(
    f"figure {stack} 4k-rand{kind}-{depth} 1000.4 200.6 100\n"
    for stack in ("ours-Y", "ours-N", "intree-Y", "intree-N", "nvme") for kind in ("read", "write") for depth in (32, 1)
)
INSTRUCTIONS = (
    "<!-- instructions: written by tools/tables -->\n"
    "4 KiB at random on Linux 6.1.0-1-amd64 (Debian 12), commit 0123456789ab, 2026-01-02, medians of 3 rounds:\n\n"
    "| instructions for each I/O | write, Y | read, Y | write, N | read, N |\n|---|---|---|---|---|\n" + "".join(
        f"| depth {depth}: {title} |" + f" {cell} |" * 4 + "\n"
        for depth in (32, 1) for title, cell in (
            ("both machines", "1,000"), ("ours / in-tree", "1.00"), ("ours / NVMe", "1.00"),
            ("client modules (in-tree; NVMe)", "201 (201; 201)"), ("server modules (in-tree; NVMe)", "100 (100; 100)"))
    ) + "<!-- instructions: end -->\n"
)

BAD = {
    "kernel-table": [
        {"README.md": "# None\n"},
        {"README.md": TABLE, "tests/vm/results/a.txt": REPORT.replace("0 failed", "1 failed")},
        {"README.md": TABLE, "tests/vm/results/a.txt": REPORT.replace("commit", "comet")},
        {"README.md": TABLE},
        {
            "README.md": TABLE,
            "tests/vm/results/a.txt": REPORT,
            "cxxrt/build/check-kernel.sh": "series='6.1 6.12'\n",
        },
        {
            "README.md": TABLE,
            "tests/vm/results/a.txt": REPORT,
            "cxxrt/build/check-kernel.sh": "series='6.1'\nseries_arm64='6.1'\n",
        },
        {
            "README.md": TABLE,
            "tests/vm/results/a.txt": REPORT.replace("amd64", "arm64"),
            "cxxrt/build/check-kernel.sh": "series='6.1'\n",
        },
    ],
    "bench-table": [
        {"bench/README.md": "# None\n"},
        {"bench/README.md": INSTRUCTIONS},
        {"bench/README.md": INSTRUCTIONS, "bench/results/a.txt": FIGURES.replace("1000.4", "1001.4")},
        {"bench/README.md": INSTRUCTIONS, "bench/results/a.txt": FIGURES.replace("day", "date")},
        {"bench/README.md": INSTRUCTIONS, "bench/results/a.txt": FIGURES.replace("figure nvme 4k-randread-1 ", "")},
        {"bench/README.md": INSTRUCTIONS, "bench/results/a.txt": FIGURES.replace(" 100\n", "\n")},
    ],
}
GOOD = {
    "kernel-table": [
        {
            "README.md": "# Title\n" + TABLE,
            "tests/vm/results/a.txt": REPORT,
            "cxxrt/build/check-kernel.sh": "series='6.1'\n",
        }
    ],
    "bench-table": [{"bench/README.md": "# Title\n" + INSTRUCTIONS, "bench/results/a.txt": FIGURES}],
}
