#!/usr/bin/env python3
"""Measures QUIC stacks with and without a limit, and prints a Markdown table.

usage: scripts/quic.py [--stack noq|quinn|s2n-quic|quiche].. [--duration TIME] [--rate RATE]..
                       [--topology bridged|routed]..
Needs root; builds the example of each stack, of quinn the example quic_under_load of taut-quinn.
quiche and s2n-quic are skipped if they cannot be built here: quiche needs cmake, a C++ compiler and
libclang, s2n-quic needs Rust 1.95. Each row has the load average of the machine after it. With
perf, system calls of both ends are counted, except for quinn and s2n-quic.
Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here (root, or no stack can be built).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

from page import build

STACKS = ["noq", "quinn", "s2n-quic", "quiche"]
RATES, TOPOLOGIES = ["2mbit", "20mbit", "500mbit"], ["bridged", "routed"]
LIMITS = ["plain", "dql", "taut"]
HEAD = """\
| link | rate | stack | limit | p50 us | p99 us | Mbit/s | CPU ns/B | calls/datagram | load |
|---|---|---|---|--:|--:|--:|--:|--:|--:|"""


def built(stack):
    """The program of a stack. None if this machine cannot build it."""
    try:
        if stack == "quinn":
            folder = build("-p", "taut-quinn", "--example", "quic_under_load")
            return folder / "examples/quic_under_load"
        return build("--manifest-path", f"examples/{stack}/Cargo.toml") / f"taut-{stack}"
    except subprocess.CalledProcessError:
        if stack not in ("quiche", "s2n-quic"):
            raise
        print(f"quic.py: {stack} cannot be built here: skipped", file=sys.stderr)
        return None


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


def example(program, options, rate, topology, limit):
    row, calls = run([program, "--limit", limit, "--rate", rate, "--topology", topology,
                      "--duration", options.duration, "--json"], counted=True)
    datagrams = row.get("all_datagrams")
    per_datagram = f"{calls / datagrams:.2f}" if calls and datagrams else "-"
    return row["request_us"], row["goodput_bps"], row["cpu_ns_per_byte"], per_datagram


def quinn(program, options, rate, topology, limit):
    document, _ = run([program, "--only", limit, "--rate", rate, "--topology", topology,
                       "--duration", options.duration, "-j"])
    row = next(row for row in document["rows"] if row["connections"] == 1)
    cpu_ns_per_byte = row["cpu_percent"] * 1e7 / max(row["goodput_bps"] / 8, 1)
    return row["request_us"], row["goodput_bps"], cpu_ns_per_byte, "-"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--stack", action="append", choices=STACKS)
    parser.add_argument("--duration", default="5s")
    parser.add_argument("--rate", action="append")
    parser.add_argument("--topology", action="append", choices=TOPOLOGIES)
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("quic.py: needs root: skipped", file=sys.stderr)
        sys.exit(77)
    programs = {stack: built(stack) for stack in options.stack or STACKS}
    programs = {stack: program for stack, program in programs.items() if program}
    if not programs:
        sys.exit(77)
    print(HEAD)
    for topology in options.topology or TOPOLOGIES:
        for rate in options.rate or RATES:
            for limit in LIMITS:
                for stack, program in programs.items():
                    measure = quinn if stack == "quinn" else example
                    times, goodput, cpu, calls = measure(program, options, rate, topology, limit)
                    print(f"| {topology} | {rate} | {stack} | {limit} | {times['p50']:,} "
                          f"| {times['p99']:,} | {goodput / 1e6:.1f} | {cpu:.1f} | {calls} "
                          f"| {os.getloadavg()[0]:.1f} |", flush=True)


main()
