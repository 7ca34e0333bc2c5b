#!/usr/bin/env python3
"""Measures tunnels between two network namespaces, with and without taut. Needs root, ip and tc.

usage: scripts/programs.py [--rows PATTERN] [--runs N] [--seconds S]   table, all rows by default
       scripts/programs.py --check            short rows of the example tunnel, with acceptance
       --program NAME=PATH    an executable: tunnel or gotatun (repeatable)
Exit codes: 0 ok, 1 a target was missed, 2 wrong usage, 77 no privilege.

Each run creates two namespaces of its own, a link that a token bucket shapes, and one end of the
tunnel in each. TCP streams fill the tunnel, and a UDP request of 100 bytes is echoed every 10 ms.
"""

import argparse
import ctypes
import fnmatch
import os
import socket
import statistics
import subprocess
import sys
import threading
import time

INNER = ("10.10.0.1", "10.10.0.2")
OUTER = ("10.9.0.1", "10.9.0.2")
# name: (bit/s or None, queue in bytes, streams)
ROWS = {
    "20mbit-1mb": (20_000_000, 1 << 20, 8),
    "20mbit-10mb": (20_000_000, 10 << 20, 8),
    "100mbit-1mb": (100_000_000, 1 << 20, 8),
    "100mbit-10mb": (100_000_000, 10 << 20, 8),
    "unthrottled-1": (None, 0, 1),
    "unthrottled-8": (None, 0, 8),
}
WARM_UP_S = 2
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class World:
    """Two namespaces with a shaped link, removed at the end."""

    def __init__(self, rate, queue_bytes):
        self.names = [f"tun{os.getpid()}{side}" for side in "ab"]
        self.children = []
        for name in self.names:
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "link", "add", "veth0", "netns", self.names[0], "type", "veth",
            "peer", "name", "veth0", "netns", self.names[1])
        for name, address in zip(self.names, OUTER):
            run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "veth0")
            run("ip", "-n", name, "link", "set", "veth0", "up")
        if rate:
            run("tc", "-n", self.names[0], "qdisc", "replace", "dev", "veth0", "root", "tbf",
                "rate", str(rate), "burst", "10000", "limit", str(queue_bytes))

    def start(self, side, command):
        child = subprocess.Popen(["ip", "netns", "exec", self.names[side], *command])
        self.children.append(child)
        return child

    def wait_for_tunnel(self):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if any(child.poll() is not None for child in self.children):
                raise SystemExit("an end of the tunnel stopped")
            shown = [subprocess.run(["ip", "-n", name, "-br", "address"], capture_output=True,
                                    text=True, check=True).stdout for name in self.names]
            if all(inner in text for inner, text in zip(INNER, shown)):
                return
            time.sleep(0.05)
        raise SystemExit("the tunnel did not appear")

    def socket(self, side, kind):
        """Creates a socket in a namespace: a thread moves there and ends."""
        made = []

        def enter():
            with open(f"/run/netns/{self.names[side]}", "rb") as namespace:
                # `os.setns` needs Python 3.12.
                if LIBC.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            made.append(socket.socket(socket.AF_INET, kind))

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        return made[0]

    def close(self):
        for child in self.children:
            child.kill()
            child.wait()
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def processor_seconds(pid):
    """Returns the time of all threads. Ticks of the clock would be too coarse."""
    threads = f"/proc/{pid}/task"
    total_ns = 0
    for thread in os.listdir(threads):
        with open(f"{threads}/{thread}/schedstat", encoding="utf-8") as times:
            total_ns += int(times.read().split()[0])
    return total_ns * 1e-9


class Load:
    """TCP streams from one side to the other, and requests beside them."""

    def __init__(self, world, streams):
        self.stopped, self.received, self.threads = False, 0, []
        self.lock = threading.Lock()
        listener = world.socket(1, socket.SOCK_STREAM)
        listener.bind((INNER[1], 9))
        listener.listen(64)
        for _ in range(streams):
            client = world.socket(0, socket.SOCK_STREAM)
            client.connect((INNER[1], 9))
            server, _ = listener.accept()
            self.thread(self.send, client)
            self.thread(self.receive, server)
        listener.close()
        echo = world.socket(1, socket.SOCK_DGRAM)
        echo.bind((INNER[1], 7))
        self.thread(self.echo, echo)
        self.client = world.socket(0, socket.SOCK_DGRAM)
        self.client.connect((INNER[1], 7))

    def thread(self, work, of):
        of.settimeout(0.5)
        thread = threading.Thread(target=work, args=(of,), daemon=True)
        thread.start()
        self.threads.append(thread)

    def send(self, stream):
        data = bytes(1 << 16)
        while not self.stopped:
            try:
                stream.send(data)
            except TimeoutError:
                pass
            except OSError:
                return  # The receiver stopped first.

    def receive(self, stream):
        into = bytearray(1 << 18)
        while not self.stopped:
            try:
                count = stream.recv_into(into)
                with self.lock:  # `+=` of two threads can lose one of them.
                    self.received += count
            except TimeoutError:
                pass

    def echo(self, server):
        while not self.stopped:
            try:
                data, peer = server.recvfrom(200)
                server.sendto(data, peer)
            except TimeoutError:
                pass

    def requests(self, seconds):
        """Returns the times of requests in ms. One that is not answered in 3 s counts as that."""
        sent, times, end = {}, {}, time.monotonic() + seconds
        number, due = 0, time.monotonic()
        while time.monotonic() < end or (len(times) < len(sent) and time.monotonic() < end + 3):
            now = time.monotonic()
            if due <= now < end:
                sent[number] = now
                self.client.send(number.to_bytes(4, "big") + bytes(96))
                number, due = number + 1, due + 0.01
            self.client.settimeout(max(0.001, due - time.monotonic()) if now < end else 0.1)
            try:
                answer = int.from_bytes(self.client.recv(200)[:4], "big")
                times.setdefault(answer, (time.monotonic() - sent[answer]) * 1e3)
            except TimeoutError:
                pass
        return [times.get(number, 3000.0) for number in sent]

    def close(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def measure(program, path, mode, row, seconds):
    rate, queue_bytes, streams = ROWS[row]
    world = World(rate, queue_bytes)
    try:
        ends = [world.start(side, [path, mode, INNER[side], f"{OUTER[side]}:5000",
                                   f"{OUTER[1 - side]}:5000"]) for side in (0, 1)]
        world.wait_for_tunnel()
        load = Load(world, streams)
        time.sleep(WARM_UP_S)
        cpu, received, since = processor_seconds(ends[0].pid), load.received, time.monotonic()
        times = load.requests(seconds)
        took = time.monotonic() - since
        received = load.received - received
        cpu = processor_seconds(ends[0].pid) - cpu
        load.close()
    finally:
        world.close()
    return {
        "mbit": received * 8e-6 / took,
        "p50": quantile(times, 0.5),
        "p99": quantile(times, 0.99),
        "cpu_ns_a_byte": cpu * 1e9 / max(received, 1),
    }


def compare(program, path, row, modes, runs, seconds):
    """Alternates the modes, and returns the median of each value."""
    results = {mode: [] for mode in modes}
    for _ in range(runs):
        for mode in modes:
            results[mode].append(measure(program, path, mode, row, seconds))
    medians = {}
    for mode, values in results.items():
        medians[mode] = {key: statistics.median(it[key] for it in values) for key in values[0]}
        print(f"{program:<8} {row:<14} {mode:<6}" + "".join(
            f" {key} {value:9.2f}" for key, value in medians[mode].items())
            + f"  load {os.getloadavg()[0]:.1f}", flush=True)
    return medians


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", default="*")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--modes", default="plain,taut")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--program", action="append", default=[], metavar="NAME=PATH")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("skipped: network namespaces need root", file=sys.stderr)
        return 77
    programs = dict(program.split("=", 1) for program in options.program)
    if not programs:
        parser.error("no --program")
    rows = [row for row in ROWS if fnmatch.fnmatch(row, options.rows)]
    if options.check:
        rows, options.runs, options.seconds = ["20mbit-1mb"], 1, 3
    missed = 0
    for program, path in programs.items():
        for row in rows:
            modes = options.modes.split(",")
            medians = compare(program, path, row, modes, options.runs, options.seconds)
            if options.check:
                plain, taut = medians["plain"], medians["taut"]
                # The load of the machine must not fail this: the targets are a tenth of the usual.
                met = taut["p50"] * 4 < plain["p50"] and taut["mbit"] > 0.8 * plain["mbit"]
                missed += not met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
