#!/usr/bin/env python3
"""Measures QUIC under a limit, and writes docs/udp-and-quic.md, its charts and the records.

Needs root and an idle machine; five repetitions of 3 s take about fifty minutes.

usage: scripts/udp_and_quic.py [REPETITIONS [DURATION]]    [default: 5 3s]
Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
"""

import json
import os
import pathlib
import platform
import shutil
import sys
import tempfile

from page import ROOT, build, fill, keep, marked, options, output, table

FEW = options("--only", ["plain", "32k", "bbr", "dql", "taut"])
# Name, title, options and targets of each path. `request_us`: p50 of a request; `buffer`: the same
# in per cent of the best buffer; `goodput` and `cpu`: in per cent of plain quinn.
PATHS = [
    ("2mbit", "2 Mbit/s", ["--rate", "2mbit"],
     {"request_us": 30000, "buffer": 110, "goodput": 99}),
    ("20mbit", "20 Mbit/s", ["--rate", "20mbit"],
     {"request_us": 6000, "buffer": 110, "goodput": 99}),
    ("100mbit", "100 Mbit/s", ["--rate", "100mbit"], {"buffer": 130, "goodput": 99, "cpu": 150}),
    ("500mbit", "500 Mbit/s", ["--rate", "500mbit"], {"buffer": 130, "goodput": 99, "cpu": 150}),
    ("falls", "20, then 4, then 20 Mbit/s", ["--falls", *FEW], {"goodput": 97}),
    ("routed", "20 Mbit/s behind a router", ["--topology", "routed", *FEW],
     {"request_us": 10000, "goodput": 99}),
    ("bridged", "20 Mbit/s behind a bridge", ["--topology", "bridged", *FEW],
     {"request_us": 10000, "goodput": 99}),
    ("far", "20 Mbit/s, 50 ms away", ["--distance", "50ms", *FEW], {"goodput": 99}),
]
HEAD = ["path", "conn.", "plain", "best buffer", "bbr", "dql", "taut", "of buffer", "goodput"]
HEAD += ["CPU"]


def ratios(report):
    """The cells of the row of `taut` for each number of connections, from a report."""
    part = report.split("\n## In per cent", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {int(row[1]): row for row in rows if row[0] == "taut"}


class Processors:
    """The time of the processors since this was created, in seconds."""

    def __init__(self):
        self.busy, self.all, self.own = self.read()

    @staticmethod
    def read():
        """Busy and total time of the machine, and the time of this program and its children."""
        ticks = [int(it) for it in pathlib.Path("/proc/stat").read_text().split()[1:9]]
        seconds = [it / os.sysconf("SC_CLK_TCK") for it in ticks]
        return sum(seconds) - seconds[3] - seconds[4], sum(seconds), sum(os.times()[:4])

    def percent_of_others(self):
        busy, everything, own = self.read()
        others = busy - self.busy - (own - self.own)
        return int(others * 100 / (everything - self.all) + 0.5)


def method(repetitions, duration, percent_of_others):
    """The paragraph that describes the run."""
    kernel = platform.release().split("-")[0]
    text = f"Medians of {repetitions} repetitions of {duration}, all rows of a path in each, on "
    text += f"{os.cpu_count()} CPUs\nwith Linux {kernel}. Other programs took "
    text += f"{percent_of_others} % of the processors' time"
    if percent_of_others > 5:
        text += ": **the machine was busy**,\nand the results include its load"
    return text + "."


class Table:
    """The rows of the page, and how many targets `taut` meets."""

    def __init__(self):
        self.lines, self.targets, self.met = [], 0, 0

    def cell(self, text, met=None):
        """A result, in bold if it misses its target."""
        if met is None:
            return text
        self.targets += 1
        self.met += met
        return marked(text, met)

    def add(self, title, targets, requests, row):
        """A row: `requests` has the p50 of each variant, `row` the ratios of `taut`."""
        def share(name, value, within):
            known = name in targets and value != "-"
            return self.cell(f"{value} %", within(float(value), targets[name]) if known else None)

        _, connections, goodput, _, buffer, of_buffer, cpu = row
        us, at_most = requests["taut"], targets.get("request_us")
        cells = [title, connections, f"{requests['plain']:,}"]
        cells.append("-" if buffer == "-" else f"{requests[buffer]:,} ({buffer.split()[-1]})")
        cells += [f"{requests['bbr']:,}", f"{requests['dql']:,}"]
        cells.append(self.cell(f"{us:,}", None if at_most is None else us <= at_most))
        cells.append(share("buffer", of_buffer, float.__le__))
        cells.append(share("goodput", goodput, float.__ge__))
        cells.append(share("cpu", cpu, float.__le__))
        self.lines.append(cells)


def page(measured, text):
    """The page, from the document and the report of each path, and how they were measured."""
    rows, requests = Table(), {}
    for name, title, _, targets in PATHS:
        document, report = measured[name]
        targets = {key: float(value) for key, value in targets.items()}
        for connections, row in sorted(ratios(report).items()):
            found = {
                it["variant"]: it["request_us"]["p50"]
                for it in document["rows"]
                if it["connections"] == connections
            }
            requests[name, connections] = found
            rows.add(title, targets, found, row)
    example = requests["20mbit", 1]
    values = {
        "TAUT_US": f"{example['taut']:,}",
        "PLAIN_US": f"{example['plain']:,}",
        "MET": f"{rows.met} of {rows.targets}",
        "TABLE": table(HEAD, rows.lines),
        "METHOD": text,
    }
    return fill("udp-and-quic-head.md", values)


def main():
    if len(sys.argv) > 3:
        print(__doc__, file=sys.stderr)
        return 2
    repetitions, duration = (sys.argv[1:] + ["5", "3s"][len(sys.argv) - 1 :])[:2]
    quic = build("-p", "taut-quinn", "--example", "quic_under_load") / "examples/quic_under_load"
    processors, measured = Processors(), {}
    with tempfile.TemporaryDirectory() as directory:
        for name, _, path_options, _ in PATHS:
            print(f"udp_and_quic.py: {name}", file=sys.stderr)
            report = pathlib.Path(directory, f"udp-and-quic-{name}.md")
            document = output(quic, "--repeat", repetitions, "--duration", duration, *path_options,
                              "-j", "--report", report)
            measured[name] = json.loads(document), report.read_text()
        text = page(measured, method(repetitions, duration, processors.percent_of_others()))
        for chart in pathlib.Path(directory).glob("*.svg"):
            shutil.move(chart, ROOT / "docs" / chart.name)
    for name, (document, _) in measured.items():
        keep(f"quic-{name}.json.gz", document)
    (ROOT / "docs/udp-and-quic.md").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
