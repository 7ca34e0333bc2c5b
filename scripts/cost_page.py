#!/usr/bin/env python3
"""Writes the tables of docs/cost.md from docs/cost.json, both for scripts/cost.sh.

usage: scripts/cost_page.py           writes docs/cost.md
       scripts/cost_page.py --check   fails if docs/cost.md or a README has other values
Exit codes: 0 ok, 1 other values, 2 wrong usage.
"""

import json
import re
import sys

from page import ROOT, table

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


def cost_table(rows, columns):
    cells = [[f"{row[name]:g}" for name in ["batch_packets", *columns]] for row in rows]
    return table(["batch", *columns.values()], cells, left=0)


def page(cost):
    text = (ROOT / "docs/cost.md").read_text()
    tables = {
        "estimator": cost_table(cost["estimator"], ESTIMATOR_COLUMNS),
        "path": cost_table(cost["rows"], PATH_COLUMNS),
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


def kept():
    return json.loads((ROOT / "docs/cost.json").read_text())


def write():
    (ROOT / "docs/cost.md").write_text(page(kept()))


def main():
    if sys.argv[1:] == ["--check"]:
        cost = kept()
        wrong = []
        for name, expected in sentences(cost).items():
            text = " ".join((ROOT / name).read_text().split())
            wrong += [f"{name} lacks: {it}" for it in expected if it not in text]
        if page(cost) != (ROOT / "docs/cost.md").read_text():
            wrong.append("docs/cost.md: run scripts/cost_page.py")
        print("\n".join(wrong) or "all pages have the values of docs/cost.json")
        return 1 if wrong else 0
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
