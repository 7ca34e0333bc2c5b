#!/usr/bin/env python3
"""Writes docs/stacks.md and its picture from docs/live/stacks.jsonl and docs/live/xsk.jsonl.

usage: scripts/stacks.py
scripts/quic.py --record and scripts/xsk.py --record write the runs.
"""

import json
import statistics

import xsk
from page import LIVE, ROOT, bars, draw, fill, spread, table

LIMITS = ("plain", "dql", "taut")
STACKS = ("quinn", "noq", "s2n-quic", "quiche")
LINKS = {"bridged": "bridge", "routed": "router"}


def recorded(name):
    return [json.loads(line) for line in (LIVE / name).read_text().splitlines()]


def medians(runs):
    """Medians of the runs of each row and limit."""
    found = {}
    for run in runs:
        key = (run["topology"], run["rate"], run["stack"], run["busy_loops"])
        found.setdefault(key, {}).setdefault(run["limit"], []).append(run)
    values = ("p50_us", "p99_us", "goodput_bps", "cpu_ns_per_byte", "calls_per_datagram",
              "queued_bytes")
    return {key: {limit: {value: median([it[value] for it in of_limit]) for value in values}
                  for limit, of_limit in limits.items()} for key, limits in found.items()}


def median(values):
    known = [it for it in values if it is not None]
    return statistics.median(known) if known else None


def fault_line(run):
    return [run["stack"], run["fault"], f"{run['limit_bytes']:,}",
            f"{run['unaccounted_bytes']:,}", f"{run['goodput_bps'] / 1e6:.1f}", ms(run)]


def ms(values):
    return " / ".join(f"{values[key] / 1e3:,.1f}" for key in ("p50_us", "p99_us"))


def pair(row, value, decimals):
    both = [row[limit][value] for limit in ("plain", "taut")]
    return " / ".join("-" if it is None else f"{it:,.{decimals}f}" for it in both)


def line(key, row):
    topology, rate, stack, _ = key
    lower = row["plain"]["p50_us"] / row["taut"]["p50_us"]
    goodput = 100 * row["taut"]["goodput_bps"] / row["plain"]["goodput_bps"]
    return [f"{rate.removesuffix('mbit')}, {LINKS[topology]}", stack,
            *(ms(row[limit]) for limit in LIMITS), f"{lower:.1f} x", f"{goodput:.1f} %",
            pair(row, "cpu_ns_per_byte", 0), pair(row, "calls_per_datagram", 1)]


def requests(rows, busy_loops):
    def order(key):
        return list(LINKS).index(key[0]), int(key[1].removesuffix("mbit")), STACKS.index(key[2])

    keys = sorted((key for key in rows if key[3] == busy_loops), key=order)
    lines = [line(key, rows[key]) for key in keys if len(rows[key]) == len(LIMITS)]
    columns = ["Mbit/s, behind a", "stack", *LIMITS, "p50 lower", "goodput", "CPU", "calls"]
    return table(columns, lines, left=2)


def queued(rows):
    """Where the bytes of each stack wait, at 20 Mbit/s."""
    lines = []
    for (topology, rate, stack, busy_loops), row in sorted(rows.items()):
        if rate != "20mbit" or busy_loops or None in [row[it]["queued_bytes"] for it in LIMITS]:
            continue
        cells = [f"{row[limit]['queued_bytes'] / 1e3:,.0f} KB, "
                 f"{row[limit]['queued_bytes'] * 8 / 20e3:,.0f} ms" for limit in LIMITS]
        lines.append([f"{stack}, {LINKS[topology]}", *cells])
    return table(["stack, behind a", *LIMITS], lines)


def chart(rows):
    """The p50 of a request at 20 Mbit/s behind a router, for each stack."""
    groups = []
    for stack in STACKS:
        if row := rows.get(("routed", "20mbit", stack, 0)):
            groups.append((stack, {limit: row[limit]["p50_us"] / 1e3 for limit in LIMITS}))
    return bars("Request beside bulk data at 20 Mbit/s, p50", "QUIC stack", "ms", groups)


def main():
    runs, frames = recorded("stacks.jsonl"), recorded("xsk.jsonl")
    faults = [it for it in runs if it.get("fault")]
    runs = [it for it in runs if not it.get("fault")]
    rows = medians(runs)
    draw([chart(rows)], ROOT / "docs/stacks-latency.svg")
    idle = [it for it in runs if not it["busy_loops"]]
    example = rows["routed", "20mbit", "noq", 0]
    counts = [len([it for it in idle if (it["topology"], it["rate"], it["stack"], it["limit"])
                   == (*key[:3], "taut")]) for key in rows if not key[3]]
    values = {
        "PLAIN_MS": f"{example['plain']['p50_us'] / 1e3:,.0f}",
        "TAUT_MS": f"{example['taut']['p50_us'] / 1e3:,.1f}",
        "RUNS": spread(counts), "DURATION": idle[0]["duration"],
        "LOAD": spread([it["load"] for it in idle]),
        "TABLE": requests(rows, 0), "BUSY": requests(rows, 2), "QUEUED": queued(rows),
        "FAULTS_QUIC": table(["stack", "fault", "limit", "unaccounted", "Mbit/s", "request"],
                             map(fault_line, faults), left=2),
    } | dict(zip(("SPEEDS", "DELAYS", "FAULTS"), xsk.tables(frames)))
    (ROOT / "docs/stacks.md").write_text(fill("stacks-head.md", values))


if __name__ == "__main__":
    main()
