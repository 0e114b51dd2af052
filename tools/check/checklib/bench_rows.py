# SPDX-License-Identifier: GPL-2.0
"""The table of instructions in bench/README.md, made of the report that bench/run --record leaves: what an I/O
takes, ours and what it is compared with, of one run."""

DOCUMENT = "bench/README.md"
REPORTS = "bench/results/"
WORDS = ("release", "system", "commit", "day", "rounds")
# How a column is called, the kind of I/O, and always_invalidate.
COLUMNS = (("write, Y", "write", "Y"), ("read, Y", "read", "Y"), ("write, N", "write", "N"), ("read, N", "read", "N"))
DEPTHS = (32, 1)


def fields(file):
    """The words of a report with their values, and its figures: (stack, load) to those of both machines, of the
    client's modules and of the server's."""
    found, figures = {}, {}
    for line in file.lines:
        word, *values = line.split(" ")
        if word != "figure":
            found[word] = " ".join(values)
            continue
        if len(values) != 5:
            raise ValueError(f"'{line}' is no figure")
        figures[values[0], values[1]] = [float(value) for value in values[2:]]
    lacking = [word for word in WORDS if not found.get(word)]
    if lacking:
        raise ValueError(f"no {lacking[0]}")
    return found, figures


def render(tree):
    """The lines between the marks."""
    reports = [fields(file) for file in tree.files if file.path.startswith(REPORTS)]
    text = []
    for found, figures in reports:
        text += [f"4 KiB at random on Linux {found['release']} ({found['system']}), commit {found['commit']}, "
                 f"{found['day']}, medians of {found['rounds']} rounds:\n", "\n",
                 "| instructions for each I/O | " + " | ".join(title for title, _, _ in COLUMNS) + " |\n",
                 "|---" * (1 + len(COLUMNS)) + "|\n"]
        for depth in DEPTHS:
            for title, cell in (("both machines", both),
                                ("ours / in-tree", by("intree-{}")), ("ours / NVMe", by("nvme")),
                                ("client modules (in-tree; NVMe)", own(1)), ("server modules (in-tree; NVMe)", own(2))):
                cells = (cell(figures, f"4k-rand{kind}-{depth}", value) for _, kind, value in COLUMNS)
                text.append(f"| depth {depth}: {title} | " + " | ".join(cells) + " |\n")
    return "".join(text)


def of(figures, stack, load):
    try:
        return figures[stack, load]
    except KeyError:
        raise ValueError(f"no figure of {stack} with {load}") from None


def thousands(value):
    return f"{value:,.0f}"


def both(figures, load, value):
    return thousands(of(figures, f"ours-{value}", load)[0])


def by(other):
    return lambda figures, load, value: (
        f"{of(figures, f'ours-{value}', load)[0] / of(figures, other.format(value), load)[0]:.2f}")


def own(place):
    def cell(figures, load, value):
        ours, intree, nvme = (of(figures, stack, load)[place] for stack in (f"ours-{value}", f"intree-{value}", "nvme"))
        return f"{thousands(ours)} ({thousands(intree)}; {thousands(nvme)})"

    return cell
