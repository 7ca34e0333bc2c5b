#!/usr/bin/env python3
"""Prints docs/udp-and-quic.md from the measurements in DIR. Part of scripts/udp-and-quic.sh.

usage: scripts/udp_and_quic.py DIR METHOD
DIR has, for each path, the document `quic-NAME.json` and the ratios `NAME.summary`, a Markdown
table of `quic_under_load`. METHOD is the paragraph that describes the run.
"""

import json
import pathlib
import sys

from page import fill

# Name, title and targets of each path. `request_us`: p50 of a request; `buffer`: the same in per
# cent of the best buffer; `goodput` and `cpu`: in per cent of plain quinn.
PATHS = [
    ("2mbit", "2 Mbit/s", {"request_us": 30000, "buffer": 110, "goodput": 99}),
    ("20mbit", "20 Mbit/s", {"request_us": 6000, "buffer": 110, "goodput": 99}),
    ("100mbit", "100 Mbit/s", {"buffer": 130, "goodput": 99, "cpu": 150}),
    ("500mbit", "500 Mbit/s", {"buffer": 130, "goodput": 99, "cpu": 150}),
    ("falls", "20, then 4, then 20 Mbit/s", {"goodput": 97}),
    ("routed", "20 Mbit/s behind a router", {"request_us": 10000, "goodput": 99}),
    ("bridged", "20 Mbit/s behind a bridge", {"request_us": 10000, "goodput": 99}),
    ("far", "20 Mbit/s, 50 ms away", {"goodput": 99}),
]
HEAD = """\
| path | conn. | plain | best buffer | bbr | dql | taut | of buffer | goodput | CPU |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""


def ratios(file):
    """The cells of the row of `taut` for each number of connections."""
    lines = [line for line in file.read_text().splitlines() if line]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {int(row[1]): row for row in rows if row[0] == "taut"}


class Table:
    """The rows of the page, and how many targets `taut` meets."""

    def __init__(self):
        self.lines, self.targets, self.met = [HEAD], 0, 0

    def cell(self, text, met=None):
        """A result, in bold if it misses its target."""
        if met is None:
            return text
        self.targets += 1
        self.met += met
        return text if met else f"**{text}**"

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
        self.lines.append("| " + " | ".join(cells) + " |")


def main():
    directory, method = pathlib.Path(sys.argv[1]), sys.argv[2]
    table, requests = Table(), {}
    for name, title, targets in PATHS:
        rows = json.loads((directory / f"quic-{name}.json").read_text())["rows"]
        targets = {key: float(value) for key, value in targets.items()}
        for connections, row in sorted(ratios(directory / f"{name}.summary").items()):
            found = {
                it["variant"]: it["request_us"]["p50"]
                for it in rows
                if it["connections"] == connections
            }
            requests[name, connections] = found
            table.add(title, targets, found, row)
    example = requests["20mbit", 1]
    values = {
        "TAUT_US": f"{example['taut']:,}",
        "PLAIN_US": f"{example['plain']:,}",
        "MET": f"{table.met} of {table.targets}",
        "TABLE": "\n".join(table.lines),
        "METHOD": method,
    }
    print(fill("udp-and-quic-head.md", values), end="")


main()
