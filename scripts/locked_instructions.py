#!/usr/bin/env python3
"""Counts the fences and locked instructions that a program executed.

usage: objdump -d PROGRAM | scripts/locked_instructions.py CALLGRIND_OUT

A count of instructions does not weigh them. CALLGRIND_OUT is a file of callgrind with
--dump-instr=yes. Prints their total number.
"""

import re
import sys

# An address, a tab, the bytes of the instruction if they are shown, and its text.
INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\t(?:.*\t)?(.*)")
# Of x86 and of arm64. An exchange with memory is locked implicitly.
LOCKED = re.compile(r"mfence|dmb|xchg.*\(|.*\block\b")


def locked(disassembly):
    found = map(INSTRUCTION.match, disassembly)
    return {int(it[1], 16) for it in found if it and LOCKED.match(it[2])}


def executed(callgrind, addresses):
    """Addresses are absolute, relative to the previous line, or the same (`*`). The line after
    `calls=` has the cost of the call, which counts for the callee."""
    address, total, is_call = 0, 0, False
    for line in callgrind:
        words = line.split()
        if words and words[0][0] in "0+-*":
            first = words[0]
            if first[0] == "0":
                address = int(first, 0)
            elif first[0] != "*":
                address += int(first, 0)
            if not is_call and address in addresses:
                total += int(words[-1])
        is_call = line.startswith("calls=")
    return total


if len(sys.argv) != 2:
    sys.exit(__doc__)
with open(sys.argv[1], encoding="utf-8") as callgrind:
    print(executed(callgrind, locked(sys.stdin)))
