#!/usr/bin/env python3
"""Measures tunnels in network namespaces, with and without taut. Needs root, ip and tc.

usage: scripts/programs.py [--rows PATTERN] [--runs N] [--seconds S]   table, all rows by default
       scripts/programs.py --record --page    all rows, kept, in docs/programs.md; 45 minutes
       scripts/programs.py --check            one short row of each program, with acceptance
       scripts/programs.py --page             writes docs/programs.md from the kept runs
       --program NAME=PATH    an executable: tunnel, gotatun or wireguard-go (repeatable)
                              [default: builds all; wireguard-go needs Go 1.24]
       --record               keeps each run in docs/live/programs.json.gz, and continues from there
       --taut PATH            the command: keeps what `taut where` shows in the row 20mbit-10mb
                              [default: builds it, if --program is not given]
Exit codes: 0 ok, 1 a target was missed, 2 wrong usage, 77 no privilege.

Each run creates namespaces of its own, links that token buckets shape, and the ends of the tunnel.
TCP streams fill the tunnel, and a UDP request of 100 bytes is echoed every 10 ms. The modes of a
row alternate. A recorded run is repeated if the program or --seconds changed.
"""

import argparse
import fnmatch
import hashlib
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

from page import ROOT, build
from tunnels import page
from tunnels.ends import PROGRAMS
from tunnels.load import Load, processor_seconds
from tunnels.rows import ROWS
from tunnels.world import World

WARM_UP_S = 2
MODES = ("plain", "dql", "taut", "shaper")
EXECUTABLES = {"tunnel": "tunnel", "gotatun": "gotatun-taut"}


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def where(taut, world):
    """Returns what `taut where` shows of the link of the measured program."""
    command = [taut, "where", "-n", world.names[0], "veth0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout or done.stderr


def run_load(world, load, row, seconds, taut):
    """Returns the results of the running tunnel."""
    time.sleep(WARM_UP_S)
    sender = world.children[0].pid
    cpu, received, since = processor_seconds(sender), dict(load.received), time.monotonic()
    shown = []
    helper = threading.Timer(seconds / 2, lambda: None)
    if row.kind == "roaming":
        helper = threading.Timer(seconds / 2, world.roam)
    elif taut:
        helper = threading.Timer(seconds / 2, lambda: shown.append(where(taut, world)))
    helper.start()
    times, silence_ms = load.requests(seconds)
    took = time.monotonic() - since
    received = {flow: load.received[flow] - before for flow, before in received.items()}
    cpu = processor_seconds(sender) - cpu
    helper.join()
    mbit = [count * 8e-6 / took for count in received.values()]
    return {
        "mbit": sum(mbit),
        "flows_mbit": mbit,
        "p50_ms": quantile(times, 0.5),
        "p99_ms": quantile(times, 0.99),
        "silence_ms": silence_ms,
        "cpu_ns_a_byte": cpu * 1e9 / max(sum(received.values()), 1),
        "load": os.getloadavg()[0],
        **({"where": shown[0]} if shown else {}),
    }


def measure(program, row, mode, seconds, taut):
    world = World(row.kind, row.rate, row.queue_bytes)
    try:
        program.start(world, mode, row.rate)
        load = Load(world, row.streams)
        try:
            return run_load(world, load, row, seconds, taut)
        finally:
            load.close()
    finally:
        world.close()


def identity(program):
    return hashlib.sha256(pathlib.Path(program.path).read_bytes()).hexdigest()[:16]


def compare(name, program, row_name, options, record):
    """Alternates the modes, and returns the medians of each."""
    row = ROWS[row_name]
    modes = row.modes_of(program, options.modes)
    results = {mode: [] for mode in modes}
    for number in range(options.runs):
        for mode in modes:
            key = {"program": name, "row": row_name, "mode": mode, "run": number,
                   "seconds": options.seconds, "executable": identity(program)}
            kept = record.find(key) if record else None
            if kept is None:
                shows = row_name == "20mbit-10mb" and number == 0
                taut = options.taut if shows else None
                kept = key | measure(program, row, mode, options.seconds, taut)
                if record:
                    record.add(kept)
            results[mode].append(kept)
    medians = {mode: page.medians(runs) for mode, runs in results.items()}
    for mode, values in medians.items():
        shown = " ".join(f"{key} {values[key]:.2f}" for key in page.VALUES)
        load = statistics.median(it["load"] for it in results[mode])
        print(f"{name:<8} {row_name:<14} {mode:<6} {shown} load {load:.1f}", flush=True)
    return medians


def built():
    """The program of each name that this machine can build."""
    paths = {name: build("--manifest-path", f"examples/{name}/Cargo.toml") / executable
             for name, executable in EXECUTABLES.items()}
    if not shutil.which("go"):
        print("programs.py: wireguard-go needs Go 1.24: skipped", file=sys.stderr)
        return paths
    folder = build("-p", "taut-dql-capi")
    paths["wireguard-go"] = folder / "wireguard-taut"
    subprocess.run(
        ["go", "build", "-o", paths["wireguard-go"], "."], cwd=ROOT / "examples/wireguard-go",
        env={**os.environ, "CGO_LDFLAGS": f"-L{folder}"}, check=True)
    return paths


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", default="*")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--taut", metavar="PATH")
    parser.add_argument("--program", action="append", default=[], metavar="NAME=PATH")
    options = parser.parse_args()
    options.modes = options.modes.split(",")
    for mode in set(options.modes) - set(MODES):
        parser.error(f"--modes {mode}: expected {', '.join(MODES)}")
    programs = {}
    for program in options.program:
        name, _, path = program.partition("=")
        if name not in PROGRAMS or not os.access(path, os.X_OK):
            parser.error(f"--program {program}: expected NAME=PATH, an executable of "
                         + " or ".join(PROGRAMS))
        programs[name] = path
    options.rows = [row for row in ROWS if fnmatch.fnmatch(row, options.rows)]
    if not options.rows:
        parser.error(f"no such row: expected {', '.join(ROWS)}")
    if options.check:
        options.rows, options.runs, options.seconds = ["20mbit-1mb"], 1, 3
        options.modes = ["plain", "taut"]
    return options, programs


def main():
    options, paths = arguments()
    if paths or options.record or not options.page:
        if os.geteuid() != 0:
            print("skipped: network namespaces need root", file=sys.stderr)
            return 77
        if not paths:
            options.taut = options.taut or build() / "taut"
            paths = built()
    programs = {name: PROGRAMS[name](path) for name, path in paths.items()}
    record = page.Record() if options.record else None
    missed = 0
    for name, program in programs.items():
        for row in options.rows:
            if ROWS[row].kind not in program.kinds:
                continue
            medians = compare(name, program, row, options, record)
            if options.check:
                plain, taut = medians["plain"], medians["taut"]
                # The load of the machine must not fail this: the targets are a tenth of the usual.
                met = taut["p50_ms"] * 4 < plain["p50_ms"] and taut["mbit"] > 0.5 * plain["mbit"]
                missed += not met
    if options.page:
        page.write(page.Record())
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
