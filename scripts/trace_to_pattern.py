#!/usr/bin/env python3
"""Converts a live trace into a completion trace for `taut sim limit-rules --pattern`.

The result has the poll times and the mean rate of the device: the bytes completed from the first
poll to the last, over that time. Completions depend on the limit, so the trace must be of a queue
without a limit that never ran empty; any other trace is rejected. An empty poll is not in a trace,
so choose a link on which every poll finds completions.

usage: scripts/trace_to_pattern.py TRACE ID [SKIP_S [LENGTH_S [ROW]]] >FILE
Skips SKIP_S (default 0.3) of the trace and converts LENGTH_S (default 1.5), from the first row with
ROW in its name and `off` as its limit.
Exit codes: 0 ok, 1 the trace is rejected, 2 usage.
"""

import json
import sys


class Rejected(Exception):
    pass


def polls(trace, row_text, skip_ns, length_ns):
    """Returns time and completed bytes of each poll, from the first one after `skip_ns` on."""
    found, in_flight, wanted, seen = [], 0, False, False
    with open(trace) as lines:
        head = next(lines, "").rstrip("\n").split("\t")
        if head[:2] != ["taut-trace", "3"]:
            raise Rejected("not a trace of version 3")
        for number, line in enumerate(lines, 2):
            field = line.rstrip("\n").split("\t")
            if field[0] == "row":
                if wanted:
                    break
                wanted = row_text in field[1] and field[2] == "off"
                seen = seen or wanted
                continue
            if not wanted:
                continue
            at_ns = int(field[0])
            if at_ns > skip_ns + length_ns:
                break
            if field[1] == "sent":
                in_flight += int(field[2])
            elif field[1] == "completed":
                in_flight -= int(field[2])
                if at_ns >= skip_ns:
                    if in_flight <= 0:
                        reason = "the ring ran empty; use a longer ring or more load"
                        raise Rejected(f"line {number}: {reason}")
                    if found and found[-1][0] == at_ns:
                        found[-1][1] += int(field[2])
                    else:
                        found.append([at_ns, int(field[2])])
    if not seen:
        raise Rejected(f"no row with {row_text!r} and the limit off")
    if len(found) < 100:
        raise Rejected(f"only {len(found)} polls in that time; at least 100 are required")
    return found


def convert(trace, name, skip_s=0.3, length_s=1.5, row_text=""):
    """Returns the text of the completion trace."""
    found = polls(trace, row_text, int(float(skip_s) * 1e9), int(float(length_s) * 1e9))
    end_ns = found[-1][0] - found[0][0]
    rate = sum(finished for _, finished in found[1:]) * 1000 / end_ns
    header = {"id": name, "rate_bytes_per_us": round(rate, 4)}
    lines = [json.dumps(header | {"end_ns": end_ns, "warm_ns": end_ns // 4})]
    lines += [f"{at_ns - before_ns} 0" for (before_ns, _), (at_ns, _) in zip(found, found[1:])]
    return "\n".join(lines) + "\n"


def main():
    if not 3 <= len(sys.argv) <= 6:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(convert(*sys.argv[1:]), end="")
    except Rejected as reason:
        print(f"{sys.argv[1]}: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
