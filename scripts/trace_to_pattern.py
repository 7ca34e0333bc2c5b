#!/usr/bin/env python3
"""Makes a pattern for `taut sim limit-rules --pattern` of a live trace: how fast the device was, and when somebody
looked at what it had finished.

A completion depends on the limit that was held, so the trace must be of a queue without one that was never empty:
anything else is refused. How fast: what was completed from the first look to the last, over that time. A look that
found nothing is not in a trace; choose a link on which each look finds something.

usage: scripts/trace_to_pattern.py TRACE ID [SKIP_S [LENGTH_S [ROW]]] >FILE
SKIP_S (default 0.3) of the trace are left out, LENGTH_S (default 1.5) are taken, of the first row with ROW in its name
and `off` as its limit.
Exit codes: 0 ok, 1 the trace does not tell it, 2 usage.
"""

import json
import sys


class Refused(Exception):
    pass


def looks(trace, row_text, skip_ns, length_ns):
    """When somebody looked, and the bytes that were finished, from the first look after `skip_ns` on."""
    found, in_flight, wanted, seen = [], 0, False, False
    with open(trace) as lines:
        head = next(lines, "").rstrip("\n").split("\t")
        if head[:2] != ["taut-trace", "2"] or any(it.startswith("sampled=") for it in head):
            raise Refused("no trace of version 2 of a queue of ours")
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
                        raise Refused(f"line {number}: it ran dry; give it a longer ring, or a sender that sends more")
                    if found and found[-1][0] == at_ns:
                        found[-1][1] += int(field[2])
                    else:
                        found.append([at_ns, int(field[2])])
    if not seen:
        raise Refused(f"no row with {row_text!r} and the limit off")
    if len(found) < 100:
        raise Refused(f"only {len(found)} looks in the time that was wanted; at least 100 are")
    return found


def main():
    if not 3 <= len(sys.argv) <= 6:
        print(__doc__, file=sys.stderr)
        return 2
    trace, name = sys.argv[1:3]
    skip_s, length_s, row = (sys.argv[3:] + ["0.3", "1.5", ""][len(sys.argv) - 3 :])[:3]
    try:
        found = looks(trace, row, int(float(skip_s) * 1e9), int(float(length_s) * 1e9))
    except Refused as refused:
        print(f"{trace}: {refused}", file=sys.stderr)
        return 1
    end_ns = found[-1][0] - found[0][0]
    rate = sum(finished for _, finished in found[1:]) * 1000 / end_ns
    print(json.dumps({"id": name, "rate_bytes_per_us": round(rate, 4), "end_ns": end_ns, "warm_ns": end_ns // 4}))
    for (before_ns, _), (at_ns, _) in zip(found, found[1:]):
        print(at_ns - before_ns, 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
