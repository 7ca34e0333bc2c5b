#!/usr/bin/env python3
"""Prints the results of scripts/xsk.sh as tables.

usage: scripts/xsk.py FILE      one JSON object a line
"""

import json
import statistics
import sys


SPEEDS = ["library", "limit", "median, 1,000 packets/s", "range", "vs plain", "runs", "load"]
DELAYS = ["library", "limit", "Mbit/s", "ring bytes p50", "urgent p50, ms", "urgent p99, ms", "load"]
FAULTS = ["library", "fault", "limit", "result", "sent", "dropped", "uncertain", "unaccounted",
          "arrived"]


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(value) for value in row) + " |" for row in lines)


def speeds(rows):
    """Median packets a second of each library and limit, compared with the plain loop."""
    runs = {}
    for row in rows:
        if "packets_per_second" in row:
            runs.setdefault((row["library"], row["limit"]), []).append(row)
    for (library, limit), values in runs.items():
        rates = [row["packets_per_second"] for row in values]
        plain = [row["packets_per_second"] for row in runs[library, "plain"]]
        median = statistics.median(rates)
        ratio = median / statistics.median(plain)
        load = max(row["load"] for row in values)
        spread = f"{min(rates) / 1e3:,.0f} to {max(rates) / 1e3:,.0f}"
        yield library, limit, f"{median / 1e3:,.0f}", spread, f"{ratio:.3f}", len(values), load


def delays(rows):
    for row in rows:
        if "mbit_per_second" in row:
            yield (
                row["library"],
                row["limit"],
                row["mbit_per_second"],
                f"{row['ring_bytes_p50']:,}",
                row["urgent_p50_us"] / 1000,
                row["urgent_p99_us"] / 1000,
                row["load"],
            )


def faults(rows):
    for row in rows:
        if "fault" in row:
            plain = row["limit"] == "plain"
            result = "hangs" if row.get("hangs") else "; ".join(row.get("errors", []))
            if not result:
                result = "all accounted for" if row["accounted"] else "loses packets silently"
            missing = row["unaccounted"] if plain else 0
            counts = [row.get(key, 0) for key in ("sent", "dropped", "uncertain")]
            yield row["library"], row["fault"], row["limit"], result, *counts, missing, row["arrived"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    print(table(SPEEDS, speeds(rows)), table(DELAYS, delays(rows)), table(FAULTS, faults(rows)),
          sep="\n\n")


if __name__ == "__main__":
    main()
