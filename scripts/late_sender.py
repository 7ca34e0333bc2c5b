#!/usr/bin/env python3
"""Compares limits with a blocked sender that returns late in each interval.

144 completion traces at 1 Gbit/s with full frames. An interrupt comes every 30 to 200 us, and the
sender returns 0.1 to 1.5 intervals later. Both are exact, or vary by 2 or 20 %.
Prints for each rule: on how many traces less than 99.9 % and 99 % of the link are used, the lowest
share, and on how many the bytes in the ring exceed 1.25 times those of the smallest sufficient
fixed limit. A minute of one core.

usage: scripts/late_sender.py
"""

import itertools
import json
import random
import tempfile
from pathlib import Path

from page import build, options, output

GAPS_US = (30, 50, 100, 200)
DELAYS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5)
SPREADS = (0, 0.02, 0.2)
END_NS = 5_000_000_000
RULES = ("fixed", "dql", "taut")


def write(folder, gap_us, delay, spread):
    """A pattern: the same numbers everywhere, since the seed is its name."""
    path = Path(folder, f"{gap_us}us-{delay}-{spread}.pattern")
    draw = random.Random(path.stem)
    header = {"id": path.stem, "rate_bytes_per_us": 125, "warm_ns": 1_000_000_000, "end_ns": END_NS}
    at_ns, lines = 0, [json.dumps(header)]
    while at_ns < END_NS:
        gap_ns = int(gap_us * 1_000 * (1 + draw.uniform(-spread, spread)))
        delay_ns = int(gap_us * delay * 1_000 * (1 + draw.uniform(-spread, spread)))
        lines.append(f"{gap_ns} {delay_ns}")
        at_ns += gap_ns
    path.write_text("\n".join(lines) + "\n")
    return path


def show(what, rows):
    print(f"{what}: {len(rows) // len(RULES)} patterns")
    for rule in RULES[1:]:
        of_rule = [row for row in rows if row["rule"] == rule]
        busy = [100 * row["utilisation"] for row in of_rule]
        above = sum((row["ratio"] or 0) > 1.25 for row in of_rule)
        below = [sum(share < least for share in busy) for least in (99.9, 99)]
        print(
            f"  {rule:5} below 99.9 %: {below[0]:3}, 99 %: {below[1]:3}, "
            f"least {min(busy):6.2f} %, ratio above 1.25: {above:3}"
        )


def main():
    taut = build() / "taut"
    with tempfile.TemporaryDirectory() as folder:
        cases = itertools.product(GAPS_US, DELAYS, SPREADS)
        patterns = options("--pattern", [write(folder, *case) for case in cases])
        rules = options("--limit", RULES)
        rows = json.loads(output(taut, "sim", "limit-rules", "-j", *rules, *patterns))["rows"]
    later = [float(row["pattern"].split("-")[1]) >= 1 for row in rows]
    sooner = [row for row, is_later in zip(rows, later) if not is_later]
    show("back before the next interrupt", sooner)
    show("later", [row for row, is_later in zip(rows, later) if is_later])


if __name__ == "__main__":
    main()
