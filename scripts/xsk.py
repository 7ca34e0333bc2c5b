#!/usr/bin/env python3
"""Measures senders over two AF_XDP crates, and prints tables.

The loop of the crate's own examples (plain) is compared with a taut queue. Faults are checked by
the exit code of each run.

usage: scripts/xsk.py [--runs N] [--packets N] [--record] [LIBRARY...]
       LIBRARY: xdpilone or xsk-rs [default: both]
       --record: keeps the rows in docs/live/xsk.jsonl, from which scripts/stacks.py writes its page
Exit codes: 0 ok, 1 a check failed, 2 wrong usage, 77 cannot run here (root; for xsk-rs: libelf, m4
and clang). CLANG names another clang.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys

from page import LIVE, build, table

LIBRARIES = ["xdpilone", "xsk-rs"]
LIMITS = ["plain", "dql", "taut"]
FAULTS = ["completions", "held", "removed", "peer-down", "stopped"]


def built(library):
    """Builds the sender over a library. None if this machine cannot."""
    # libxdp-sys compiles BPF programs; Debian names its clang with a version.
    names = [os.environ.get("CLANG", "clang"), "clang", "clang-19", "clang-16", "clang-14"]
    os.environ["CLANG"] = next(filter(shutil.which, names), names[0])
    try:
        folder = build("--manifest-path", f"examples/{library}/Cargo.toml")
    except subprocess.CalledProcessError:
        if library != "xsk-rs":
            raise
        print(f"xsk.py: {library} cannot be built here: skipped", file=sys.stderr)
        return None
    return folder / f"{library.replace('-', '_')}_sender"


def run(sender, *options):
    """The row of a run, and whether it succeeded."""
    command = ["timeout", "300", sender, *map(str, options), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode == 0


def measure(sender, runs, packets):
    """All rows of a sender. The plain loop is expected to hang or to lose packets at a fault."""
    # Alternately, so that a busy machine affects all rows.
    found = [(limit, "--packets", packets) for _ in range(runs) for limit in LIMITS]
    found += [(limit, "--rate", "100mbit") for limit in LIMITS]
    found += [(limit, "--fault", fault) for fault in FAULTS for limit in LIMITS]
    rows, failed = [], False
    for limit, *options in found:
        new, succeeded = run(sender, "--limit", limit, *options)
        failed |= not succeeded and (limit != "plain" or options[0] != "--fault")
        rows += new
    return rows, failed


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
            names = [row[key] for key in ("library", "fault", "limit")]
            counts = [row.get(key, 0) for key in ("sent", "dropped", "uncertain")]
            yield *names, result, *counts, missing, row["arrived"]


def tables(rows):
    """Packets a second, delays, and faults."""
    head = ["library", "limit", "median, 1,000 packets/s", "range", "vs plain", "runs", "load"]
    yield table(head, speeds(rows), left=len(head))
    head = ["library", "limit", "Mbit/s", "ring bytes p50", "urgent p50, ms", "urgent p99, ms"]
    yield table([*head, "load"], delays(rows), left=len(head) + 1)
    head = ["library", "fault", "limit", "result", "sent", "dropped", "uncertain", "unaccounted"]
    yield table([*head, "arrived"], faults(rows), left=len(head) + 1)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("library", nargs="*", metavar="LIBRARY")
    options = parser.parse_args()
    if set(options.library) - set(LIBRARIES):
        parser.error(f"LIBRARY: expected {', '.join(LIBRARIES)}")
    if os.geteuid() != 0:
        print("xsk.py: needs root: skipped", file=sys.stderr)
        return 77
    rows, failed = [], False
    for sender in filter(None, map(built, options.library or LIBRARIES)):
        new, has_failed = measure(sender, options.runs, options.packets)
        rows += new
        failed |= has_failed
    if not rows:
        return 77
    if options.record:
        (LIVE / "xsk.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(*tables(rows), sep="\n\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
