#!/usr/bin/env python3
"""Measures QUIC stacks with and without a limit. Needs root.

usage: scripts/quic.py [--stack noq|quinn|s2n-quic|quiche].. [--runs N] [--duration TIME]
                       [--rate RATE].. [--topology direct|bridged|routed].. [--busy-loops N]
                       [--fault none|link-down|peer-down|stopped|rebound]..
                       [--taut PATH] [--record] [--check]
Builds the example of each stack, and prints a JSON object for each run. The limits of a row
alternate. quiche and s2n-quic are skipped if they cannot be built here: quiche needs cmake, a C++
compiler and libclang, s2n-quic needs Rust 1.95. With perf, system calls of both ends are counted.
--busy-loops measures beside other programs. --fault measures `taut` alone, with a fault of a second
in the middle of the run; quinn and noq can be rebound. --taut is the command: keeps the bytes that
`taut where` finds in the slow link's queue. --record appends the runs to docs/live/stacks.jsonl,
from which scripts/stacks.py writes its page. --check requires, on an idle machine, that a request
at 20 Mbit/s under `taut` takes less than a third of the time, with four fifths of the goodput.
Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here (root, or no stack can be built).
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from page import LIVE, build, busy_loops

STACKS = ["noq", "quinn", "s2n-quic", "quiche"]
TOPOLOGIES = ["direct", "bridged", "routed"]
LIMITS = ["plain", "dql", "taut"]
FAULTS = ["none", "link-down", "peer-down", "stopped", "rebound"]
# The slow link's queue is full after the warm-up of 2 s.
WHERE_AFTER_S = 4
# The expected ratios are a tenth and 99 %: busy machines need a margin.
MAX_TIME_RATIO, MIN_GOODPUT_RATIO = 0.34, 0.8


def built(stack):
    """The program of a stack. None if this machine cannot build it."""
    name = "taut-quinn-bench" if stack == "quinn" else f"taut-{stack}"
    try:
        return build("--manifest-path", f"examples/{stack}/Cargo.toml") / name
    except subprocess.CalledProcessError:
        if stack not in ("quiche", "s2n-quic"):
            raise
        print(f"quic.py: {stack} cannot be built here: skipped", file=sys.stderr)
        return None


def queued_bytes(taut, pid):
    """The bytes in the slow link's queue, in the namespace of the device `far` of a program."""
    for entry in sorted(pathlib.Path(f"/proc/{pid}/fd").iterdir()):
        if os.readlink(entry).startswith("net:"):
            command = [taut, "where", "-j", "-n", str(entry), "far"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                rows = json.loads(done.stdout)["rows"]
                return sum(it["bytes"] for it in rows if it["where"].startswith("discipline"))
    return None


def measure(program, options, taut=None):
    """The document of a run, its system calls if perf counts them, and the queued bytes."""
    perf = ["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter"] if shutil.which("perf") else []
    run = subprocess.Popen([*perf, program, *options, "--json"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    queued, pid = None, run.pid
    if taut:
        try:
            run.wait(WHERE_AFTER_S)
        except subprocess.TimeoutExpired:
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            queued = queued_bytes(taut, children[0] if perf and children else pid)
    output, errors = run.communicate()
    if run.returncode != 0:
        sys.stderr.write(errors)
        sys.exit(run.returncode)
    calls = [line.split(",")[0] for line in errors.splitlines() if "sys_enter" in line]
    return json.loads(output), int(calls[0]) if calls and calls[0].isdigit() else None, queued


def row(stack, program, topology, rate, case, options):
    """The values of a run that the page needs."""
    limit, fault = case
    settings = ["--limit", limit, "--rate", rate, "--topology", topology,
                "--duration", options.duration]
    settings += [] if fault in (None, "none") else ["--fault", fault]
    result, calls, queued = measure(program, settings, options.taut)
    datagrams = result.get("all_datagrams")
    return {
        "stack": stack, "topology": topology, "rate": rate, "limit": limit,
        "duration": options.duration, "busy_loops": options.busy_loops,
        "p50_us": result["request_us"]["p50"], "p99_us": result["request_us"]["p99"],
        "goodput_bps": result["goodput_bps"],
        "cpu_ns_per_byte": round(result["cpu_ns_per_byte"], 2),
        "calls_per_datagram": round(calls / datagrams, 2) if calls and datagrams else None,
        "queued_bytes": queued, "fault": fault, "limit_bytes": result["limit_bytes"],
        "unaccounted_bytes": result["unaccounted_bytes"], "load": round(os.getloadavg()[0], 1),
    }


def cases(stack, faults):
    """The limit and the fault of each run of a row."""
    if not faults:
        return [(limit, None) for limit in LIMITS]
    can_rebind = stack in ("quinn", "noq")
    return [("taut", fault) for fault in faults if fault != "rebound" or can_rebind]


def measure_all(options, programs):
    rates = options.rate or (["20mbit"] if options.check else ["2mbit", "20mbit", "500mbit"])
    rows = itertools.product(options.topology or ["bridged", "routed"], rates, programs.items())
    with contextlib.ExitStack() as files:
        record = None
        if options.record:
            record = files.enter_context(open(LIVE / "stacks.jsonl", "a", encoding="utf-8"))
        for (topology, rate, (stack, program)), _ in itertools.product(rows, range(options.runs)):
            for case in cases(stack, options.fault):
                found = row(stack, program, topology, rate, case, options)
                print(json.dumps(found), flush=True)
                if record:
                    print(json.dumps(found), file=record, flush=True)
                yield found


def meets_targets(runs):
    """Compares `taut` with `plain` in successive runs."""
    is_met = True
    for plain, taut in zip(runs[:: len(LIMITS)], runs[len(LIMITS) - 1 :: len(LIMITS)]):
        time_ratio = taut["p50_us"] / plain["p50_us"]
        goodput_ratio = taut["goodput_bps"] / plain["goodput_bps"]
        if time_ratio >= MAX_TIME_RATIO or goodput_ratio <= MIN_GOODPUT_RATIO:
            print(f"quic.py: {taut['stack']}: {time_ratio:.2f} of the time, {goodput_ratio:.2f} of "
                  f"the goodput; allowed: below {MAX_TIME_RATIO}, above {MIN_GOODPUT_RATIO}",
                  file=sys.stderr)
            is_met = False
    return is_met


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--stack", action="append", choices=STACKS)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--duration", default="5s")
    parser.add_argument("--rate", action="append")
    parser.add_argument("--topology", action="append", choices=TOPOLOGIES)
    parser.add_argument("--busy-loops", type=int, default=0)
    parser.add_argument("--fault", action="append", choices=FAULTS)
    parser.add_argument("--taut", metavar="PATH")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("quic.py: needs root: skipped", file=sys.stderr)
        return 77
    programs = {stack: built(stack) for stack in options.stack or STACKS}
    programs = {stack: program for stack, program in programs.items() if program}
    if not programs:
        return 77
    with busy_loops(options.busy_loops):
        runs = list(measure_all(options, programs))
    return 1 if options.check and not meets_targets(runs) else 0


if __name__ == "__main__":
    sys.exit(main())
