#!/usr/bin/env python3
"""Reads generated unusual captures with the reader of `taut send`, and with capinfos.

The generator states the packets of each file (crates/relay/src/source/capture/unusual.rs). The test
compares them with the reader, byte for byte. capinfos (of tshark) then counts the packets of each
file that it accepts.

Usage: scripts/unusual_captures.py [FILES]    [default: 10000]
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BATCH_FILES = 200


def counted(folder, names):
    """Returns the packets of each file that capinfos reads to its end."""
    command = ["capinfos", "-c", "-M", "-T", "-r", *names]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    rows = (line.split("\t") for line in run.stdout.splitlines())
    packets = {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
    # A file that is broken further on has a row too, and a message.
    broken = set(re.findall(r'"(\d+)"', run.stderr))
    return {name: count for name, count in packets.items() if name not in broken}


def main():
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "TAUT_UNUSUAL_CAPTURES": str(files),
            "TAUT_UNUSUAL_FOLDER": folder,
        }
        test = "unusual_captures_have_the_stated_packets"
        command = ["cargo", "test", "-p", "taut-relay", "--lib", test, "--", "--nocapture"]
        subprocess.run(command, env=environment, check=True)
        if not shutil.which("capinfos"):
            print("skipped: capinfos is not installed")
            return 0
        rows = (line.split() for line in Path(folder, "index").read_text().splitlines())
        stated = {name: (int(packets), broken == "true") for name, packets, broken in rows}
        names, accepted, different = list(stated), 0, []
        for at in range(0, files, BATCH_FILES):
            for name, packets in counted(folder, names[at : at + BATCH_FILES]).items():
                accepted += 1
                if (packets, False) != stated[name]:
                    different.append((name, packets, stated[name]))
        print(f"capinfos accepts {accepted} files; {len(different)} differ: {different[:20]}")
        return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
