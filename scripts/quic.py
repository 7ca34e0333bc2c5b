#!/usr/bin/env python3
"""Measures QUIC stacks with and without a limit, and prints a Markdown table.

usage: scripts/quic.py [--stack noq|quinn|s2n-quic|quiche].. [--duration TIME] [--rate RATE]..
                       [--topology direct|bridged|routed].. [--check]
Needs root; builds the example of each stack. A stack is skipped if it cannot be built here: quiche
needs cmake, a C++ compiler and libclang, s2n-quic needs Rust 1.95. Each row has the load average of
the machine after it. With perf, system calls of both ends are counted, except for s2n-quic. With a
value of CARGO_PROFILE such as `dev`, that profile is used instead of `release`. --check requires,
on an idle machine, that a request under `taut` takes less than a third of the time, with 80 % of
the goodput.
Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here (root, or no stack can be built).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STACKS = ["noq", "quinn", "s2n-quic", "quiche"]
TOPOLOGIES = ["direct", "bridged", "routed"]
LIMITS = ["plain", "dql", "taut"]
# Errors of a build on a machine that cannot build the stack.
CANNOT_BUILD = ("Unable to find libclang", "requires rustc")
HEAD = """\
| link | rate | stack | limit | p50 us | p99 us | Mbit/s | CPU ns/B | calls/datagram | load |
|---|---|---|---|--:|--:|--:|--:|--:|--:|"""
PROFILE = os.environ.get("CARGO_PROFILE", "release")
# The expected ratios are a tenth and 99 %: busy machines need a margin.
MAX_TIME_RATIO, MIN_GOODPUT_RATIO = 0.34, 0.8


def skip(stack, reason):
    print(f"quic.py: {stack}: {reason}: skipped", file=sys.stderr)
    return False


def is_built(stack):
    """Builds the program of a stack. False if this machine cannot."""
    tools = ["cmake", os.environ.get("CXX", "c++")] if stack == "quiche" else []
    for tool in tools:
        if not shutil.which(tool):
            return skip(stack, f"no {tool}")
    done = subprocess.run(
        ["cargo", "build", "--quiet", "--locked", "--profile", PROFILE,
         "--manifest-path", f"examples/{stack}/Cargo.toml"],
        stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )
    sys.stderr.write(done.stderr)
    if done.returncode == 0:
        return True
    if any(error in done.stderr for error in CANNOT_BUILD):
        return skip(stack, "cannot be built here")
    sys.exit(1)


def measure(stack, options, counted=False):
    """The row of a run, and its system calls if they are counted."""
    target = os.environ.get("CARGO_TARGET_DIR", f"{ROOT}/examples/{stack}/target")
    name = "taut-quinn-bench" if stack == "quinn" else f"taut-{stack}"
    program = os.path.join(target, "debug" if PROFILE == "dev" else PROFILE, name)
    counted = counted and shutil.which("perf")
    prefix = ["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter"] if counted else []
    done = subprocess.run([*prefix, program, *options, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode)
    calls = [line.split(",")[0] for line in done.stderr.splitlines() if "sys_enter" in line]
    return json.loads(done.stdout), int(calls[0]) if calls and calls[0].isdigit() else None


def row(stack, duration, rate, topology, limit):
    """Measures and prints a row of the table."""
    options = ["--limit", limit, "--rate", rate, "--topology", topology, "--duration", duration]
    result, calls = measure(stack, options, counted=True)
    times, datagrams = result["request_us"], result.get("all_datagrams")
    per_datagram = f"{calls / datagrams:.2f}" if calls and datagrams else "-"
    print(f"| {topology} | {rate} | {stack} | {limit} | {times['p50']:,} | {times['p99']:,} "
          f"| {result['goodput_bps'] / 1e6:.1f} | {result['cpu_ns_per_byte']:.1f} "
          f"| {per_datagram} | {os.getloadavg()[0]:.1f} |", flush=True)
    return result


def meets_targets(results):
    """Compares `taut` with `plain` for each stack."""
    is_met = True
    for stack in {stack for stack, _ in results}:
        plain, taut = results[stack, "plain"], results[stack, "taut"]
        time = taut["request_us"]["p50"] / plain["request_us"]["p50"]
        goodput = taut["goodput_bps"] / plain["goodput_bps"]
        if time >= MAX_TIME_RATIO or goodput <= MIN_GOODPUT_RATIO:
            print(f"quic.py: {stack}: {time:.2f} of the time, {goodput:.2f} of the goodput; "
                  f"allowed: below {MAX_TIME_RATIO}, above {MIN_GOODPUT_RATIO}", file=sys.stderr)
            is_met = False
    return is_met


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--stack", action="append", choices=STACKS)
    parser.add_argument("--duration", default="5s")
    parser.add_argument("--rate", action="append")
    parser.add_argument("--topology", action="append", choices=TOPOLOGIES)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("quic.py: needs root: skipped", file=sys.stderr)
        return 77
    stacks = [stack for stack in options.stack or STACKS if is_built(stack)]
    if not stacks:
        return 77
    rates = ["20mbit"] if options.check else ["2mbit", "20mbit", "500mbit"]
    is_met = True
    print(HEAD)
    for topology in options.topology or ["bridged", "routed"]:
        for rate in options.rate or rates:
            results = {
                (stack, limit): row(stack, options.duration, rate, topology, limit)
                for limit in LIMITS
                for stack in stacks
            }
            is_met &= not options.check or meets_targets(results)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
