# Draws the figures of the documentation: cells for an editor or a notebook, or a script.
# usage: python figures.py [DIR]    writes SVGs to DIR (default: figures)
# Without matplotlib, the script prints the numbers.

# %%
import sys
from pathlib import Path

import numpy as np
import taut

try:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt
except ImportError:
    plt = None

# A notebook has no arguments of this script.
arguments = [] if "ipykernel" in sys.modules else sys.argv[1:]
folder = Path(arguments[0] if arguments else "figures")
folder.mkdir(parents=True, exist_ok=True)


def figure(name, title, x, y, lines, log=(), steps=False):
    """Draws lines of (name, x values, y values), or prints their first and last points."""
    for line, xs, _ in lines:
        assert np.all(np.diff(xs) >= 0), f"{title}: {line} is several lines"
    if plt is None:
        print(f"{title}: {y} over {x}")
        for line, xs, ys in lines:
            ends = f"from ({xs[0]:g}, {ys[0]:g}) to ({xs[-1]:g}, {ys[-1]:g})"
            print(f"  {line}: {len(xs)} points, {ends}")
        return
    drawing, axes = plt.subplots(figsize=(6, 4))
    for line, xs, ys in lines:
        axes.plot(xs, ys, label=line, drawstyle="steps-post" if steps else "default")
    axes.set(title=title, xlabel=x, ylabel=y)
    if "x" in log:
        axes.set_xscale("log")
    if "y" in log:
        axes.set_yscale("log")
    axes.legend()
    drawing.savefig(folder / f"{name}.svg")
    plt.close(drawing)
    print(f"wrote {folder / name}.svg")


# %% [markdown]
# The published experiment: request/response under bulk load, with and without a byte limit.

# %%
streams = [1, 2, 5, 10, 20]
found = taut.sweep(
    {
        "scenario": "rr-under-load",
        "streams": streams,
        "warm_up": "500ms",
        "duration": "1s",
        "limits": [["dql", "taut"]],
    },
    progress=True,
)
table = found.table()
# One row for each limit and number of streams.
large = table["tso"].astype(bool) & (table["late_segmentation"] == "off")
lines = []
for limit in ["off", "dql", "taut"]:
    rows = large & (table["limit"] == limit)
    latency_ms = table["rr_latency_us.p50"][rows] / 1000
    lines.append((limit, table["sweep.streams"][rows].astype(int), latency_ms))
title = "Request/response under load, 1 Gbit/s"
figure("rr-under-load", title, "bulk streams", "median latency, ms", lines, log="y")

# %% [markdown]
# Required in-flight of each interval, and the limits of the rules (docs/limit-rules.svg).

# %%
found = taut.rules("p02", ["fixed", "dql", "taut"], seed=1)
lines = [
    (it.row.partition(": ")[2], it.time_ns / 1e9, it.value / 1000)
    for it in found.series
    if len(it.value)
]
figure("limit-rules", "Exponential gaps", "s", "kB", lines, steps=True)
for row in found.rows:
    queue, busy = row["ratio"], row["utilisation"]
    print(f"  {row['rule']:<6} queue {queue:.2f} of the smallest sufficient, link busy {busy:.2%}")

# %% [markdown]
# The limit over time, from the first packet on.

# %%
found = taut.simulate("limit-over-time", duration="1s")
lines = [
    (it.row, np.maximum(it.time_ns, 1) / 1e6, it.value / 1000)
    for it in found.series
    if it.name == "limit" and "ramp-up" in it.row
]
figure("limit-over-time", "The limit from the start", "ms", "kB", lines, log="x", steps=True)

# %% [markdown]
# Late segmentation of GSO packets.

# %%
found = taut.simulate(
    "late-segmentation",
    streams=20,
    warm_up="500ms",
    duration="1s",
    limits=["taut"],
    late_segmentation=["off", "auto"],
)
rows = [row for row in found.rows if row["tso"]]
lines = []
for split in sorted({row["late_segmentation"] for row in rows}):
    those = [row for row in rows if row["late_segmentation"] == split]
    rates = [row["sweep"]["rate"] for row in those]
    mbit = [float(rate.replace("gbit", "e3").replace("mbit", "")) for rate in rates]
    lines.append((f"chunks: {split}", mbit, [row["rr_tps"] for row in those]))
figure("late-segmentation", "Requests per second", "Mbit/s", "requests/s", lines, log="xy")
