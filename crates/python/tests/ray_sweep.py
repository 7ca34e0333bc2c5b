"""Opt-in: a sweep on a local Ray of two workers, of which one is killed in mid-run.

Needs Ray: scripts/python.sh --ray.
"""

import os
import signal
import tempfile
import threading
import time
import unittest
from pathlib import Path

import ray
import taut
from taut import _sweep

GRID = {
    "scenario": "rate-change",
    "duration": "900ms",
    "ring": [64, 128, 256],
    "seed": list(range(1, 9)),
}


def victims():
    """Returns the processes of Ray that currently run a part."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
            parent = int((path.parent / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if b"ray::run_part" in words and parent in RAYLETS:
            found.append(int(path.parent.name))
    return found


RAYLETS = set()


class OnRay(unittest.TestCase):
    def setUp(self):
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            _node_ip_address="127.0.0.1",
        )
        # The raylet of this session is a child of this process: consider only its workers.
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                name, rest = path.read_text().rsplit(")", 1)
            except OSError:
                continue
            if "(raylet" in name and int(rest.split()[1]) == os.getpid():
                RAYLETS.add(int(path.parent.name))
        self.addCleanup(ray.shutdown)

    def test_killed_worker_does_not_change_the_output(self):
        here = taut.sweep(GRID)
        calls, killed = [], []

        def kill():
            end = time.monotonic() + 60
            while not killed and time.monotonic() < end:
                for pid in victims()[:1]:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                time.sleep(0.002)

        thread = threading.Thread(target=kill)
        thread.start()
        with tempfile.TemporaryDirectory() as folder:
            book = Path(folder) / "runs"
            there = taut.sweep(
                GRID, on="ray", resume=book, progress=lambda *call: calls.append(call)
            )
            self.assertEqual(book.read_text().count("\n"), 24)
            again = taut.sweep(GRID, on="ray", resume=book)
        thread.join()
        self.assertEqual(len(killed), 1)
        self.assertTrue(any("its worker died" in what for what, _, _ in calls), calls)
        self.assertEqual(there.json(), here.json())
        self.assertEqual(there.json_lines(), here.json_lines())
        self.assertEqual(again.json(), here.json())
        self.assertEqual(calls[-1][1:], (24, 24))

    def test_run_that_kills_every_worker_ends_the_sweep(self):
        kept = _sweep.run_part
        _sweep.run_part = lambda text, seed: os.kill(os.getpid(), signal.SIGKILL)
        try:
            with self.assertRaisesRegex(RuntimeError, "ended its worker 4 times"):
                taut.sweep({**GRID, "seed": 1, "ring": [64]}, on="ray")
        finally:
            _sweep.run_part = kept


if __name__ == "__main__":
    unittest.main()
