#!/usr/bin/env python3
"""Measures rings and forwarders, and writes docs/rings.md, its charts and the records.

Sweeps of depths and limits over both drivers, and the forwarder compared with the kernel's bridge.
Needs root and an idle machine for about eight minutes.

usage: scripts/rings.py           measures and writes all
       scripts/rings.py --page    writes docs/rings.md from the records
Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
"""

import json
import pathlib
import re
import shutil
import sys
import tempfile

from page import ROOT, build, fill, keep, load, output, run, table

RING_HEAD = ["ring", "limit", "packets/s", "in flight p50", "completion p50, us", "p99, us"]
RING_HEAD += ["throughput", "in flight"]
FORWARD_HEAD = ["link", "forwarder", "qdisc", "limit", "ping p50, us", "p99, us", "goodput, Mbit/s"]


def rate(bits_per_s):
    mbit = bits_per_s // 1_000_000
    return f"{mbit} Mbit/s" if mbit < 1000 else f"{mbit // 1000} Gbit/s"


def ring_of(row):
    """What tells one ring from another."""
    return row["driver"], row["link"], row["rate_bps"]


def title(row):
    driver, link, bits_per_s = ring_of(row)
    return f"{driver}, {rate(bits_per_s) if bits_per_s else link}, {row['completions']}"


def ring_table(document):
    """Each limit, the smallest sufficient depth and 1,024 packets on each ring."""
    rows, key = document["rows"], "smallest_sufficient_depth"
    depths = {ring_of(row): row[key] for row in rows if row[key]}
    lines, last = [], None
    for row in rows:
        ring, limit = ring_of(row), row["limit"]
        is_depth = re.fullmatch(r"\d+p", limit)
        if is_depth and limit not in ("1024p", depths.get(ring)):
            continue
        name = limit + (" (sufficient)" if limit == depths.get(ring) else "")
        cells = ["" if ring == last else title(row), name, f"{row['pps']:.0f}"]
        latency = row["completion_us"]
        cells.append(str(row["inflight_bytes"]["p50"]))
        cells += [f"{latency['p50']:.0f}", f"{latency['p99']:.0f}"]
        cells.append(f"{row['throughput_share'] * 100:.1f} %" if row[key] else "")
        cells.append(f"{row['inflight_ratio']:.2f}" if row[key] else "")
        lines.append(cells)
        last = ring
    return table(RING_HEAD, lines, left=2)


def forward_table(document):
    lines = []
    for row in document["rows"]:
        ping = row["ping_us"]
        cells = [rate(row["rate_bps"]), row["forwarder"], row["qdisc"], row["limit"]]
        cells += [f"{ping['p50']:,}", f"{ping['p99']:,}", f"{row['goodput_bps'] / 1e6:.2f}"]
        lines.append(cells)
    return table(FORWARD_HEAD, lines, left=4)


def largest(notes, pattern):
    return max((int(it) for note in notes for it in re.findall(pattern, note)), default=0)


def run_notes(document):
    """The accuracy of the run: timer lateness and lost pings."""
    late = largest(document["notes"], r"timers\D* (\d+) us")
    lost = largest(document["notes"], r"(\d+) pings")
    return (
        f"At p99, timers were at most {late:,} us late. At most {lost} pings of a row were lost.\n"
        "[docs/live/forward.json.gz](live/forward.json.gz) has notes for each row."
    )


def measure():
    taut = build() / "taut"
    with tempfile.TemporaryDirectory() as name:
        new = pathlib.Path(name)
        rings = output(taut, "lab", "ring", "-j", "--report", new / "rings.svg")
        forward = output(taut, "lab", "forward", "--duration", "10s", "-j",
                         "--report", new / "rings-forward.svg")
        for chart in new.glob("*.svg"):
            shutil.move(chart, ROOT / "docs" / chart.name)
    keep("ring.json.gz", json.loads(rings))
    keep("forward.json.gz", json.loads(forward))


def page():
    rings, forward = load("ring.json.gz"), load("forward.json.gz")
    usual, learnt = (
        next(it for it in rings["rows"] if it["limit"] == limit and it["rate_bps"] == 100_000_000)
        for limit in ("1024p", "taut")
    )
    pings = [it["ping_us"]["p50"] for it in forward["rows"] if it["rate_bps"] == 100_000_000]
    values = {
        "USUAL_US": f"{usual['completion_us']['p50']:,.0f}",
        "TAUT_US": f"{learnt['completion_us']['p50']:,.0f}",
        "BRIDGE_US": f"{pings[0]:,}",
        "FORWARD_US": f"{pings[-1]:,}",
        "RINGS": ring_table(rings),
        "FORWARD": forward_table(forward),
        "NOTES": run_notes(forward),
    }
    (ROOT / "docs/rings.md").write_text(fill("rings-head.md", values))


if __name__ == "__main__":
    sys.exit(run(__doc__, measure, page))
