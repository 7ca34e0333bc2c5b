#!/usr/bin/env python3
"""Measures TCP streams and ping with flent through a bridge or tunnel, and writes docs/flent.md.

Two hosts in network namespaces, and a bridge between them: the kernel's, or `taut forward`. Each
direction of the bridge has the same TBF with a FIFO of 100 ms. A tunnel is examples/tunnel over the
kernel's bridge, with the TBF on the hosts. scripts/flent.sh installs flent, builds the programs and
starts this file.

usage: scripts/flent.sh [--short | --write] [--length SECONDS] [--out DIR]
  --short  one row of 10 s: ping and 8 uploads through `taut forward`
  --write  writes docs/flent.md and its pictures after all rows
Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
"""

import argparse
import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from page import ROOT, SCRIPTS, TARGET, fill, keep, table
from tunnels.ends import Tunnel, inner
from tunnels.world import MIDDLE, World

TAUT = TARGET / "release" / "taut"
TUNNEL = TARGET / "tunnel" / "release" / "tunnel"
# Download and upload rates in Mbit/s.
RATES = [(20, 5), (100, 20), (1000, 1000)]
LOADS = {"upload": (8, 0), "download": (0, 8), "both": (8, 8)}
# The limits of bridges, and the modes of tunnels.
BRIDGES = {"kernel": None, "dql": "dql", "taut": "taut"}
TUNNELS = {"tunnel": "plain", "tunnel-taut": "taut"}
NAMES = {
    "kernel": "kernel's bridge",
    "dql": "`taut forward`, dql",
    "taut": "`taut forward`, taut",
    "tunnel": "tunnel",
    "tunnel-taut": "tunnel with `taut-tun`",
}
FIFO_MS = 100


def inside(world, side, *command):
    return ["ip", "netns", "exec", world.names[side], *map(str, command)]


def shape(world, side, device, mbit):
    # A bucket of 1 ms of the link, and at least three full frames.
    burst = max(mbit * 125, 4_600)
    rate = ["rate", f"{mbit}mbit", "burst", burst, "latency", f"{FIFO_MS}ms"]
    tc = inside(world, side, "tc", "qdisc", "replace", "dev", device, "root", "tbf", *rate)
    subprocess.run(tc, check=True)


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def bridge(world, limit, log):
    """The kernel's bridge, or `taut forward` with `limit`."""
    middle = world.names[MIDDLE]
    if limit is None:
        world.ip(middle, "link", "add", "dev", "br", "type", "bridge")
        for port in ("veth0", "veth1"):
            world.ip(middle, "link", "set", "dev", port, "master", "br")
        world.ip(middle, "link", "set", "dev", "br", "up")
        yield
        return
    command = [TAUT, "forward", "veth0", "veth1", "--netns", middle, "--limit", limit, "-j"]
    with open(log, "w") as out, subprocess.Popen(command, stdout=out, stderr=out) as forward:
        try:
            yield
        finally:
            stop(forward)
    if forward.returncode:
        sys.exit(f"flent.py: taut forward ended with {forward.returncode}: {log}")


def wait_until_reachable(world, far):
    for _ in range(50):
        ping = inside(world, 0, "ping", "-c", "1", "-W", "1", far)
        if subprocess.run(ping, stdout=subprocess.DEVNULL, check=False).returncode == 0:
            return
        time.sleep(0.1)
    sys.exit(f"flent.py: {far} cannot be reached")


def run_flent(world, addresses, load, title, length, out):
    """The file of flent's results in `out`; `addresses` are those of the near and the far host."""
    near, far = addresses
    up, down = LOADS[load]
    environment = dict(os.environ, FLENT_NEAR=near, FLENT_FAR=world.names[1])
    environment["FLENT_IPERF"] = shutil.which("iperf")
    environment["PATH"] = f"{SCRIPTS / 'flent'}:{os.environ['PATH']}"
    # flent takes the folder and the name of its results from the path of the test.
    shutil.copy(SCRIPTS / "flent" / "streams.conf", out)
    before = set(out.glob("*.flent.gz"))
    command = inside(world, 0, "flent", out / "streams", "-H", far)
    command += ["-l", str(length), "-s", "0.2", "-t", title]
    for key, value in (("upload_streams", up), ("download_streams", down), ("near", near)):
        command += ["--test-parameter", f"{key}={value}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    found = list(set(out.glob("*.flent.gz")) - before)
    if done.returncode or not found:
        sys.exit(f"flent.py: flent failed: {done.stdout}{done.stderr}")
    return found[0]


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else None


def evaluate(file):
    """Ping in ms, goodput in Mbit/s and Jain's index of the streams, without the idle ends."""
    document = json.loads(gzip.open(file).read())
    results, times = document["results"], document["x_values"]
    # flent starts the streams 5 s after the ping, and ends them 5 s before it.
    loaded = [i for i, at in enumerate(times) if 7 <= at <= times[-1] - 6]

    def values(name):
        return [results[name][i] for i in loaded if results[name][i] is not None]

    pings = values("Ping (ms) ICMP")
    row = {"p50_ms": percentile(pings, 0.5), "p99_ms": percentile(pings, 0.99)}
    for way in ("upload", "download"):
        streams = [values(name) for name in results if name.startswith(f"TCP {way}::")]
        means = [sum(stream) / len(stream) for stream in streams if stream]
        if means:
            squares = len(means) * sum(mean * mean for mean in means)
            row[f"{way}_mbit"] = sum(means)
            row[f"{way}_fairness"] = sum(means) ** 2 / squares
    return row


def measure(rates, load, name, length, out):
    down, up = rates
    title = f"{down}/{up} Mbit/s, {load}: {NAMES[name].replace('`', '')}"
    world = World("bridged", None, None)
    try:
        is_tunnel = name in TUNNELS
        shape(world, *((0, "veth0") if is_tunnel else (MIDDLE, "veth1")), up)
        shape(world, *((1, "veth1") if is_tunnel else (MIDDLE, "veth0")), down)
        outer = world.address(0, 1), world.address(1, 0)
        for side in (0, 1):
            world.start(side, ["iperf", "-s"], stdout=subprocess.DEVNULL)
        with bridge(world, BRIDGES.get(name), out / f"{down}-{up}-{load}-{name}.log"):
            wait_until_reachable(world, outer[1])
            if is_tunnel:
                Tunnel(TUNNEL).start(world, TUNNELS[name], None)
            addresses = (inner(0), inner(1)) if is_tunnel else outer
            wait_until_reachable(world, addresses[1])
            file = run_flent(world, addresses, load, title, length, out)
    finally:
        world.close()
    row = {"down": down, "up": up, "load": load, "bridge": name, "file": str(file)}
    return row | evaluate(file)


def text(row):
    goodput = ", ".join(
        f"{way} {row[f'{way}_mbit']:.2f} Mbit/s (fairness {row[f'{way}_fairness']:.2f})"
        for way in ("upload", "download")
        if f"{way}_mbit" in row
    )
    ping = f"ping p50 {row['p50_ms']:.1f} p99 {row['p99_ms']:.1f} ms"
    return f"{row['down']}/{row['up']} {row['load']:<8} {row['bridge']:<11} {ping}, {goodput}"


def results_table(rows):
    columns = ["Mbit/s", "load", "bridge", "ping p50", "p99", "upload", "download", "fairness"]
    lines = []
    for row in rows:
        ways = [way for way in ("upload", "download") if f"{way}_mbit" in row]
        loads = [way for way in LOADS if way != "both"]
        goodput = [f"{row[f'{way}_mbit']:.1f}" if way in ways else "" for way in loads]
        fairness = min(row[f"{way}_fairness"] for way in ways)
        cells = [f"{row['down']}/{row['up']}", row["load"], NAMES[row["bridge"]]]
        cells += [f"{row['p50_ms']:.1f}", f"{row['p99_ms']:.1f}", *goodput, f"{fairness:.2f}"]
        lines.append(cells)
    return table(columns, lines, left=3)


def plot(rows, rates, load, plot_name, file):
    chosen = [row for row in rows if (row["down"], row["up"]) == rates and row["load"] == load]
    files = [row["file"] for row in chosen]
    command = ["flent", "-p", plot_name, "-o", str(file), *files, "--figure-width", "8"]
    command += ["--figure-height", "4", "--no-annotation", "--no-title"]
    command += ["--filter-regexp", "^.*: "]
    # Text as text instead of outlines.
    settings = dict(os.environ, MATPLOTLIBRC=str(SCRIPTS / "flent"))
    subprocess.run(command, env=settings, check=True, stdout=subprocess.DEVNULL)
    file.write_text(slim(file.read_text()))


def slim(picture):
    """An SVG picture of matplotlib without metadata, and with coordinates of one decimal."""
    picture = re.sub(r"<metadata>.*?</metadata>\s*", "", picture, flags=re.S)
    picture = re.sub(r"(\d+\.\d)\d+", r"\1", picture)
    return re.sub(r"\s*\n\s*", "\n", picture)


def write(rows, length, load_average):
    plot(rows, (20, 5), "upload", "ping_cdf", ROOT / "docs" / "flent.svg")
    first = {row["bridge"]: f"{row['p50_ms']:.1f}" for row in rows[: len(NAMES)]}
    values = {
        **{f"{name.upper()}_MS": first[name] for name in NAMES},
        "TABLE": results_table(rows),
        "LENGTH": str(length),
        "FIFO": str(FIFO_MS),
        "LOAD": f"{load_average:.1f}",
        "KERNEL": os.uname().release,
    }
    (ROOT / "docs" / "flent.md").write_text(fill("flent-head.md", values))
    plain = [{key: row[key] for key in row if key != "file"} for row in rows]
    keep("flent.json.gz", plain)


def short(out):
    row = measure((100, 20), "upload", "taut", 10, out)
    # Not the times: they depend on what else the machine does.
    if row["p50_ms"] is None or not row.get("upload_mbit"):
        sys.exit("flent.py: no ping or no stream went through taut forward")
    print(text(row))


def main():
    parser = argparse.ArgumentParser(prog="scripts/flent.sh")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--out", type=pathlib.Path, default=TARGET / "flent")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if options.short:
        short(out)
        return
    load_average = os.getloadavg()[0]
    print(f"load average {load_average:.1f}", flush=True)
    rows = []
    for rates in RATES:
        for load in LOADS:
            for name in NAMES:
                rows.append(measure(rates, load, name, options.length, out))
                print(text(rows[-1]), flush=True)
    (out / "rows.json").write_text(json.dumps(rows, indent=1) + "\n")
    if options.write:
        write(rows, options.length, load_average)


if __name__ == "__main__":
    main()
