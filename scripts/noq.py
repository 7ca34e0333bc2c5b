#!/usr/bin/env python3
"""Measures noq and quinn with and without a limit, and prints a Markdown table.

usage: scripts/noq.py [--duration TIME] [--rate RATE].. [--topology bridged|routed].. [--no-quinn]
Needs root; builds examples/noq, and the example quic_under_load of taut-quinn. Each row has the
load average of the machine after it. With perf, system calls of both ends are counted; with a
value of CARGO_PROFILE such as `dev`, that profile is used instead of `release`.
Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RATES, TOPOLOGIES = ["2mbit", "20mbit", "500mbit"], ["bridged", "routed"]
LIMITS = ["plain", "dql", "taut"]
HEAD = """\
| link | rate | stack | limit | p50 us | p99 us | Mbit/s | CPU ns/B | calls/datagram | load |
|---|---|---|---|--:|--:|--:|--:|--:|--:|"""
PROFILE = os.environ.get("CARGO_PROFILE", "release")


def build(*arguments):
    subprocess.run(
        ["cargo", "build", "--quiet", "--locked", "--profile", PROFILE, *arguments], check=True
    )


def target(default):
    directory = os.environ.get("CARGO_TARGET_DIR", default)
    return os.path.join(directory, "debug" if PROFILE == "dev" else PROFILE)


def run(command, counted=False):
    """The document of a command, and its system calls if they are counted."""
    counted = counted and shutil.which("perf")
    prefix = ["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter"] if counted else []
    done = subprocess.run(prefix + command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode)
    calls = [line.split(",")[0] for line in done.stderr.splitlines() if "sys_enter" in line]
    return json.loads(done.stdout), int(calls[0]) if calls and calls[0].isdigit() else None


def noq(options, rate, topology, limit):
    program = os.path.join(target("examples/noq/target"), "taut-noq")
    row, calls = run([program, "--limit", limit, "--rate", rate, "--topology", topology,
                      "--duration", options.duration, "--json"], counted=True)
    per_datagram = f"{calls / row['all_datagrams']:.2f}" if calls else "-"
    return row["request_us"], row["goodput_bps"], row["cpu_ns_per_byte"], per_datagram


def quinn(options, rate, topology, limit):
    program = os.path.join(target("target"), "examples/quic_under_load")
    document, _ = run([program, "--only", limit, "--rate", rate, "--topology", topology,
                       "--duration", options.duration, "-j"])
    row = next(row for row in document["rows"] if row["connections"] == 1)
    cpu_ns_per_byte = row["cpu_percent"] * 1e7 / max(row["goodput_bps"] / 8, 1)
    return row["request_us"], row["goodput_bps"], cpu_ns_per_byte, "-"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--duration", default="5s")
    parser.add_argument("--rate", action="append")
    parser.add_argument("--topology", action="append", choices=TOPOLOGIES)
    parser.add_argument("--no-quinn", action="store_true")
    options = parser.parse_args()
    os.chdir(ROOT)
    build("--manifest-path", "examples/noq/Cargo.toml")
    stacks = [("noq", noq)]
    if not options.no_quinn:
        build("-p", "taut-quinn", "--example", "quic_under_load")
        stacks.append(("quinn", quinn))
    print(HEAD)
    for topology in options.topology or TOPOLOGIES:
        for rate in options.rate or RATES:
            for limit in LIMITS:
                for name, measure in stacks:
                    times, goodput, cpu, calls = measure(options, rate, topology, limit)
                    print(f"| {topology} | {rate} | {name} | {limit} | {times['p50']:,} "
                          f"| {times['p99']:,} | {goodput / 1e6:.1f} | {cpu:.1f} | {calls} "
                          f"| {os.getloadavg()[0]:.1f} |", flush=True)


main()
