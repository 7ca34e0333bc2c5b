#!/usr/bin/env python3
"""Measures QUIC stacks with and without a limit. Needs root.

usage: scripts/quic.py [--stack noq|quinn|s2n-quic|quiche].. [--runs N] [--duration TIME]
                       [--rate RATE].. [--topology bridged|routed].. [--busy-loops N] [--taut PATH]
                       [--record]
Builds the example of each stack, of quinn the example quic_under_load of taut-quinn, and prints a
line for each run. The limits of a row alternate. A stack is skipped if it cannot be built here:
quiche needs cmake, a C++ compiler and libclang, s2n-quic needs Rust 1.95. With perf, system calls
of both ends are counted, except for quinn. --busy-loops measures beside other programs.
--taut is the command: keeps the bytes that `taut where` finds in the slow link's queue.
--record appends the runs to docs/live/stacks.jsonl; scripts/stacks.py writes the page from it.
With a value of CARGO_PROFILE such as `dev`, that profile is used instead of `release`.
Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here (root, or no stack can be built).
"""

import argparse
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs/live/stacks.jsonl"
STACKS = ["noq", "quinn", "s2n-quic", "quiche"]
RATES, TOPOLOGIES = ["2mbit", "20mbit", "500mbit"], ["bridged", "routed"]
LIMITS = ["plain", "dql", "taut"]
# Errors of a build on a machine that cannot build the stack.
CANNOT_BUILD = ("Unable to find libclang", "requires rustc")
PROFILE = os.environ.get("CARGO_PROFILE", "release")
# The slow link's queue is full after the warm-up of 2 s.
WHERE_AFTER_S = 4


def skip(stack, reason):
    print(f"quic.py: {stack}: {reason}: skipped", file=sys.stderr)
    return False


def is_built(stack):
    """Builds the program of a stack. False if this machine cannot."""
    tools = ["cmake", os.environ.get("CXX", "c++")] if stack == "quiche" else []
    for tool in tools:
        if not shutil.which(tool):
            return skip(stack, f"no {tool}")
    selected = ["--manifest-path", f"examples/{stack}/Cargo.toml"]
    if stack == "quinn":
        selected = ["-p", "taut-quinn", "--example", "quic_under_load"]
    done = subprocess.run(
        ["cargo", "build", "--quiet", "--locked", "--profile", PROFILE, *selected],
        stderr=subprocess.PIPE, text=True,
    )
    sys.stderr.write(done.stderr)
    if done.returncode == 0:
        return True
    if any(error in done.stderr for error in CANNOT_BUILD):
        return skip(stack, "cannot be built here")
    sys.exit(1)


def target(default):
    directory = os.environ.get("CARGO_TARGET_DIR", default)
    return os.path.join(directory, "debug" if PROFILE == "dev" else PROFILE)


def queued_bytes(taut, pid):
    """The bytes in the slow link's queue, in the namespace of the device `far` of a program."""
    seen = set()
    for entry in sorted(pathlib.Path(f"/proc/{pid}/fd").iterdir()):
        name = os.readlink(entry)
        if not name.startswith("net:") or name in seen:
            continue
        seen.add(name)
        command = [taut, "where", "-j", "-n", str(entry), "far"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            rows = json.loads(done.stdout)["rows"]
            return sum(it["bytes"] for it in rows if it["where"].startswith("discipline"))
    return None


def child_of(pid):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else pid


def run(command, taut):
    """The document of a program, its system calls if perf counts them, and the queued bytes."""
    prefix = ["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter"] if shutil.which("perf") else []
    started = subprocess.Popen(
        prefix + command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    queued = None
    if taut:
        time.sleep(WHERE_AFTER_S)
        queued = queued_bytes(taut, child_of(started.pid) if prefix else started.pid)
    output, errors = started.communicate()
    if started.returncode != 0:
        sys.exit(f"quic.py: {' '.join(command)}: {errors}")
    calls = [line.split(",")[0] for line in errors.splitlines() if "sys_enter" in line]
    return json.loads(output), int(calls[0]) if calls and calls[0].isdigit() else None, queued


def example(stack, options, rate, topology, limit):
    program = os.path.join(target(f"examples/{stack}/target"), f"taut-{stack}")
    row, calls, queued = run([program, "--limit", limit, "--rate", rate, "--topology", topology,
                              "--duration", options.duration, "--json"], options.taut)
    datagrams = row.get("all_datagrams")
    return {"p50_us": row["request_us"]["p50"], "p99_us": row["request_us"]["p99"],
            "goodput_bps": row["goodput_bps"], "cpu_ns_per_byte": row["cpu_ns_per_byte"],
            "calls_per_datagram": calls / datagrams if calls and datagrams else None,
            "queued_bytes": queued}


def quinn(_, options, rate, topology, limit):
    program = os.path.join(target("target"), "examples/quic_under_load")
    document, _, queued = run([program, "--only", limit, "--rate", rate, "--topology", topology,
                               "--duration", options.duration, "-j"], None)
    row = next(row for row in document["rows"] if row["connections"] == 1)
    cpu_ns_per_byte = row["cpu_percent"] * 1e7 / max(row["goodput_bps"] / 8, 1)
    return {"p50_us": row["request_us"]["p50"], "p99_us": row["request_us"]["p99"],
            "goodput_bps": row["goodput_bps"], "cpu_ns_per_byte": cpu_ns_per_byte,
            "calls_per_datagram": None, "queued_bytes": queued}


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--stack", action="append", choices=STACKS)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--duration", default="5s")
    parser.add_argument("--rate", action="append")
    parser.add_argument("--topology", action="append", choices=TOPOLOGIES)
    parser.add_argument("--busy-loops", type=int, default=0)
    parser.add_argument("--taut", metavar="PATH")
    parser.add_argument("--record", action="store_true")
    return parser.parse_args()


def measure_all(options, stacks):
    rows = itertools.product(options.topology or TOPOLOGIES, options.rate or RATES, stacks)
    for (topology, rate, stack), _, limit in itertools.product(rows, range(options.runs), LIMITS):
        measure = quinn if stack == "quinn" else example
        values = measure(stack, options, rate, topology, limit)
        found = {"stack": stack, "topology": topology, "rate": rate, "limit": limit,
                 "duration": options.duration, "busy_loops": options.busy_loops,
                 **{key: round(it, 2) if isinstance(it, float) else it
                    for key, it in values.items()}, "load": round(os.getloadavg()[0], 1)}
        line = json.dumps(found)
        print(line, flush=True)
        if options.record:
            with open(RECORD, "a", encoding="utf-8") as record:
                print(line, file=record)


def main():
    options = arguments()
    if os.geteuid() != 0:
        print("quic.py: needs root: skipped", file=sys.stderr)
        sys.exit(77)
    os.chdir(ROOT)
    stacks = [stack for stack in options.stack or STACKS if is_built(stack)]
    if not stacks:
        sys.exit(77)
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"])
             for _ in range(options.busy_loops)]
    try:
        measure_all(options, stacks)
    finally:
        for loop in loops:
            loop.kill()


if __name__ == "__main__":
    main()
