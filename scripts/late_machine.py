#!/usr/bin/env python3
"""Measures limits on a packet ring whose thread wakes late, with and without a time cap.

`taut lab rr-under-load --driver af_packet` at 100 Mbit/s next to 0, 1 and 3 busy loops, with
real-time and with ordinary priority; then over the length of the cap, live and simulated. Writes
docs/late-machine.md, docs/late-machine.svg and docs/live/late-machine.json.gz.
Measurements are kept in RESULTS and not repeated, so the script can be interrupted and continued.
Needs root, two processors and an idle machine: ROUNDS=5 (the default) takes 45 minutes, ROUNDS=2
18.

usage: [ROUNDS=5] [DURATION=4s] [RESULTS=target/late-machine] scripts/late_machine.py
       scripts/late_machine.py --page    writes page and picture from the record
Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
"""

import json
import os
import pathlib
import platform
import statistics
import sys

from page import (
    ROOT, TARGET, build, busy_loops, draw, fill, keep, load, options, output, run, table,
)

ROUNDS = int(os.environ.get("ROUNDS", "5"))
DURATION = os.environ.get("DURATION", "4s")
RESULTS = pathlib.Path(os.environ.get("RESULTS", TARGET / "late-machine"))
RULES = ["dql", "taut", "dql:2ms", "taut:99.9%:2ms"]
CAPS_MS = [0.5, 1, 2, 5, 10, 20]
PRIORITIES = {"realtime": [], "ordinary": ["--no-real-time"]}
LOOPS = [0, 1, 3]


def measure():
    """Runs what is missing in RESULTS."""
    taut = build() / "taut"
    RESULTS.mkdir(parents=True, exist_ok=True)
    capped = [f"{rule}:{cap_name(cap)}" for cap in CAPS_MS for rule in ("dql", "taut:99.9%")]
    curve = ["--only", "limit=on", *options("--limit", [*capped, "dql", "taut"])]
    for number in range(1, ROUNDS + 1):
        for loops in LOOPS:
            for name, priority_options in PRIORITIES.items():
                row_options = [*options("--limit", RULES), *priority_options]
                live(taut, f"table-{loops}-{name}-{number}", loops, row_options)
        live(taut, f"curve-quiet-{number}", 0, curve)
        live(taut, f"curve-late-{number}", 3, [*curve, "--no-real-time"])
    # The same, simulated: a thread polls each 250 us, and one poll in 2,000 or 40 comes after
    # 10 ms.
    patterns = [pattern("late-rarely", 2000), pattern("late-often", 40)]
    simulated = output(taut, "sim", "limit-rules", *options("--pattern", patterns),
                       *options("--limit", ["dql", "taut", *capped]), "-j")
    (RESULTS / "simulated.json").write_bytes(simulated)


def live(taut, name, loops, row_options):
    """One run of the rows."""
    file = RESULTS / f"{name}.json"
    if file.exists():
        return
    print(f"late_machine.py: {name}", file=sys.stderr)
    with busy_loops(loops):
        file.write_bytes(output(taut, "lab", "rr-under-load", "--driver", "af_packet", "--rate",
                                "100mbit", "--duration", DURATION, "-j", *row_options))


def pattern(name, one_in):
    """A completion trace. Its random numbers are the same in every version of Python."""
    header = {"id": name, "rate_bytes_per_us": 12.5, "end_ns": 30 * 10**9, "warm_ns": 5 * 10**9}
    lines, random, at_ns = [json.dumps(header)], 1, 0
    while at_ns < header["end_ns"]:
        # The minimal standard generator of Park and Miller.
        random = random * 16807 % 2147483647
        gap_ns = 10_000_000 if random / 2147483647 * one_in < 1 else 250_000
        lines.append(f"{gap_ns} 0")
        at_ns += gap_ns
    file = RESULTS / f"{name}.pattern"
    file.write_text("\n".join(lines) + "\n")
    return file


def documents(name):
    return [json.loads(path.read_text()) for path in sorted(RESULTS.glob(f"{name}-*.json"))]


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


def record():
    """The medians of the measurements in RESULTS."""
    tables = [
        {
            "busy_loops": loops,
            "real_time": name == "realtime",
            "rows": medians(documents(f"table-{loops}-{name}")),
        }
        for name in PRIORITIES
        for loops in LOOPS
    ]
    curves = {name: medians(documents(f"curve-{name}")) for name in ("quiet", "late")}
    simulated = {}
    for row in json.loads((RESULTS / "simulated.json").read_text())["rows"]:
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


def keep_record():
    measure()
    keep("late-machine.json.gz", record())


def write():
    kept = load("late-machine.json.gz")
    (ROOT / "docs/late-machine.md").write_text(page(kept))
    draw(charts(kept), ROOT / "docs/late-machine.svg")


if __name__ == "__main__":
    sys.exit(run(__doc__, keep_record, write))
