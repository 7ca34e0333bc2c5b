#!/usr/bin/env python3
"""Writes docs/late-machine.md and docs/late-machine.svg from docs/live/late-machine.json. With a
directory, first writes that record from the documents that scripts/late-machine.sh left there.

usage: scripts/late_machine.py [DIRECTORY]
Exit codes: 0 ok, 1 nothing to write, 2 usage.
"""

import json
import os
import pathlib
import platform
import statistics
import sys

from page import fill
from plot import ROOT, draw

CAPS_MS = [0.5, 1, 2, 5, 10, 20]


def documents(directory, name):
    return [json.loads(path.read_text()) for path in sorted(directory.glob(f"{name}-*.json"))]


def medians(found):
    """The median of each figure over the repetitions, by limit in the order of the first."""
    runs = {}
    for document in found:
        for row in document["rows"]:
            runs.setdefault(row["limit"], []).append(row)

    def of(rows, figure):
        return statistics.median(figure(row) for row in rows)

    return [
        {
            "limit": limit,
            "repetitions": len(rows),
            "rr_tps": of(rows, lambda row: row["rr_tps"]),
            "p50_us": of(rows, lambda row: row["rr_latency_us"]["p50"]),
            "p99_us": of(rows, lambda row: row["rr_latency_us"]["p99"]),
            "goodput_mbit_per_s": of(rows, lambda row: row["goodput_bps"] / 1e6),
            "in_ring_p50_bytes": of(rows, lambda row: row["inflight_bytes"]["p50"]),
            "in_ring_p90_bytes": of(rows, lambda row: row["inflight_bytes"]["p90"]),
            "timer_p99_us": of(rows, lambda row: row["timer_lateness_us"]["p99"]),
            "timer_max_us": of(rows, lambda row: row["timer_lateness_us"]["max"]),
        }
        for limit, rows in runs.items()
    ]


def ms(us):
    return f"{us / 1000:,.1f}"


def table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|---|" + "--:|" * (len(columns) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def live_row(name, row):
    ring = [f"{row[f'in_ring_{key}_bytes'] / 1000:,.1f}" for key in ("p50", "p90")]
    return [
        *name,
        f"{row['rr_tps']:,.0f}",
        ms(row["p50_us"]),
        ms(row["p99_us"]),
        f"{row['goodput_mbit_per_s']:.1f}",
        ", ".join(ring),
        f"{ms(row['timer_p99_us'])}, {ms(row['timer_max_us'])}",
    ]


LIVE = ["requests/s", "p50, ms", "p99, ms", "Mbit/s", "in the ring, KB (p50, p90)"]
LIVE += ["late by, ms (p99, max)"]


def cap_name(cap_ms):
    return f"{cap_ms * 1000:g}us" if cap_ms < 1 else f"{cap_ms:g}ms"


def by_cap(rows, key):
    """The rows of `taut` under each cap, and without one."""
    of = {row[key]: row for row in rows}
    return [of[f"taut:99.9%:{cap_name(cap)}"] for cap in CAPS_MS] + [of["taut"]]


CAPS = [f"{cap:g}" for cap in CAPS_MS] + ["none"]


def curve_table(record):
    """A row for each cap: the two live runs, and the two simulated ones."""
    live = {name: by_cap(rows, "limit") for name, rows in record["curves"].items()}
    simulated = {name: by_cap(rows, "rule") for name, rows in record["simulated"].items()}
    columns = ["cap, ms"]
    columns += [f"{name}: Mbit/s, p50 ms, p99 ms" for name in live]
    columns += [f"simulated, late {name}: %, p50 ms" for name in simulated]
    rows = []
    for index, cap in enumerate(CAPS):
        row = [cap]
        for runs in live.values():
            run = runs[index]
            row.append(f"{run['goodput_mbit_per_s']:.1f}, {ms(run['p50_us'])}, {ms(run['p99_us'])}")
        for runs in simulated.values():
            run = runs[index]
            row.append(f"{100 * run['utilisation']:.2f}, {ms(run['hp_delay_us_p50'])}")
        rows.append(row)
    return table(columns, rows)


def charts(record):
    """Throughput and delay over the cap."""

    def points(rows, key, value):
        return list(enumerate(map(value, by_cap(rows, key)), 1))

    def lines(of_live, of_simulated):
        curves, simulated = record["curves"].items(), record["simulated"].items()
        found = [(f"live, {name}", points(rows, "limit", of_live)) for name, rows in curves]
        found += [
            (f"simulated, {name}", points(rows, "rule", of_simulated)) for name, rows in simulated
        ]
        style = {"join": "straight"}
        return [{"label": name, "color": name, **style, "points": them} for name, them in found]

    # What 100 Mbit/s carry of TCP in frames of 1,514 bytes.
    full = 94.5
    return [
        {
            "title": "Utilisation of the link, limit taut",
            "x": {"title": "cap (ms)", "names": CAPS},
            "y": {"title": "%", "high": 100},
            "lines": lines(
                lambda row: min(100, 100 * row["goodput_mbit_per_s"] / full),
                lambda row: 100 * row["utilisation"],
            ),
        },
        {
            "title": "Median delay of a request (live) or of a packet",
            "x": {"title": "cap (ms)", "names": CAPS},
            "y": {"title": "ms", "low": 0.2, "high": 50},
            "lines": lines(
                lambda row: row["p50_us"] / 1000, lambda row: row["hp_delay_us_p50"] / 1000
            ),
        },
    ]


def read_record(directory):
    """The record of what scripts/late-machine.sh left, or None if something is missing."""
    tables = [
        {
            "busy_loops": busy,
            "real_time": priority == "realtime",
            "rows": medians(documents(directory, name)),
        }
        for priority in ("realtime", "ordinary")
        for busy in (0, 1, 3)
        for name in [f"table-{busy}-{priority}"]
    ]
    curves = {name: medians(documents(directory, f"curve-{name}")) for name in ("quiet", "late")}
    path = directory / "simulated.json"
    if not all(table["rows"] for table in tables) or not all(curves.values()) or not path.exists():
        return None
    simulated = {}
    for row in json.loads(path.read_text())["rows"]:
        simulated.setdefault(row["pattern"].removeprefix("late-"), []).append(row)
    host = f"{os.cpu_count()} processors with Linux {platform.release().split('-')[0]}"
    return {"version": 2, "host": host, "tables": tables, "curves": curves, "simulated": simulated}


def priority(real_time):
    return "real-time" if real_time else "ordinary"


def page(record):
    repetitions = min(row["repetitions"] for runs in record["tables"] for row in runs["rows"])
    rows = [
        live_row([str(runs["busy_loops"]), priority(runs["real_time"]), f"`{row['limit']}`"], row)
        for runs in record["tables"]
        for row in runs["rows"]
    ]
    values = {
        "CAPS": curve_table(record),
        "REPETITIONS": str(repetitions),
        "HOST": record["host"],
        "LOOPS": table(["busy loops", "priority", "limit", *LIVE], rows),
    }
    return fill("late-machine-head.md", values)


def main():
    if len(sys.argv) > 2:
        print(__doc__, file=sys.stderr)
        return 2
    path = ROOT / "docs/live/late-machine.json"
    if len(sys.argv) == 2:
        record = read_record(pathlib.Path(sys.argv[1]))
        if record is None:
            message = "not everything was measured; run scripts/late-machine.sh"
            print(f"{sys.argv[1]}: {message}", file=sys.stderr)
            return 1
        path.write_text(json.dumps(record, indent=1) + "\n")
    record = json.loads(path.read_text())
    (ROOT / "docs/late-machine.md").write_text(page(record))
    draw(charts(record), ROOT / "docs/late-machine.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
