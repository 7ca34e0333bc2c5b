#!/usr/bin/env python3
"""Measures the accuracy of a replay, and writes docs/live/replay.txt.

Traces live runs under several limits, replays each trace under all of them, and compares bytes in
flight with those of the live run under the limit of the replay. Needs root.

usage: scripts/live_replay.py
Exit codes: 0 ok, 1 failed, 77 cannot run here.
"""

import json
import os
import pathlib
import platform
import tempfile

from page import LIVE, build, options, output, table

# A fixed limit for the adaptive rules to compare with, and options of the lab.
RUNS = [
    ("40k", "--only", "tso=off"),
    ("100k", "--only", "tso=on"),
    ("40k", "--driver", "af_packet"),
]
HEAD = ["traced", "replayed as", "replay (mean)", "live (mean)", "ratio"]


def compared(document):
    """A row for each trace and limit that was also run live."""
    queues = document["parameters"]["queues"]
    live = {it["limit"]: it["in_flight_mean_bytes"] for it in queues}
    limits = {it["queue"]: it["limit"] for it in queues}
    for row in document["rows"]:
        if row["rule"] in live:
            there, mean = live[row["rule"]], row["in_flight_bytes"]["mean"]
            yield limits[row["queue"]], row["rule"], mean, there, f"{mean / there:.2f}"


def main():
    taut, kernel = build() / "taut", platform.release().split("-")[0]
    text = "# Bytes in flight, queued and not reported: replayed, and live under the same limit.\n"
    text += f"# Linux {kernel}, {os.cpu_count()} cores; one run each; scripts/live_replay.py\n"
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace")
        for fixed, *row_options in RUNS:
            limits = options("--limit", ["dql", "taut", fixed])
            lab = ["lab", "rr-under-load", *row_options, "--duration", "3s", *limits]
            output(taut, *lab, "--trace", trace, "--trace-max-size", "1g")
            document = json.loads(output(taut, "replay", trace, *limits, "-j"))
            text += f"\n## taut {' '.join(lab)}\n\n{table(HEAD, compared(document), left=2)}\n"
    (LIVE / "replay.txt").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
