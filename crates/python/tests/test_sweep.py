"""Sweeps: output does not depend on the workers, and finished runs are not repeated."""

import os
import random
import subprocess
import tempfile
import unittest
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path

import taut

GRID = {
    "scenario": "rate-change",
    "duration": ["30ms", "60ms"],
    "ring": [64, 128],
    "coalesce": "200us",
}


class OutOfOrder(Executor):
    """Runs nothing until this many parts are submitted, then runs them in another order."""

    def __init__(self, most):
        self.most, self.waiting, self.ran = most, [], 0

    def submit(self, work, /, *arguments):
        future = Future()
        self.waiting.append((future, work, arguments))
        if len(self.waiting) == self.most:
            random.Random(7).shuffle(self.waiting)
            for each, its, own in self.waiting:
                self.ran += 1
                each.set_result(its(*own))
        return future


class Sweeps(unittest.TestCase):
    def test_output_does_not_depend_on_order_or_workers(self):
        here = taut.sweep(GRID, seed=5)
        # Two rules, three phases each.
        self.assertEqual(len(here), 4 * 2 * 3)
        self.assertEqual(here.rows[0]["sweep"], {"duration": "30ms", "ring": "64"})
        self.assertEqual(here.rows[-1]["sweep"], {"duration": "60ms", "ring": "128"})
        self.assertEqual(list(here.table())[:2], ["sweep.duration", "sweep.ring"])
        alone = taut.sweep(GRID, seed=5, jobs=1)
        shuffled = taut.sweep(GRID, seed=5, on=OutOfOrder(4))
        with ProcessPoolExecutor(2) as pool:
            there = taut.sweep(GRID, seed=5, on=pool)
        for other in (alone, shuffled, there):
            self.assertEqual(here.json(), other.json())
            self.assertEqual(here.json_lines(), other.json_lines())

    @unittest.skipUnless(os.environ.get("TAUT_COMMAND"), "TAUT_COMMAND is not the command taut")
    def test_command_has_the_same_output_and_file(self):
        grid = {"scenario": "aperiodic", "warm_up": "5ms", "duration": "20ms",
                "rules": [["dql", "fixed"], ["off"]], "seed": [3, 4]}
        with tempfile.TemporaryDirectory() as folder:
            book, settings = Path(folder) / "runs", Path(folder) / "own.toml"
            settings.write_text('scenario = "aperiodic"\nwarm_up = "5ms"\nduration = "20ms"\n')
            with ProcessPoolExecutor(2) as pool:
                found = taut.sweep(grid, on=pool, resume=book)
            command = [os.environ["TAUT_COMMAND"], "sim", "run", str(settings), "--sweep",
                       'rules=["dql", "fixed"],["off"]', "--sweep", "seed=3,4"]
            options = {"capture_output": True, "text": True, "check": True}
            output = subprocess.run([*command, "--json-lines"], **options)
            self.assertEqual(found.json_lines(), output.stdout)
            kept = book.read_text()
            output = subprocess.run([*command, "-j", "--resume", str(book)], **options)
            self.assertEqual(found.json(), output.stdout)
            self.assertEqual(book.read_text(), kept, "run again")

    def test_finished_runs_are_not_repeated(self):
        with tempfile.TemporaryDirectory() as folder:
            book = Path(folder) / "runs"
            whole = taut.sweep(GRID, resume=book).json()
            kept = book.read_text()
            self.assertEqual(kept.count("\n"), 4)
            # The process ended while the last line was written.
            book.write_text(kept[:-10])
            pool = OutOfOrder(1)
            self.assertEqual(taut.sweep(GRID, resume=book, on=pool).json(), whole)
            self.assertEqual(pool.ran, 1, "the one that was torn")
            self.assertEqual(sorted(book.read_text().splitlines()), sorted(kept.splitlines()))
            calls = []
            on_call = lambda *call: calls.append(call)  # noqa: E731
            taut.sweep(GRID, resume=book, on=OutOfOrder(1), progress=on_call)
            self.assertEqual(calls, [("done", 0, 0)])
            book.write_text("{}\n")
            with self.assertRaisesRegex(OSError, "line 1: not a finished run"):
                taut.sweep(GRID, resume=book)

    def test_seeds_and_lists_are_swept(self):
        found = taut.sweep({"scenario": "aperiodic", "warm_up": "5ms", "duration": "5ms",
                            "rules": [["dql"], ["off"]], "seed": range(2)})
        points = [tuple(row["sweep"].values()) for row in found.rows]
        expected = [(it, seed) for it in ('["dql"]', '["off"]') for seed in "01"]
        self.assertEqual(list(dict.fromkeys(points)), expected)

    def test_invalid_grids_fail_before_the_first_run(self):
        for grid, says in [
            ({"ring": [1]}, "names no scenario"),
            ({**GRID, "ring": ["many"]}, 'ring is "many"'),
            ({**GRID, "ring": []}, "ring has no values"),
            ({**GRID, "seed": ["x"]}, "seed is"),
        ]:
            with self.subTest(says), self.assertRaisesRegex(taut.ScenarioError, says):
                taut.sweep(grid, progress=lambda *_: self.fail("run"))
        with self.assertRaisesRegex(ValueError, 'on is "?\'?mars'):
            taut.sweep(GRID, on="mars")

    def test_worker_error_is_raised(self):
        class Broken(Executor):
            def submit(self, work, /, *arguments):
                future = Future()
                future.set_result('{"run": {}, "rows": []}')
                return future

        with self.assertRaisesRegex(RuntimeError, "another version of taut"):
            taut.sweep(GRID, on=Broken())


if __name__ == "__main__":
    unittest.main()
