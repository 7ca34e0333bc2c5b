#!/usr/bin/env python3
"""Measures quinn under a limit: writes docs/udp-and-quic.md, its chart, and docs/live/quic-*.

usage: scripts/udp_and_quic.py [--repeat N] [--duration TIME] [--path NAME]..
Needs root and an idle machine; five repetitions of 3 s take about fifty minutes. With --path it
measures these paths only, and prints their rows instead of the page.
Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
"""

import argparse
import os
import platform
import statistics
import sys

from page import ROOT, draw, fill, keep
from quic import built, measure

# Name, title, options, buffers and targets of each path. `request_us`: p50 of a request; `buffer`:
# the same in per cent of the best buffer; `goodput` and `cpu`: in per cent of plain quinn.
BUFFERS = ["8k", "32k", "212k", "4m"]
PATHS = {
    "2mbit": ("2 Mbit/s", "--topology direct --rate 2mbit", BUFFERS,
              {"request_us": 30000, "buffer": 110, "goodput": 99}),
    "20mbit": ("20 Mbit/s", "--topology direct", BUFFERS,
               {"request_us": 6000, "buffer": 110, "goodput": 99}),
    "100mbit": ("100 Mbit/s", "--topology direct --rate 100mbit", BUFFERS,
                {"buffer": 130, "goodput": 99, "cpu": 150}),
    "500mbit": ("500 Mbit/s", "--topology direct --rate 500mbit", BUFFERS,
                {"buffer": 130, "goodput": 99, "cpu": 150}),
    "falls": ("20, then 4, then 20 Mbit/s", "--topology direct --falls", ["32k"], {"goodput": 97}),
    "routed": ("20 Mbit/s behind a router", "--topology routed", ["32k"],
               {"request_us": 10000, "goodput": 99}),
    "bridged": ("20 Mbit/s behind a bridge", "--topology bridged", ["32k"],
                {"request_us": 10000, "goodput": 99}),
    "far": ("20 Mbit/s, 50 ms away", "--topology direct --distance 50ms", ["32k"],
            {"goodput": 99}),
}
# Minimum share of plain's goodput for a buffer to be the best, in per cent.
KEPT_PERCENT = 99
HEAD = """\
| path | conn. | plain | best buffer | bbr | dql | taut | of buffer | goodput | CPU |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""


def run(program, path, repeat, duration):
    """The rows of a path: medians by variant and number of connections."""
    _, options, buffers, _ = PATHS[path]
    variants = {"plain": ["--limit", "plain"]}
    for size in buffers:
        variants[f"buffer {size}"] = ["--limit", "plain", "--buffer", size]
    variants |= {limit: ["--limit", limit] for limit in ("bbr", "dql", "taut")}
    runs = {}
    # All rows in each repetition, because they are compared.
    for number in range(repeat):
        print(f"udp_and_quic.py: {path}, repetition {number + 1}", file=sys.stderr)
        for connections in (1, 2):
            for variant, limit in variants.items():
                own = [*options.split(), *limit, "--duration", duration]
                own += ["--two-connections"] if connections == 2 else []
                runs.setdefault((variant, connections), []).append(measure(program, own)[0])
    return {case: median(*case, found) for case, found in runs.items()}


def median(variant, connections, runs):
    """The medians of the runs of a row."""
    def of(value):
        return statistics.median_low(value(run) for run in runs)

    limited = [run for run in runs if run["limit_bytes"] is not None]
    return {
        "variant": variant,
        "connections": connections,
        "request_us": {name: of(lambda run: run["request_us"][name]) for name in ("p50", "p99")},
        "twentieths_us": [of(lambda run: run["twentieths_us"][at]) for at in range(21)],
        "goodput_bps": of(lambda run: run["goodput_bps"]),
        "limit_bytes": of(lambda run: run["limit_bytes"]) if limited else None,
        "lost_datagrams": of(lambda run: run["lost_datagrams"]),
        "cpu_ns_per_byte": of(lambda run: run["cpu_ns_per_byte"]),
    }


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

    def share(self, part, whole, target, within):
        """`part` in per cent of `whole`."""
        percent = round(100 * part / whole, 1)
        met = None if target is None else within(percent, target)
        return self.cell(f"{percent:g} %", met)

    def add(self, path, connections, rows):
        """The row of `taut` on a path, compared with the others."""
        title, _, buffers, targets = PATHS[path]
        rows = {variant: row for (variant, count), row in rows.items() if count == connections}
        plain, taut = rows["plain"], rows["taut"]
        p50 = {variant: row["request_us"]["p50"] for variant, row in rows.items()}
        kept = plain["goodput_bps"] * KEPT_PERCENT / 100
        useful = [it for it in buffers if rows[f"buffer {it}"]["goodput_bps"] >= kept]
        best = min(useful, key=lambda size: p50[f"buffer {size}"], default=None)
        cells = [title, str(connections), f"{p50['plain']:,}"]
        cells.append(f"{p50[f'buffer {best}']:,} ({best})" if best else "-")
        cells += [f"{p50['bbr']:,}", f"{p50['dql']:,}"]
        at_most = targets.get("request_us")
        cells.append(self.cell(f"{p50['taut']:,}", at_most and p50["taut"] <= at_most))
        of_best = best and self.share(
            p50["taut"], p50[f"buffer {best}"], targets.get("buffer"), float.__le__)
        cells.append(of_best or "-")
        for key, name, within in (("goodput_bps", "goodput", float.__ge__),
                                  ("cpu_ns_per_byte", "cpu", float.__le__)):
            cells.append(self.share(taut[key], plain[key], targets.get(name), within))
        self.lines.append("| " + " | ".join(cells) + " |")


def chart(rows):
    """Distribution of the request times, with one connection."""
    lines = []
    for (variant, connections), row in rows.items():
        if connections == 1:
            times = row["twentieths_us"]
            points = [[us, 5 * at] for at, us in enumerate(times)]
            color = {"plain": "off"}.get(variant, variant.removeprefix("buffer "))
            stroke = "dotted" if variant.startswith("buffer") else "solid"
            line = {"label": variant, "color": color, "stroke": stroke, "points": points}
            lines.append(line)
    all_us = [us for line in lines for us, _ in line["points"]]
    return {
        "title": "Requests at 20 Mbit/s, on the connection of the bulk data",
        "x": {"title": "us, further left is faster", "low": min(all_us), "high": max(all_us)},
        "y": {"title": "% of the requests took at most", "high": 100},
        "lines": lines,
    }


def processor_ticks():
    """Busy time of the processors without this script's, and all time, in ticks."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:9]]
    own = sum(os.times()[:4]) * os.sysconf("SC_CLK_TCK")
    return sum(ticks) - ticks[3] - ticks[4] - own, sum(ticks)


def method(options, before):
    """The paragraph that describes the run."""
    busy, total = (now - then for now, then in zip(processor_ticks(), before))
    others = round(100 * busy / max(total, 1))
    kernel = platform.release().split("-")[0]
    text = (f"Medians of {options.repeat} repetitions of {options.duration}, all rows of a path in "
            f"each,\non {os.cpu_count()} CPUs with Linux {kernel}. Other programs took {others} % "
            "of the processors' time")
    if others > 5:
        text += ": **the machine was busy**,\nand the results include its load"
    return text + "."


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--duration", default="3s")
    parser.add_argument("--path", action="append", choices=PATHS)
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("udp_and_quic.py: needs root: skipped", file=sys.stderr)
        return 77
    program = built("quinn")
    before, table, found = processor_ticks(), Table(), {}
    for path in options.path or PATHS:
        found[path] = run(program, path, options.repeat, options.duration)
        for connections in (1, 2):
            table.add(path, connections, found[path])
    if options.path:
        print("\n".join(table.lines))
        return 0
    for path, rows in found.items():
        document = {"options": PATHS[path][1], "repetitions": options.repeat,
                    "duration": options.duration, "rows": list(rows.values())}
        keep(f"quic-{path}.json.gz", document)
    draw([chart(found["20mbit"])], ROOT / "docs/udp-and-quic.svg")
    p50 = {name: found["20mbit"][name, 1]["request_us"]["p50"] for name in ("taut", "plain")}
    values = {
        "TAUT_US": f"{p50['taut']:,}",
        "PLAIN_US": f"{p50['plain']:,}",
        "MET": f"{table.met} of {table.targets}",
        "TABLE": "\n".join(table.lines),
        "METHOD": method(options, before),
    }
    text = fill("udp-and-quic-head.md", values)
    (ROOT / "docs/udp-and-quic.md").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
