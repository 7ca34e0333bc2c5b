#!/usr/bin/env python3
"""Measures late segmentation; writes docs/late-segmentation.{md,svg} and
docs/live/late-segmentation.json.gz.

`taut lab rr-under-load` over rates and limits, with GSO packets whole, segmented late in two ways,
and segmented by the sender. Medians of RUNS (default 10) runs of DURATION (2s); NOTE is added to
the page. Needs root, three minutes a run, and an idle machine. Rows are kept in
target/late-segmentation.json until the page is written, so an interrupted script continues. Rows of
another binary or duration are measured again.

usage: scripts/late_segmentation.py           measures and writes all
       scripts/late_segmentation.py --draw    draws docs/late-segmentation.svg again
Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
"""

import hashlib
import json
import os
import statistics
import sys

from page import ROOT, TARGET, build, draw, fill, keep, load, marked, options, output, table

RUNS = int(os.environ.get("RUNS", "10"))
RATES = os.environ.get("RATES", "2mbit 20mbit 100mbit 1gbit").split()
DURATION = os.environ.get("DURATION", "2s")
WAYS = ["off", "auto", "all", "sender"]


def measure(taut, rate):
    """One run at `rate`: a row for each limit and way."""
    found = []
    for only in ["limit=on", "limit=off"]:
        ways = ["off"] if only == "limit=off" else ["off", "auto", "all"]
        printed = output(taut, "lab", "rr-under-load", "--rate", rate,
                         *options("--limit", ["dql", "taut"]),
                         *options("--late-segmentation", ways),
                         "--only", only, "--duration", DURATION, "-j")
        for row in json.loads(printed)["rows"]:
            goodput = row["goodput_bps"]
            found.append(
                {
                    "rate": rate,
                    "limit": row["limit"],
                    "way": row["late_segmentation"] if row["tso"] else "sender",
                    "tps": row["rr_tps"],
                    "ring": row["inflight_bytes"]["p50"],
                    "goodput": goodput / 1e6,
                    "cpu": row["cpu_percent"] / 100 * 8e9 / goodput if goodput else 0,
                }
            )
    # Without a limit, some rows have no requests; any other row without them was not measured.
    valid = [row for row in found if (row["tps"] or row["limit"] == "off") and row["goodput"]]
    if len(valid) != 10:
        sys.exit(f"late_segmentation.py: {rate} gave {len(found)} rows: {found}")
    return found


def all_runs(taut):
    """The rows of each run, kept in a file until the page is written."""
    kept = TARGET / "late-segmentation.json"
    source = hashlib.sha256(taut.read_bytes()).hexdigest()[:16] + " " + DURATION
    state = json.loads(kept.read_text()) if kept.exists() else {}
    if state.get("source") != source:
        state = {"source": source, "runs": {}}
    for run in range(1, RUNS + 1):
        for rate in RATES:
            key = f"{run} {rate}"
            if key not in state["runs"]:
                state["runs"][key] = measure(taut, rate)
                kept.write_text(json.dumps(state))
                print(f"run {run} of {RUNS} at {rate} is kept", file=sys.stderr)
    runs = [
        [row for rate in RATES for row in state["runs"][f"{run} {rate}"]]
        for run in range(1, RUNS + 1)
    ]
    return runs, kept


def median(runs, rate, limit, way, key):
    """The median of a value over the runs; `None` if there are no such rows."""
    want = (rate, limit, way)
    rows = [row for run in runs for row in run]
    values = [row[key] for row in rows if (row["rate"], row["limit"], row["way"]) == want]
    return statistics.median(values) if values else None


def requests_mbit(tps):
    """The goodput that requests displace, in Mbit/s.

    67 bytes in each direction, 24 more on the wire; 1,448 of 1,538 bytes are payload.
    """
    return tps * (67 + 24) * 8 / 1e6 * 1448 / 1538


def ratio(runs, rate, limit, other, value):
    """The median over the runs of `auto` by `other`, in the same run."""
    found = []
    for run in runs:
        rows = {row["way"]: row for row in run if (row["rate"], row["limit"]) == (rate, limit)}
        if value(rows[other]) > 0:
            found.append(value(rows["auto"]) / value(rows[other]))
    return statistics.median(found)


def ratios(runs, limits):
    """The ratios of `auto` for each limit and rate: requests, goodput, with requests, CPU time."""
    found = {}
    for limit in limits:
        for rate in RATES:
            if median(runs, rate, limit, "auto", "tps") is not None:
                found[limit, rate] = (
                    ratio(runs, rate, limit, "sender", lambda row: row["tps"]),
                    ratio(runs, rate, limit, "off", lambda row: row["goodput"]),
                    ratio(
                        runs,
                        rate,
                        limit,
                        "off",
                        lambda row: row["goodput"] + requests_mbit(row["tps"]),
                    ),
                    ratio(runs, rate, limit, "sender", lambda row: row["cpu"]),
                )
    return found


def ratio_table(found):
    """The table of ratios; a ratio that misses its target is bold."""
    columns = ["limit", "rate", "requests / sender", "goodput / off", "with requests"]
    rows = []
    for (limit, rate), (tps, goodput, link, cpu) in found.items():
        cells = [limit, rate, marked(f"{tps:.2f}", tps >= 0.8)]
        cells += [marked(f"{goodput:.4f}", goodput >= 0.99), f"{link:.4f}"]
        rows.append([*cells, marked(f"{cpu:.2f}", rate != "1gbit" or cpu < 1)])
    return table([*columns, "CPU / sender"], rows, left=2)


def medians(runs, limits, key, form):
    rows = []
    for limit in limits:
        for rate in RATES:
            found = [median(runs, rate, limit, way, key) for way in WAYS]
            cells = ["" if value is None else f"{value:{form}}" for value in found]
            rows.append([limit, rate, *cells])
    return table(["limit", "rate", *WAYS], rows, left=2)


def page(runs, limits, found, note):
    """The page: scripts/late-segmentation-head.md with tables and results."""
    requests = {way: f"{median(runs, '100mbit', 'taut', way, 'tps'):.1f}" for way in WAYS}
    values = {
        "AUTO": requests["auto"],
        "OFF": requests["off"],
        "SENDER": requests["sender"],
        "GOODPUT": f"{min(link for _, _, link, _ in found.values()):.4f}",
        "RATIOS": ratio_table(found),
        "REQUESTS": medians(runs, limits, "tps", ".1f"),
        "RING": medians(runs, limits, "ring", ".0f"),
        "RUNS": str(RUNS),
        "DURATION": DURATION,
        "NOTE": f" {note}" if note else "",
    }
    return fill("late-segmentation-head.md", values)


def recorded(runs, limits):
    """The medians, as docs/live/late-segmentation.json.gz keeps them."""
    rows = []
    for rate in RATES:
        for limit in limits:
            for way in WAYS:
                keys = ("tps", "ring", "goodput", "cpu")
                value = {key: median(runs, rate, limit, way, key) for key in keys}
                if value["tps"] is not None:
                    rows.append(
                        {
                            "rate": rate,
                            "limit": limit,
                            "tso": way != "sender",
                            "late_segmentation": "off" if way == "sender" else way,
                            "rr_tps": round(value["tps"], 1),
                            "in_ring_p50_bytes": int(value["ring"]),
                            "goodput_mbit_per_s": round(value["goodput"], 2),
                            "cpu_s_per_gigabyte": round(value["cpu"], 2),
                        }
                    )
    return {"version": 3, "runs": RUNS, "duration": DURATION, "rows": rows}


def chart(document):
    """Requests a second under `taut`: a group for each rate, a bar for each way."""
    rows = [row for row in document["rows"] if row["limit"] == "taut"]
    rates = list(dict.fromkeys(row["rate"] for row in rows))
    lines = []
    for at, way in enumerate(WAYS):
        points = []
        for number, rate in enumerate(rates, 1):
            for row in rows:
                own_way = row["late_segmentation"] if row["tso"] else "sender"
                if row["rate"] == rate and own_way == way:
                    left = number - 0.4 + at * 0.2
                    right, top = left + 0.18, row["rr_tps"]
                    points += [[left, 0], [left, top], [right, top], [right, 0]]
        label = "sender segments" if way == "sender" else f"late segmentation {way}"
        lines.append({"label": label, "color": label, "stroke": "filled", "points": points})
    return {
        "title": "Requests a second, limit taut, GSO packets of the sender",
        "x": {"title": "rate of the link", "names": rates},
        "y": {"title": "requests/s", "low": 10, "high": max(row["rr_tps"] for row in rows)},
        "lines": lines,
    }


def main():
    recording = "late-segmentation.json.gz"
    if sys.argv[1:] == ["--draw"]:
        draw([chart(load(recording))], ROOT / "docs/late-segmentation.svg")
        return 0
    if len(sys.argv) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    runs, kept = all_runs(build() / "taut")
    limits = list(dict.fromkeys(row["limit"] for row in runs[0]))
    document = recorded(runs, limits)
    draw([chart(document)], ROOT / "docs/late-segmentation.svg")
    keep(recording, document)
    text = page(runs, limits, ratios(runs, limits), os.environ.get("NOTE"))
    (ROOT / "docs/late-segmentation.md").write_text(text)
    kept.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
