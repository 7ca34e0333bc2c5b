#!/usr/bin/env python3
"""Draws docs/readme.svg from docs/live/rr-under-load.json, a document of
`taut lab rr-under-load -j`: bytes in the ring and request latency, with and without a limit.

usage: scripts/readme_figure.py            writes the picture
       scripts/readme_figure.py --check    fails if docs/readme.svg is stale
Exit codes: 0 ok, 1 another picture, 2 wrong usage.
"""

import sys

from page import ROOT, load

PICTURE = ROOT / "docs/readme.svg"
WIDTH, PANEL, LABELS, TOP, ROW, BAR = 760, 240, 150, 58, 34, 18
COLOURS = {False: "#c2410c", True: "#0369a1"}
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2937}.t{font-weight:600}.n{fill:#6b7280}"
    "@media (prefers-color-scheme:dark){text{fill:#e5e7eb}.n{fill:#9ca3af}}"
)


def kb(value):
    return f"{value / 1e3:,.0f} KB"


def ms(value):
    return f"{value / 1e3:.1f} ms"


def label(row):
    return f"{'dql' if row['bql'] else 'no limit'}, {'TSO' if row['tso'] else 'no TSO'}"


def panel(rows, left, title, values, tail, unit):
    """A bar for the median of each row, and a whisker to `tail`."""
    most = max(row[values][tail] for row in rows)
    scale = (PANEL - 80) / most
    out = [f'<text class="t" x="{left}" y="22">{title}</text>']
    out.append(f'<text class="n" x="{left}" y="40">median, line to {tail}</text>')
    for i, row in enumerate(rows):
        y = TOP + i * ROW
        median, end = (row[values][key] * scale for key in ("p50", tail))
        out.append(
            f'<rect x="{left}" y="{y}" width="{max(median, 1):.1f}" height="{BAR}" '
            f'fill="{COLOURS[row["bql"]]}"/>'
            f'<path d="M{left + median:.1f} {y + BAR / 2}H{left + end:.1f}" stroke="#6b7280"/>'
            f'<text x="{left + end + 6:.1f}" y="{y + 14}">{unit(row[values]["p50"])}</text>'
        )
    return out


def picture(document):
    rows = document["rows"]
    height = TOP + len(rows) * ROW + 6
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>Bytes in the ring and latency of a request, with and without a limit</title>",
        f"<style>{STYLE}</style>",
    ]
    for i, row in enumerate(rows):
        out.append(f'<text x="8" y="{TOP + i * ROW + 14}">{label(row)}</text>')
    out += panel(rows, LABELS, "Bytes in the ring", "inflight_bytes", "p90", kb)
    out += panel(rows, LABELS + PANEL + 60, "Latency of a request", "rr_latency_us", "p99", ms)
    return "\n".join([*out, "</svg>", ""])


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    drawn = picture(load("rr-under-load.json"))
    if sys.argv[1:] and PICTURE.read_text() != drawn:
        print("docs/readme.svg: run scripts/readme_figure.py", file=sys.stderr)
        return 1
    PICTURE.write_text(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
