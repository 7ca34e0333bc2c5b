#!/usr/bin/env python3
"""Writes docs/late-machine.md, docs/late-machine.svg and docs/live/late-machine.json from the documents that
scripts/late-machine.sh left in a directory; without a directory, draws docs/late-machine.svg from that record.

usage: scripts/late_machine.py [DIRECTORY]
Exit codes: 0 ok, 1 nothing to write, 2 usage.
"""

import json
import os
import pathlib
import platform
import statistics
import sys

from plot import ROOT, draw

CAPS_MS = [0.5, 1, 2, 5, 10, 20]


def documents(directory, name):
    return [json.loads(path.read_text()) for path in sorted(directory.glob(f"{name}-*.json"))]


def medians(found):
    """The median of each figure over the rounds, by limit in the order of the first."""
    runs = {}
    for document in found:
        for row in document["rows"]:
            runs.setdefault(row["limit"], []).append(row)

    def of(rows, figure):
        return statistics.median(figure(row) for row in rows)

    return [
        {
            "limit": limit,
            "rounds": len(rows),
            "rr_tps": of(rows, lambda row: row["rr_tps"]),
            "p50_us": of(rows, lambda row: row["rr_latency_us"]["p50"]),
            "p99_us": of(rows, lambda row: row["rr_latency_us"]["p99"]),
            "goodput_mbit_per_s": of(rows, lambda row: row["goodput_bps"] / 1e6),
            "in_ring_p50_bytes": of(rows, lambda row: row["inflight_bytes"]["p50"]),
            "in_ring_p90_bytes": of(rows, lambda row: row["inflight_bytes"]["p90"]),
            "timer_p99_us": of(rows, lambda row: row["timers_late_us"]["p99"]),
            "timer_max_us": of(rows, lambda row: row["timers_late_us"]["max"]),
        }
        for limit, rows in runs.items()
    ]


# What the link sends in a nanosecond, in bytes; and the longest absences that a rule makes anything
# of, in ns.
LINK_BYTES_PER_NS = 0.0125
LONGEST_GAP_NS, LONGEST_AWAY_NS = 100_000_000, 10_000_000


def explained(trace):
    """Of each row of a trace: how late its thread was, the need that this explains, and the limit."""
    found = []
    with open(trace) as lines:
        for line in lines:
            field = line.rstrip("\n").split("\t")
            if field[0] == "row":
                row = {"limit": field[2], "gaps_ns": [], "need_bytes": 0, "most_bytes": 0}
                found.append(row)
                end_ns = None
            elif field[1:2] == ["round"] and field[3] == "last":
                at_ns = int(field[0])
                if end_ns is not None:
                    gap_ns = at_ns - end_ns
                    back_ns = 0 if field[5] == "-" else max(0, int(field[5]) - end_ns)
                    row["gaps_ns"].append(gap_ns)
                    away_ns = min(gap_ns, LONGEST_GAP_NS) + min(back_ns, LONGEST_AWAY_NS)
                    row["need_bytes"] = max(row["need_bytes"], LINK_BYTES_PER_NS * away_ns)
                end_ns = at_ns
            elif field[1:2] == ["limit"] and row["need_bytes"] > 0 and int(field[2]) < 1 << 30:
                row["most_bytes"] = max(row["most_bytes"], int(field[2]))
    return found


def explained_table(rows):
    lines = [
        "| limit | from look to look, ms (p50, p99, most) | largest need that explains, KB | largest limit, KB | of it |",
        "|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        gaps = sorted(row["gaps_ns"])

        def at(share):
            return f"{gaps[int((len(gaps) - 1) * share)] / 1e6:.1f}"

        lines.append(
            f"| `{row['limit']}` | {at(0.5)}, {at(0.99)}, {at(1)} | {row['need_bytes'] / 1000:,.0f} "
            f"| {row['most_bytes'] / 1000:,.0f} | {row['most_bytes'] / row['need_bytes']:.2f} |"
        )
    return "\n".join(lines)


def ms(us):
    return f"{us / 1000:,.1f}"


def live_table(rows):
    lines = [
        "| limit | requests/s | p50, ms | p99, ms | goodput, Mbit/s | in the ring, KB (p50, p90) | thread late by, ms (p99, most) |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        lines.append(
            f"| `{row['limit']}` | {row['rr_tps']:,.0f} | {ms(row['p50_us'])} | {ms(row['p99_us'])} "
            f"| {row['goodput_mbit_per_s']:.1f} | {row['in_ring_p50_bytes'] / 1000:,.1f}, {row['in_ring_p90_bytes'] / 1000:,.1f} "
            f"| {ms(row['timer_p99_us'])}, {ms(row['timer_max_us'])} |"
        )
    return "\n".join(lines)


def simulated_table(rows):
    lines = ["| limit | link used | p50, ms | p99, ms | in flight, KB (mean) |", "|---|--:|--:|--:|--:|"]
    for row in rows:
        lines.append(
            f"| `{row['rule']}` | {100 * row['utilisation']:.2f} % | {ms(row['hp_delay_us_p50'])} | {ms(row['hp_delay_us_p99'])} "
            f"| {row['in_flight_mean_bytes'] / 1000:,.1f} |"
        )
    return "\n".join(lines)


def cap_name(cap_ms):
    return f"{cap_ms * 1000:g}us" if cap_ms < 1 else f"{cap_ms:g}ms"


def points(rows, key, figure):
    """Of `taut` under each cap, and without."""
    of = {row[key]: figure(row) for row in rows}
    found = [of.get(f"taut:{cap_name(cap)}") for cap in CAPS_MS] + [of.get("taut")]
    return [(number, value) for number, value in enumerate(found, 1) if value is not None]


def charts(curves, simulated):
    """Throughput and delay over the cap."""
    caps = [f"{cap:g}" for cap in CAPS_MS] + ["none"]

    def lines(of_live, of_simulated):
        found = [(f"live, {name}", points(rows, "limit", of_live)) for name, rows in curves.items()]
        found += [(f"simulated, {name}", points(rows, "rule", of_simulated)) for name, rows in simulated.items()]
        return [{"label": name, "color": name, "join": "straight", "points": them} for name, them in found]

    # What 100 Mbit/s carry of TCP in frames of 1,514 bytes.
    full = 94.5
    return [
        {
            "title": "Share of the link that is used, limit taut",
            "x": {"title": "cap (ms)", "names": caps},
            "y": {"title": "%", "high": 100},
            "lines": lines(
                lambda row: min(100, 100 * row["goodput_mbit_per_s"] / full), lambda row: 100 * row["utilisation"]
            ),
        },
        {
            "title": "p50 of a request (live) or of a packet's wait",
            "x": {"title": "cap (ms)", "names": caps},
            "y": {"title": "ms", "low": 0.2, "high": 50},
            "lines": lines(lambda row: row["p50_us"] / 1000, lambda row: row["hp_delay_us_p50"] / 1000),
        },
    ]


def main():
    picture = ROOT / "docs/late-machine.svg"
    if len(sys.argv) == 1:
        record = json.loads((ROOT / "docs/live/late-machine.json").read_text())
        draw(charts(record["curves"], record["simulated"]), picture)
        return 0
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    directory = pathlib.Path(sys.argv[1])
    tables = {
        (busy, priority): medians(documents(directory, f"table-{busy}-{priority}"))
        for priority in ("realtime", "ordinary")
        for busy in (0, 1, 3)
    }
    curves = {name: medians(documents(directory, f"curve-{name}")) for name in ("quiet", "late")}
    simulated_path = directory / "simulated.json"
    whole = simulated_path.exists() and (directory / "late.trace").exists()
    if not all(tables.values()) or not all(curves.values()) or not whole:
        print(f"{directory}: not everything was measured; run scripts/late-machine.sh", file=sys.stderr)
        return 1
    simulated = {}
    for row in json.loads(simulated_path.read_text())["rows"]:
        simulated.setdefault(row["pattern"].removeprefix("late-"), []).append(row)
    rounds = min(row["rounds"] for rows in tables.values() for row in rows)
    note = os.environ.get("NOTE", "")
    page = [
        (ROOT / "scripts/late-machine-head.md").read_text().rstrip(),
        "## Measured",
        f"Medians of {rounds} rounds, all limits in turn in each, on {os.cpu_count()} processors with Linux "
        f"{platform.release().split('-')[0]}. {note}".rstrip(),
    ]
    words = {"realtime": "at real-time priority", "ordinary": "at ordinary priority"}
    loops = {0: "no busy loop", 1: "one busy loop", 3: "three busy loops"}
    for (busy, priority), rows in tables.items():
        page += [f"### {loops[busy].capitalize()}, {words[priority]}", live_table(rows)]
    page += [
        "## Explained by lateness",
        "One more late run (three busy loops, ordinary priority), traced. From one look of the thread to the next, and until "
        "the sender was back, the link sends so much: the largest of these is the largest need that lateness explains.",
        explained_table(explained(directory / "late.trace")),
    ]
    page += ["## The curve", "![goodput and waiting over the length of the cap](late-machine.svg)"]
    page += ["### Live, quiet: no busy loop, at real-time priority", live_table(curves["quiet"])]
    page += ["### Live, late: three busy loops, at ordinary priority", live_table(curves["late"])]
    for name, rows in simulated.items():
        page += [f"### Simulated, late {name}", simulated_table(rows)]
    (ROOT / "docs/late-machine.md").write_text("\n\n".join(page) + "\n")
    draw(charts(curves, simulated), picture)
    together = {
        "version": 1,
        "tables": [
            {"busy_loops": busy, "real_time": priority == "realtime", "rows": rows}
            for (busy, priority), rows in tables.items()
        ],
        "curves": curves,
        "simulated": simulated,
    }
    (ROOT / "docs/live/late-machine.json").write_text(json.dumps(together, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
