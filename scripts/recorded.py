#!/usr/bin/env python3
"""Compares limit rules on recorded completion traces: writes the table in docs/limit-rules.md.

Each rule on each trace of docs/live/recorded, compared with the smallest sufficient limit. With
`record`, first records live rings that are saturated without a limit, unless their file exists. The
lab no longer has the load of r01 to r03, which cannot be recorded again. Recording needs root and a
minute.

usage: scripts/recorded.py [record]
Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
"""

import bz2
import json
import pathlib
import re
import sys
import tempfile

from page import LIVE, ROOT, build, busy_loops, options, output, table
from trace_to_pattern import Rejected, convert

RING = ["--driver", "af_packet", "--only", "limit=off"]
# Name, busy loops and options of the lab.
RECORDED = [
    ("r04-tcp-realtime-100mbit", 0, RING),
    ("r05-tcp-ordinary-100mbit-3-loops", 3, [*RING, "--no-real-time"]),
    ("r06-tap-100mbit", 0, ["--only", "limit=off,tso=off"]),
]
RULES = ["dql", "taut"]
BEGIN, END = "<!-- recorded patterns: written", "<!-- recorded patterns: end"
MARKED = re.compile(f"({BEGIN}.*?-->\n).*?({END})", re.S)


def record(taut, directory):
    """Records 4 s of the lab without a limit, after 1 s, next to busy loops."""
    trace = directory / "trace"
    for name, loops, row_options in RECORDED:
        file = LIVE / "recorded" / f"{name}.pattern.bz2"
        if file.exists():
            continue
        with busy_loops(loops):
            output(taut, "lab", "rr-under-load", "--limit", "off", *row_options, "--rate",
                   "100mbit", "--ring", "4096", "--streams", "400", "--duration", "5s",
                   "--trace", trace, "--trace-max-size", "1g")
        try:
            file.write_bytes(bz2.compress(convert(trace, name, skip_s=1, length_s=4).encode()))
        except Rejected as reason:
            # The others are still recorded.
            print(f"recorded.py: {name}: {reason}", file=sys.stderr)


def compared(taut, directory):
    """The rows of all rules on all traces."""
    patterns = []
    for file in sorted((LIVE / "recorded").glob("*.pattern.bz2")):
        patterns.append(directory / file.stem)
        patterns[-1].write_bytes(bz2.decompress(file.read_bytes()))
    rules = options("--limit", ["fixed", *RULES])
    return json.loads(output(taut, "sim", "limit-rules", *options("--pattern", patterns), *rules,
                             "-j"))["rows"]


def section(rows):
    cells = {
        (row["pattern"], row["rule"]): f"{row['ratio']:.2f} / {100 * row['utilisation']:.3f} / "
        f"{row['hp_delay_us_p99']:.0f}"
        for row in rows
        if row["rule"] in RULES
    }
    patterns = list(dict.fromkeys(row["pattern"] for row in rows))
    lines = [[pattern, *(cells[pattern, rule] for rule in RULES)] for pattern in patterns]
    dql, taut = (
        sum(row["rule"] == rule and row["utilisation"] >= 0.999 for row in rows) for rule in RULES
    )
    met = f"Busy for 99.9 %: dql on {dql} of {len(patterns)}, taut on {taut}."
    return f"\n{table(['pattern', *RULES], lines)}\n\n{met}\n\n"


def main():
    if sys.argv[1:] not in ([], ["record"]):
        print(__doc__, file=sys.stderr)
        return 2
    taut = build() / "taut"
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        if sys.argv[1:]:
            record(taut, directory)
        text = section(compared(taut, directory))
    page = ROOT / "docs/limit-rules.md"
    page.write_text(MARKED.sub(rf"\g<1>{text}\g<2>", page.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
