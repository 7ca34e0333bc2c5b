"""Sweeps: the same bytes whoever runs them, and nothing is run twice that was finished."""

import os
import random
import subprocess
import tempfile
import unittest
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path

import taut

GRID = {"scenario": "rate-change", "duration": ["30ms", "60ms"], "ring": [64, 128], "cadence": "200us"}


class OutOfOrder(Executor):
    """Runs nothing until all of so many are given, and then in an order of its own."""

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
    def test_the_bytes_are_the_same_in_any_order_on_any_number_of_workers(self):
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
    def test_the_command_has_the_same_bytes_and_reads_the_same_file(self):
        grid = {"scenario": "aperiodic", "warm_up": "5ms", "duration": "20ms",
                "rules": [["dql", "fixed"], ["off"]], "seed": [3, 4]}
        with tempfile.TemporaryDirectory() as folder:
            book, settings = Path(folder) / "runs", Path(folder) / "own.toml"
            settings.write_text('scenario = "aperiodic"\nwarm_up = "5ms"\nduration = "20ms"\n')
            with ProcessPoolExecutor(2) as pool:
                found = taut.sweep(grid, on=pool, resume=book)
            command = [os.environ["TAUT_COMMAND"], "sim", "run", str(settings), "--sweep",
                       'rules=["dql", "fixed"],["off"]', "--sweep", "seed=3,4"]
            told = subprocess.run([*command, "--json-lines"], capture_output=True, text=True, check=True)
            self.assertEqual(found.json_lines(), told.stdout)
            kept = book.read_text()
            told = subprocess.run([*command, "-j", "--resume", str(book)], capture_output=True, text=True, check=True)
            self.assertEqual(found.json(), told.stdout)
            self.assertEqual(book.read_text(), kept, "run again")

    def test_what_is_finished_is_not_run_again_wherever_it_was(self):
        with tempfile.TemporaryDirectory() as folder:
            book = Path(folder) / "runs"
            whole = taut.sweep(GRID, resume=book).json()
            kept = book.read_text()
            self.assertEqual(kept.count("\n"), 4)
            # The last was being written when the process ended.
            book.write_text(kept[:-10])
            pool = OutOfOrder(1)
            self.assertEqual(taut.sweep(GRID, resume=book, on=pool).json(), whole)
            self.assertEqual(pool.ran, 1, "the one that was torn")
            self.assertEqual(sorted(book.read_text().splitlines()), sorted(kept.splitlines()))
            heard = []
            taut.sweep(GRID, resume=book, on=OutOfOrder(1), progress=lambda *news: heard.append(news))
            self.assertEqual(heard, [("done", 0, 0)])
            book.write_text("{}\n")
            with self.assertRaisesRegex(OSError, "line 1: not a finished run"):
                taut.sweep(GRID, resume=book)

    def test_seeds_are_swept_and_a_list_of_lists_is_values_that_are_lists(self):
        found = taut.sweep({"scenario": "aperiodic", "warm_up": "5ms", "duration": "5ms",
                            "rules": [["dql"], ["off"]], "seed": range(2)})
        points = [tuple(row["sweep"].values()) for row in found.rows]
        self.assertEqual(list(dict.fromkeys(points)), [(it, seed) for it in ('["dql"]', '["off"]') for seed in "01"])

    def test_what_cannot_be_is_said_before_anything_is_run(self):
        for grid, says in [
            ({"ring": [1]}, "names no scenario"),
            ({**GRID, "ring": ["many"]}, "invalid ring"),
            ({**GRID, "ring": []}, "ring has no values"),
            ({**GRID, "seed": ["x"]}, "seed is"),
        ]:
            with self.subTest(says), self.assertRaisesRegex(taut.ScenarioError, says):
                taut.sweep(grid, progress=lambda *_: self.fail("run"))
        with self.assertRaisesRegex(ValueError, 'on is "?\'?mars'):
            taut.sweep(GRID, on="mars")

    def test_an_error_of_a_worker_is_raised_here(self):
        class Broken(Executor):
            def submit(self, work, /, *arguments):
                future = Future()
                future.set_result('{"run": {}, "rows": []}')
                return future

        with self.assertRaisesRegex(RuntimeError, "another version of taut"):
            taut.sweep(GRID, on=Broken())


if __name__ == "__main__":
    unittest.main()
