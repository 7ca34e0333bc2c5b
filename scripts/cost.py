#!/usr/bin/env python3
"""Counts instructions under callgrind, which are the same in every run with one compiler.

usage: scripts/cost.sh             the estimator compared with the widely deployed C implementation,
                                   the whole path and the simulator: writes docs/cost.json, which
                                   docs/predictions.md uses, and the tables of docs/cost.md
       scripts/cost.sh --check     path and simulator: fails if a count is more than 3 % above the
                                   one in docs/cost.json, which holds for one compiler only
       scripts/cost.sh --limits    each limit: a packet, a completion batch, the memory of a queue
       scripts/cost.sh --qdiscs    each discipline with few and many active flows, also in time
Exit codes: 0 ok, 1 failed, 2 usage, 3 a count is too high, 77 cannot run here.
"""

import functools
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import cost_page
from page import ROOT, SCRIPTS, build, table

KEPT = ROOT / "docs/cost.json"
WORK = tempfile.TemporaryDirectory()
OUT = pathlib.Path(WORK.name, "callgrind.out")
BATCHES = [1, 8, 64]
# Variants of GSO packets whose cost is checked, and others.
CHECKED_SPLITS = ["uncut", "whole", "pieces", "alone"]
SPLITS = ["plain", "uncut", "whole", "pieces", "plain-alone", "alone"]
# Batch, depth, the reference's count, and the limit and total completed at the end.
ESTIMATOR = [
    (1, 0, 77, 2278, 814848784),
    (1, 16, 101, 0, 814834702),
    (8, 0, 16.6, 13098, 814848784),
    (8, 16, 20.5, 0, 814759111),
    (64, 0, 9.1, 112686, 814848784),
    (64, 16, 10.4, 0, 814065803),
]


@functools.cache
def example(package, name):
    return build("-p", package, "--example", name) / "examples" / name


def run(program, *arguments, callgrind=()):
    """The instructions of one process, and its output."""
    command = ["valgrind", "--tool=callgrind", *callgrind, f"--callgrind-out-file={OUT}"]
    command += [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"cost.py: {program.name}: {done.stderr}")
    summary = re.search(r"^summary: (\d+)", OUT.read_text(), re.M)
    return int(summary[1]), done.stdout.strip()


def count(program, *arguments, expected=None, callgrind=()):
    """The instructions of one process, whose output must be as expected."""
    instructions, printed = run(program, *arguments, callgrind=callgrind)
    if expected not in (None, printed):
        text = " ".join(map(str, arguments))
        sys.exit(f"cost.py: {program.name} {text} printed {printed}, expected: {expected}")
    return instructions


def load():
    return example("taut-path", "cost")


def slope(program, few, many, *before, after=()):
    """Instructions for a packet: the difference of two runs, without start and end."""
    totals = [count(program, *before, it, *after, expected=str(it)) for it in (few, many)]
    return round((totals[1] - totals[0]) / (many - few), 1)


def path(limit, batch, variant):
    program = example("taut-path", "path_cost")
    return slope(program, 65536, 196608, limit, batch, after=[variant])


def split(variant):
    """For an object: 16 in a batch."""
    return slope(example("taut-path", "split_cost"), 16384, 49152, variant)


def simulator():
    """For a packet of the speed benchmark with 100 flows."""
    instructions, printed = run(example("taut-sim", "speed"), 100)
    # The row of the case: flows, limit, and the packets of both directions.
    _, _, forward, back, *_ = printed.splitlines()[-1].split()
    return round(instructions / (int(forward) + int(back)), 1)


def estimator():
    """A row for each case, for a packet, without the instructions of the empty loop."""
    packets, rows = 1048576, []
    for batch, depth, reference, limit, completed in ESTIMATOR:
        ends = f"limit {limit} num_queued 814848784 num_completed {completed}"
        row = {"batch_packets": batch, "depth": depth}
        empty = count(load(), "ledger", "empty", batch, depth)
        for variant in ("owned", "shared"):
            total = count(load(), "ledger", variant, batch, depth, expected=ends)
            row[variant] = round((total - empty) / packets, 2)
        rows.append({**row, "reference": reference})
    return rows


def paths():
    """A row for each batch: limits with static types, and the variants of `dql`."""
    rows = []
    for batch in BATCHES:
        row = {"batch_packets": batch}
        row |= {limit: path(limit, batch, "owned") for limit in ("off", "fixed", "dql")}
        row["owned"] = row["dql"]
        row |= {it: path("dql", batch, it) for it in ("any", "shared", "ring", "bare")}
        rows.append(row)
    return rows


def locked():
    """Fences and locked instructions for a packet, which cost more than others."""
    measured, rows = example("taut-path", "path_cost"), []
    listing = subprocess.run(["objdump", "-d", measured], stdout=subprocess.PIPE, check=True).stdout
    for batch in BATCHES:
        row = [batch]
        for variant in ("owned", "shared", "bare"):
            count(measured, "dql", batch, 196608, variant, callgrind=["--dump-instr=yes"])
            program = SCRIPTS / "locked_instructions.py"
            counted = subprocess.run(
                [program, OUT], input=listing, stdout=subprocess.PIPE, check=True
            )
            row.append(f"{int(counted.stdout) / 196608:.2f}")
        rows.append(row)
    return table(["batch", "owned", "two threads", "bare"], rows, left=0)


def toolchain():
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True
                          ).stdout.strip()


def measure():
    rows = estimator()
    document = {"version": 1, "unit": "instructions for each packet", "toolchain": toolchain()}
    document |= {f"split-{variant}": split(variant) for variant in SPLITS}
    document |= {"simulator": simulator(), "estimator": rows, "rows": paths()}
    lines = []
    for name, value in document.items():
        text = json.dumps(value)
        if isinstance(value, list):
            text = "[\n    " + ",\n    ".join(map(json.dumps, value)) + "\n  ]"
        lines.append(f'  "{name}": {text}')
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    cost_page.write()
    print(KEPT.read_text())
    if shutil.which("objdump"):
        print(f"fences and locked instructions for each packet\n\n{locked()}\n")
    above = sum(row["owned"] > row["reference"] for row in rows)
    if above:
        print(f"cost.py: the estimator is above the reference in {above} cases", file=sys.stderr)
    return 3 if above else 0


def check():
    kept = json.loads(KEPT.read_text())
    if kept["toolchain"] != toolchain():
        print(f"not compared: docs/cost.json is from {kept['toolchain']}, this is {toolchain()}")
        return 0
    checks = [(f"GSO packets, {it}", kept[f"split-{it}"], split, [it]) for it in CHECKED_SPLITS]
    for row in kept["rows"]:
        batch = row["batch_packets"]
        for it in ("owned", "any", "shared"):
            checks.append((f"batch {batch}, {it}", row[it], path, ["dql", batch, it]))
    checks.append(("simulator", kept["simulator"], simulator, []))
    high = 0
    for name, was, counted, arguments in checks:
        now = counted(*arguments)
        high += now > was * 1.03
        print(f"{name}: {now}, kept {was}: {'too high' if now > was * 1.03 else 'ok'}", flush=True)
    return 3 if high else 0


def limits():
    """Many short batches and few long ones: two equations for the cost of a packet and a batch."""
    packets, many, few, rows = 1048576, 131072, 16384, []
    for gaps in ("even", "jitter", "rare"):
        totals = {
            (rule, batches): count(load(), "limit", rule, gaps, packets, batches)
            for rule in ("none", "off", "dql", "taut")
            for batches in (many, few)
        }
        for rule in ("off", "dql", "taut"):
            of_many, of_few = (totals[rule, it] - totals["none", it] for it in (many, few))
            batch = (of_many - of_few) / (many - few)
            rows.append([gaps, rule, f"{(of_few - few * batch) / packets:.1f}", f"{batch:.1f}"])
    print(table(["gaps", "rule", "packet", "batch"], rows, left=2), end="\n\n", flush=True)
    subprocess.run([load(), "memory"], check=True)
    return 0


def processor_s(*arguments):
    """The processor time of a process in s, the least of five."""
    def once():
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([load(), *map(str, arguments)], stdout=subprocess.DEVNULL, check=True)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return min(once() for _ in range(5))


def qdiscs():
    """Enqueue and dequeue of a packet; `full` also drops one. The rest creates and fills."""
    packets, timed, rows, times = 65536, 1 << 22, [], []
    flows = [1, 100, 1024, 10000]
    for name, mode in (
        ("pfifo_fast", "plain"), ("pfifo", "plain"), ("codel", "plain"), ("fq_codel", "plain"),
        ("fq_codel flows 16384", "plain"), ("pfifo", "burst"), ("fq_codel flows 16384", "burst"),
        ("fq_codel", "full"), ("fq_codel flows 16384", "full"),
    ):
        counts, rates = [], []
        for it in flows:
            case = ("qdisc", name, mode, it)
            counts.append((count(load(), *case, packets) - count(load(), *case, 0)) // packets)
            seconds = processor_s(*case, timed) - processor_s(*case, 0)
            rates.append(f"{timed / seconds / 1e6:.1f}")
        rows.append([f"{name}, {mode}", *counts])
        times.append([f"{name}, {mode}", *rates])
    print(table(["instructions, active flows", *flows], rows), end="\n\n")
    print(table(["million packets in a second of processor time", *flows], times))
    return 0


def main():
    modes = {"": measure, "--check": check, "--limits": limits, "--qdiscs": qdiscs}
    mode = modes.get(" ".join(sys.argv[1:]))
    if mode is None:
        print(__doc__, file=sys.stderr)
        return 2
    if not shutil.which("valgrind"):
        print("cost.py: valgrind is not installed; it counts the instructions", file=sys.stderr)
        return 77
    return mode()


if __name__ == "__main__":
    sys.exit(main())
