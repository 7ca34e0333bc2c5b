#!/usr/bin/env python3
"""Writes docs/software-consumer.md and docs/live/software-consumer.json from the documents that
scripts/software-consumer.sh left in a directory.

usage: scripts/software_consumer.py DIRECTORY
Exit codes: 0 ok, 1 nothing to write, 2 usage.
"""

import json
import os
import pathlib
import platform
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What is wanted: of the packets without a limit, and of the ping of the least fixed limit.
LEAST_OF_OFF, MOST_PING = 0.98, 1.5


def per_cent(share):
    return f"{100 * share:.1f} %"


def table(rows):
    lines = [
        "| limit | packets/s | of off | of best | limit (p50) | in flight | ping p50, us | ping p99, us | p99 over least |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        limit = "-" if row["limit_p50"] is None else f"{row['limit_p50']:g}"
        over = "-" if row["ping_over_least"] is None else f"{row['ping_over_least']:.2f}"
        lines.append(
            f"| `{row['limit']}` | {row['pps']:,.0f} | {per_cent(row['of_off'])} | {per_cent(row['of_best'])} | {limit} "
            f"| {row['inflight_mean']:.1f} | {row['ping_us']['p50']:,.0f} | {row['ping_us']['p99']:,.0f} | {over} |"
        )
    return "\n".join(lines)


def verdicts(cases):
    lines = ["| consumer, core, told | least | dql | need | taut | met by taut |", "|---|--:|--:|--:|--:|---|"]
    met = 0
    for name, rows in cases:
        of = {row["limit"]: row for row in rows}
        least = of["fixed:99.9%"]

        def cell(row):
            return f"{per_cent(row['of_off'])}, {row['ping_over_least']:.2f}"

        taut = of["taut:packets"]
        good = taut["of_off"] >= LEAST_OF_OFF and taut["ping_over_least"] <= MOST_PING
        met += good
        lines.append(
            f"| {name} | {least['limit_p50']:g} | {cell(of['dql:packets'])} | {cell(of['need:packets'])} | {cell(taut)} "
            f"| {'yes' if good else '**no**'} |"
        )
    return "\n".join(lines), met


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    documents = []
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
        documents.append(json.loads(path.read_text()))
    if not documents:
        print(f"{sys.argv[1]}: nothing was measured", file=sys.stderr)
        return 1
    cases = []
    for document in documents:
        slow_us = document["parameters"]["slow_packet_ns"] / 1000
        row = document["rows"][0]
        cost = f" ({slow_us:g} us)" if row["consumer"] == "slow" else ""
        cases.append((f"{row['consumer']}{cost}, {row['core']}, {row['told']}", document["rows"]))
    first = documents[0]["parameters"]
    wanted, met = verdicts(cases)
    real_time = all(document["parameters"]["real_time"] for document in documents)
    rounds = min(row["rounds"] for _, rows in cases for row in rows)
    note = os.environ.get("NOTE", "")
    page = [
        (ROOT / "scripts/software-consumer-head.md").read_text().rstrip(),
        f"Medians of {rounds} rounds of {first['duration_ns'] / 1e6:g} ms, each under every limit in turn, on "
        f"{os.cpu_count()} processors with Linux {platform.release().split('-')[0]}, "
        f"{'at real-time priority' if real_time else '**at ordinary priority**'}. {note}".rstrip(),
        "## Wanted and found",
        "Wanted of `taut:packets`: 98 % of the packets without a limit in the same round, and p99 of the ping at most "
        "1.5 times that of the least fixed limit that gives 99.9 % of what the best one gives. Each cell is those two; "
        f"*least* is that limit in packets. {met} of {len(cases)} are met.",
        wanted,
    ]
    for name, rows in cases:
        page += [f"## {name[0].upper()}{name[1:]}", table(rows)]
    (ROOT / "docs/software-consumer.md").write_text("\n\n".join(page) + "\n")
    together = {"version": 1, "documents": documents}
    (ROOT / "docs/live/software-consumer.json").write_text(json.dumps(together, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
