#!/usr/bin/env python3
"""Writes the tables of docs/cost.md from docs/cost.json, which scripts/cost.sh writes.

usage: scripts/cost_page.py           writes docs/cost.md
       scripts/cost_page.py --check   fails if docs/cost.md or README.md has other values
Exit codes: 0 ok, 1 other values, 2 wrong usage.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATH_COLUMNS = {
    "off": "`off`",
    "fixed": "`fixed`",
    "owned": "`dql`",
    "any": "by name",
    "shared": "two threads",
    "ring": "ring",
    "bare": "rtrb",
}
ESTIMATOR_COLUMNS = {
    "depth": "depth",
    "owned": "one thread",
    "shared": "two threads",
    "reference": "C reference",
}


def table(rows, columns):
    lines = ["| batch | " + " | ".join(columns.values()) + " |", "|--:" * (len(columns) + 1) + "|"]
    for row in rows:
        cells = [f"{row[name]:g}" for name in ["batch_packets", *columns]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def page(cost):
    text = (ROOT / "docs/cost.md").read_text()
    tables = {
        "estimator": table(cost["estimator"], ESTIMATOR_COLUMNS),
        "path": table(cost["rows"], PATH_COLUMNS),
    }
    for name, content in tables.items():
        begin = f"<!-- cost of the {name}: written by .* -->"
        end = f"<!-- cost of the {name}: end -->"
        text = re.sub(f"({begin})\n.*?({end})", rf"\1\n\n{content}\n\n\2", text, flags=re.S)
    return text


def readme_sentences(cost):
    """The sentences of README.md that have figures."""
    path = {row["batch_packets"]: row["owned"] for row in cost["rows"]}
    alone = {row["batch_packets"]: row for row in cost["estimator"] if row["depth"] == 0}
    return [
        f"the whole path takes {path[1]:.0f} instructions for a packet without batches, and "
        f"{path[64]:.0f} in batches of 64.",
        f"The limit alone takes {alone[1]['owned']:.0f} and {alone[64]['owned']:.0f}; "
        f"the C implementation takes {alone[1]['reference']:g} and {alone[64]['reference']:g}.",
    ]


def main():
    cost = json.loads((ROOT / "docs/cost.json").read_text())
    written = page(cost)
    if sys.argv[1:] == ["--check"]:
        readme = " ".join((ROOT / "README.md").read_text().split())
        wrong = [f"README.md lacks: {it}" for it in readme_sentences(cost) if it not in readme]
        if written != (ROOT / "docs/cost.md").read_text():
            wrong.append("docs/cost.md: run scripts/cost_page.py")
        print("\n".join(wrong) or "docs/cost.md and README.md have the values of docs/cost.json")
        return 1 if wrong else 0
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    (ROOT / "docs/cost.md").write_text(written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
