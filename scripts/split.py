#!/usr/bin/env python3
"""Measures late segmentation and writes docs/split.md, docs/split.svg and docs/live/split.json.

`taut lab rr-under-load` over rates and limits, with super-packets whole, cut in two ways, and cut by the sender.
Medians of RUNS (default 10) runs of DURATION (2s); NOTE is added to the page. Needs root, three minutes a run, and a
machine that does nothing else. Rows are kept in target/split.json until the page is written, so the script can be
stopped and started; rows of another binary or duration are measured again.

usage: scripts/split.py           measures and writes all
       scripts/split.py --draw    draws docs/split.svg from docs/live/split.json
Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
"""

import hashlib
import json
import os
import statistics
import subprocess
import sys

from plot import ROOT, draw

RUNS = int(os.environ.get("RUNS", "10"))
RATES = os.environ.get("RATES", "2mbit 20mbit 100mbit 1gbit").split()
DURATION = os.environ.get("DURATION", "2s")
WAYS = ["off", "auto", "all", "sender"]
NAMES = {"sender": "sender cuts"}
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


def measure(taut, rate):
    """One run at `rate`: a row for each limit and way."""
    found = []
    for only in ["bql=on", "bql=off"]:
        ways = ["off"] if only == "bql=off" else ["off", "auto", "all"]
        command = [taut, "lab", "rr-under-load", "--rate", rate, "--limit", "dql", "--limit", "taut"]
        command += [word for way in ways for word in ("--split", way)]
        command += ["--only", only, "--duration", DURATION, "-j"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        if done.returncode:
            sys.exit(done.returncode)
        for row in json.loads(done.stdout)["rows"]:
            goodput = row["goodput_bps"]
            found.append(
                {
                    "rate": rate,
                    "limit": row["limit"],
                    "way": row["split"] if row["tso"] else "sender",
                    "tps": row["rr_tps"],
                    "ring": row["inflight_bytes"]["p50"],
                    "goodput": goodput / 1e6,
                    "cpu": row["cpu_percent"] / 100 * 8e9 / goodput if goodput else 0,
                }
            )
    # Without a limit, some rows have no requests; any other row without them was not measured.
    if len([row for row in found if (row["tps"] or row["limit"] == "off") and row["goodput"]]) != 10:
        sys.exit(f"split.py: {rate} gave {len(found)} rows: {found}")
    return found


def all_runs(taut):
    """The rows of each run, kept in a file until all are there."""
    kept = TARGET / "split.json"
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
    runs = [[row for rate in RATES for row in state["runs"][f"{run} {rate}"]] for run in range(1, RUNS + 1)]
    return runs, kept


def median(runs, rate, limit, way, key):
    """The median of a value over the runs; `None` if there are no such rows."""
    want = (rate, limit, way)
    values = [row[key] for run in runs for row in run if (row["rate"], row["limit"], row["way"]) == want]
    return statistics.median(values) if values else None


def requests_mbit(tps):
    """What requests take of the goodput: 67 bytes each way, 24 on the wire, 1,448 of 1,538 bytes are payload."""
    return tps * (67 + 24) * 8 / 1e6 * 1448 / 1538


def ratio(runs, rate, limit, other, value):
    """The median over the runs of `auto` by `other`, in the same run."""
    found = []
    for run in runs:
        rows = {row["way"]: row for row in run if (row["rate"], row["limit"]) == (rate, limit)}
        if value(rows[other]) > 0:
            found.append(value(rows["auto"]) / value(rows[other]))
    return statistics.median(found)


def wanted(runs, limits):
    lines = [
        "### Wanted and found",
        "",
        "Medians of the ratio of two rows of one run.",
        "",
        "- Requests a second with `auto`: at least 0.8 of those with segments from the sender.",
        "- Goodput with `auto`: at least 99 % of that with whole super-packets (`off`). *With requests*: the bytes of",
        "  the requests are added; they share the link, and there are many more of them.",
        "- Processor seconds for a gigabyte at 1 Gbit/s: fewer than with segments from the sender.",
        "",
        "| | | requests by sender cuts | >= 0.8 | goodput by off | with requests | >= 0.99 | processor by sender cuts | < 1 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    met = {True: "yes", False: "no"}
    for limit in limits:
        for rate in RATES:
            if median(runs, rate, limit, "auto", "tps") is None:
                continue
            tps = ratio(runs, rate, limit, "sender", lambda row: row["tps"])
            goodput = ratio(runs, rate, limit, "off", lambda row: row["goodput"])
            link = ratio(runs, rate, limit, "off", lambda row: row["goodput"] + requests_mbit(row["tps"]))
            cpu = ratio(runs, rate, limit, "sender", lambda row: row["cpu"])
            lines.append(
                f"| limit {limit} | {rate} | {tps:.2f} | {met[tps >= 0.8]} | {goodput:.4f} | {link:.4f} "
                f"| {met[goodput >= 0.99]} | {cpu:.2f} | {met[cpu < 1] if rate == '1gbit' else ''} |"
            )
    return lines


def table(runs, limits, title, key, form):
    lines = ["", f"### {title}", "", "| | |" + "".join(f" {NAMES.get(way, way)} |" for way in WAYS), "|---|---|" + "---|" * 4]
    for limit in limits:
        for rate in RATES:
            found = [median(runs, rate, limit, way, key) for way in WAYS]
            cells = [" |" if value is None else f" {value:{form}} |" for value in found]
            lines.append(f"| {f'limit {limit}' if rate == RATES[0] else ''} | {rate} |" + "".join(cells))
    return lines


def recorded(runs, limits):
    """The medians, as docs/live/split.json keeps them."""
    rows = []
    for rate in RATES:
        for limit in limits:
            for way in WAYS:
                value = {key: median(runs, rate, limit, way, key) for key in ("tps", "ring", "goodput", "cpu")}
                if value["tps"] is not None:
                    rows.append(
                        {
                            "rate": rate,
                            "limit": limit,
                            "tso": way != "sender",
                            "split": "off" if way == "sender" else way,
                            "rr_tps": round(value["tps"], 1),
                            "in_ring_p50_bytes": int(value["ring"]),
                            "goodput_mbit_per_s": round(value["goodput"], 2),
                            "cpu_s_per_gigabyte": round(value["cpu"], 2),
                        }
                    )
    return {"version": 2, "runs": RUNS, "duration": DURATION, "rows": rows}


def chart(document):
    """Requests a second under `taut`: a group for each rate, a bar for each way."""
    rows = [row for row in document["rows"] if row["limit"] == "taut"]
    rates = list(dict.fromkeys(row["rate"] for row in rows))
    lines = []
    for at, way in enumerate(WAYS):
        points = []
        for number, rate in enumerate(rates, 1):
            for row in rows:
                if row["rate"] == rate and ("sender" if not row["tso"] else row["split"]) == way:
                    left = number - 0.4 + at * 0.2
                    points += [[left, 0], [left, row["rr_tps"]], [left + 0.18, row["rr_tps"]], [left + 0.18, 0]]
        label = NAMES.get(way, f"split {way}")
        lines.append({"label": label, "color": label, "stroke": "filled", "points": points})
    return {
        "title": "Requests a second, limit taut, super-packets of the sender",
        "x": {"title": "rate of the link", "names": rates},
        "y": {"title": "requests/s", "low": 10, "high": max(row["rr_tps"] for row in rows)},
        "lines": lines,
    }


def main():
    recording = ROOT / "docs/live/split.json"
    if sys.argv[1:] == ["--draw"]:
        draw([chart(json.loads(recording.read_text()))], ROOT / "docs/split.svg")
        return 0
    if len(sys.argv) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    subprocess.run(["cargo", "build", "--quiet", "--release", "--locked", "-p", "taut"], cwd=ROOT, check=True)
    runs, kept = all_runs(TARGET / "release/taut")
    limits = list(dict.fromkeys(row["limit"] for row in runs[0]))
    page = [(ROOT / "scripts/split-head.md").read_text().rstrip("\n")]
    page += [f"Medians of {RUNS} runs of {DURATION} a row, after 2 s of warm-up; `RUNS={RUNS} scripts/split.py` writes them."]
    page += ["", os.environ["NOTE"]] if os.environ.get("NOTE") else []
    page += [""] + wanted(runs, limits) + ["", "![requests a second over rates](split.svg)"]
    page += table(runs, limits, "Requests a second", "tps", ".1f")
    page += table(runs, limits, "Bytes in the ring at the median", "ring", ".0f")
    page += table(runs, limits, "Goodput in Mbit/s", "goodput", ".2f")
    page += table(runs, limits, "Processor seconds for a gigabyte", "cpu", ".2f")
    document = recorded(runs, limits)
    draw([chart(document)], ROOT / "docs/split.svg")
    recording.write_text(json.dumps(document, indent=1) + "\n")
    (ROOT / "docs/split.md").write_text("\n".join(page) + "\n")
    kept.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
