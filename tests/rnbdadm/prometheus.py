#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""prometheus.py TOP: do metrics arrive where they are meant to?

promtool judges the text. Two node exporters, as on two machines, read it as their textfile collector does; a Prometheus
scrapes both, and every query of the dashboard must find something. The programs come from Debian's packages, unpacked
into the cache and not installed: no service of this machine starts. A line "ok <what>" or "FAIL <what>" for each test.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import ExitStack
from pathlib import Path

TOP = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(TOP / "tests/vm"))
from vmlab import debian  # noqa: E402
from vmlab.cache import Cache  # noqa: E402

PACKAGES = ["prometheus", "prometheus-node-exporter"]
if debian.codename() == debian.TRIXIE.name:
    PACKAGES.append("promtool")  # which Debian 12 has in the package prometheus
PATIENCE = 300  # s; far beyond what a loaded machine needs


def programs() -> Path:
    wanted = [f"{p}={debian.newest(p)}" for p in PACKAGES]

    def build(folder: Path) -> None:
        for package in wanted:
            deb = debian.fetch(package, folder)
            subprocess.run(["dpkg-deb", "-x", str(deb), str(folder)], check=True)
            deb.unlink()

    return Cache().entry("prometheus", ["1", *wanted], build) / "usr/bin"


def report(what: str, fault: str) -> None:
    print(f"FAIL {what}" if fault else f"ok {what}")
    for line in fault.splitlines():
        print(f"     {line}")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read(), "utf-8")


def until(what, patience: float = PATIENCE):
    """What `what` returns, as soon as it is true; its last value when patience ends."""
    end = time.monotonic() + patience
    while True:
        try:
            value = what()
        except (urllib.error.URLError, ConnectionError):
            value = None
        if value or time.monotonic() > end:
            return value
        time.sleep(0.5)


def run(stack: ExitStack, *words: object) -> subprocess.Popen:
    process = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return process


def bare(line: str) -> str:
    """A sample without the order of its labels, which the exporter sorts."""
    match = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
    assert match, line
    labels = sorted(re.findall(r'\w+="(?:[^"\\]|\\.)*"', match[2] or ""))
    return f"{match[1]}{labels} {float(match[3])}"


def collected(text: str, page: str) -> str:
    """What the exporter's page lacks of our text, as lines; "" if it has all."""
    ours = [line for line in text.splitlines() if line]
    comments = {line for line in page.splitlines() if line.startswith("#")}
    samples = {bare(line) for line in page.splitlines() if line.startswith("rnbd")}
    lost = [line for line in ours if line.startswith("# TYPE") and line not in comments]
    lost += [line for line in ours if line.startswith("# HELP") and line not in comments]
    lost += [line for line in ours if not line.startswith("#") and bare(line) not in samples]
    errors = re.findall(r"^node_textfile_scrape_error .*", page, re.MULTILINE)
    if errors != ["node_textfile_scrape_error 0"]:
        lost.append(str(errors))
    return "\n".join(lost[:10] + [f"and {len(lost) - 10} more"] * (len(lost) > 10))


def alerts(promtool: Path) -> None:
    rules = TOP / "packaging/prometheus-rnbd.rules.yml"
    tests = TOP / "tests/rnbdadm/alerts_test.yml"
    for what, *words in (("promtool finds no fault with the alerts", "check", "rules", rules),
                         ("each alert tells what it is meant to", "test", "rules", tests)):
        done = subprocess.run([promtool, *words], capture_output=True, text=True, check=False)
        report(what, done.stdout + done.stderr if done.returncode else "")
    text = rules.read_text(encoding="utf-8")
    expected = re.findall(r"alertname: (\w+)\n.*\n +exp_alerts:", tests.read_text(encoding="utf-8"))
    golden = (TOP / "tests/rnbdadm/golden/metrics.txt").read_text(encoding="utf-8")
    lost = [f"no test of {name}" for name in re.findall(r"alert: (\w+)", text) if name not in expected]
    lost += [f"nobody writes {name}" for name in re.findall(r"\brnbd_\w+", text) if f"# TYPE {name} " not in golden]
    report("each alert has a test, and asks for what is written", "\n".join(lost))


def main() -> int:
    what = "Debian's packages of Prometheus are there"
    try:
        bin_ = programs()
    except debian.KernelError as e:
        report(what, str(e))
        return 0
    report(what, "")
    text = (TOP / "tests/rnbdadm/golden/metrics.txt").read_text(encoding="utf-8")
    done = subprocess.run([bin_ / "promtool", "check", "metrics"], input=text, capture_output=True, text=True,
                          check=False)
    report("promtool finds no fault with the metrics", done.stdout + done.stderr)
    alerts(bin_ / "promtool")

    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        (folder / "textfile").mkdir()
        (folder / "textfile/rnbd.prom").write_text(text, encoding="utf-8")
        ports = [free_port(), free_port(), free_port()]
        for port in ports[:2]:
            run(stack, bin_ / "prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                f"--collector.textfile.directory={folder}/textfile", f"--web.listen-address=127.0.0.1:{port}")
        page = until(lambda: get(f"http://127.0.0.1:{ports[0]}/metrics")) or ""
        lost = collected(text, page)
        report("the node exporter passes on every sample, with type and help", lost)
        if lost:
            return 0

        targets = json.dumps([f"127.0.0.1:{port}" for port in ports[:2]])
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s}\n"
            f"scrape_configs: [{{job_name: node, static_configs: [{{targets: {targets}}}]}}]\n", encoding="utf-8")
        run(stack, bin_ / "prometheus", f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{ports[2]}")

        def found(query: str) -> list:
            url = f"http://127.0.0.1:{ports[2]}/api/v1/query?" + urllib.parse.urlencode({"query": query})
            return json.loads(get(url))["data"]["result"]

        # A rate needs two samples of each machine.
        ready = until(lambda: len(found("count_over_time(rnbdadm_info[1h]) >= 3")) == 2)
        report("Prometheus has scraped two machines", "" if ready else "it has not")
        dashboard = json.loads((TOP / "packaging/grafana-rnbd.json").read_text(encoding="utf-8"))
        for panel in dashboard["panels"]:
            fault = ""
            for target in panel.get("targets", []):
                query = target["expr"].replace("$instance", ".*").replace("$__rate_interval", "1h")
                try:
                    if not found(query):
                        fault += f"nothing found by {query}\n"
                except urllib.error.HTTPError as e:
                    fault += f"{query}: {e.read().decode()}\n"
            report(f"the dashboard's panel '{panel['title']}' shows something", fault)
    return 0


if __name__ == "__main__":
    sys.exit(main())
