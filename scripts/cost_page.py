#!/usr/bin/env python3
"""Writes the tables of docs/cost.md from docs/cost.json, which scripts/cost.sh writes.

usage: scripts/cost_page.py           writes docs/cost.md
       scripts/cost_page.py --check   fails if docs/cost.md or a README has other values
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


def sentences(cost):
    """The sentences of other pages that have values."""
    path = {row["batch_packets"]: row["owned"] for row in cost["rows"]}
    depths = {row["owned"] for row in cost["estimator"]}
    alone = {row["batch_packets"]: row for row in cost["estimator"] if row["depth"] == 0}
    both = {kind: [f"{alone[batch][kind]:g}" for batch in (1, 64)] for kind in ESTIMATOR_COLUMNS}
    return {
        "README.md": [
            f"the whole path takes {path[1]:.0f} instructions per packet, and {path[64]:.0f} in "
            "batches of 64.",
            f"The limit alone takes {' and '.join(both['owned'])}. "
            f"The reference in C takes {' and '.join(both['reference'])}",
        ],
        "book/ten-minutes.md": [f"takes {min(depths):g} to {max(depths):g} instructions"],
        "crates/dql/README.md": [
            f"| 1 | {both['owned'][1]} | {both['owned'][0]} |",
            f"| 2 | {both['shared'][1]} | {both['shared'][0]} |",
        ],
    }


def main():
    cost = json.loads((ROOT / "docs/cost.json").read_text())
    written = page(cost)
    if sys.argv[1:] == ["--check"]:
        wrong = []
        for name, expected in sentences(cost).items():
            text = " ".join((ROOT / name).read_text().split())
            wrong += [f"{name} lacks: {it}" for it in expected if it not in text]
        if written != (ROOT / "docs/cost.md").read_text():
            wrong.append("docs/cost.md: run scripts/cost_page.py")
        print("\n".join(wrong) or "all pages have the values of docs/cost.json")
        return 1 if wrong else 0
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    (ROOT / "docs/cost.md").write_text(written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
