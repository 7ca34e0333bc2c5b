#!/usr/bin/env python3
"""Prints docs/rings.md from docs/live/ring.json and docs/live/forward.json.

usage: scripts/rings.py >docs/rings.md
`scripts/rings.sh` measures both documents and then runs this.
"""

import json
import pathlib
import re

from page import fill

ROOT = pathlib.Path(__file__).resolve().parent.parent
LABELS = {"true": "valid", "false": "early"}
RING_HEAD = """\
| ring | limit | packets/s | in flight p50 | completion p50, us | p99, us | throughput | in flight |
|---|---|--:|--:|--:|--:|--:|--:|"""
FORWARD_HEAD = """\
| link | forwarder | qdisc | limit | ping p50, us | p99, us | goodput, Mbit/s |
|---|---|---|---|--:|--:|--:|"""


def read(name):
    return json.loads((ROOT / f"docs/live/{name}.json").read_text())


def rate(bits_per_s):
    mbit = bits_per_s // 1_000_000
    return f"{mbit} Mbit/s" if mbit < 1000 else f"{mbit // 1000} Gbit/s"


def ring_of(row):
    """What tells one ring from another."""
    return row["driver"], row["link"], row["rate_bps"]


def title(row):
    driver, link, bits_per_s = ring_of(row)
    completions = LABELS.get(row["completions"], row["completions"])
    return f"{driver}, {rate(bits_per_s) if bits_per_s else link}, {completions}"


def ring_table(document):
    """Each limit, the smallest sufficient depth and 1,024 packets on each ring."""
    findings = {(ring_of(it), it["limit"]): it for it in document["findings"]}
    depths = {ring: it["smallest_sufficient_depth"] for (ring, _), it in findings.items()}
    lines, last = [RING_HEAD], None
    for row in document["rows"]:
        ring, limit = ring_of(row), row["limit"]
        is_depth = re.fullmatch(r"\d+p", limit)
        if is_depth and limit not in ("1024p", depths.get(ring)):
            continue
        name = limit + (" (sufficient)" if limit == depths.get(ring) else "")
        cells = ["" if ring == last else title(row), name, f"{row['pps']:.0f}"]
        latency = row["completion_us"]
        cells.append(str(row["inflight_bytes"]["p50"]))
        cells += [f"{latency['p50']:.0f}", f"{latency['p99']:.0f}"]
        found = findings.get((ring, limit))
        cells.append(f"{found['throughput_share'] * 100:.1f} %" if found else "")
        cells.append(f"{found['inflight_ratio']:.2f}" if found else "")
        lines.append("| " + " | ".join(cells) + " |")
        last = ring
    return lines


def forward_table(document):
    lines = [FORWARD_HEAD]
    for row in document["rows"]:
        ping = row["ping_us"]
        cells = [rate(row["rate_bps"]), row["forwarder"], row["qdisc"], row["limit"]]
        cells += [f"{ping['p50']:,}", f"{ping['p99']:,}", f"{row['goodput_bps'] / 1e6:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def largest(notes, pattern):
    return max((int(it) for note in notes for it in re.findall(pattern, note)), default=0)


def run_notes(document):
    """The accuracy of the run: timer lateness and lost pings."""
    late = largest(document["notes"], r"timers\D* (\d+) us")
    lost = largest(document["notes"], r"(\d+) pings")
    return (
        f"At p99, timers were at most {late:,} us late. At most {lost} pings of a row were lost.\n"
        "[docs/live/forward.json](live/forward.json) has notes for each row."
    )


def main():
    rings, forward = read("ring"), read("forward")
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
        "RINGS": "\n".join(ring_table(rings)),
        "FORWARD": "\n".join(forward_table(forward)),
        "NOTES": run_notes(forward),
    }
    print(fill("rings-head.md", values), end="")


main()
