"""Scenarios, traces and rules, as a user runs them."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy as np
import taut

SHORT = {"streams": 2, "warm_up": "200ms", "duration": "500ms", "rows": "limit=on,tso=off"}


class Simulate(unittest.TestCase):
    def test_scenario_has_rows_series_and_table(self):
        found = taut.simulate("rr-under-load", seed=3, limit=["dql", "40k"], **SHORT)
        self.assertEqual((found.scenario, found.seed), ("rr-under-load", 3))
        self.assertEqual(found.parameters["limits"], ["dql", "40k"])
        self.assertEqual([row["limit"] for row in found.rows], ["dql", "40k"])
        table = found.table()
        self.assertEqual(table["inflight_bytes.p90"].dtype, np.int64)
        expected = [row["inflight_bytes"]["p90"] for row in found.rows]
        self.assertEqual(list(table["inflight_bytes.p90"]), expected)
        self.assertEqual(table["limit"].dtype, object)
        self.assertEqual(table["rr_tps"].dtype, np.float64)
        self.assertEqual({len(column) for column in table.values()}, {2})

    def test_output_depends_only_on_the_seed(self):
        runs = [
            taut.simulate("rr-under-load", jobs=jobs, seed=1, **SHORT).json() for jobs in (1, 4)
        ]
        self.assertEqual(runs[0], runs[1])
        # A scenario with random input.
        runs = [
            taut.simulate("aperiodic", seed=seed, warm_up="10ms", duration="20ms")
            for seed in (1, 2)
        ]
        self.assertNotEqual(runs[0].rows, runs[1].rows)

    def test_file_text_and_settings_are_equivalent(self):
        text = 'scenario = "rate-change"\nduration = "30ms"\nring = 64\n'
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "own.toml"
            path.write_text(text)
            runs = [taut.simulate(it) for it in (path, str(path), text)]
        runs.append(taut.simulate("rate-change", duration="30ms", ring=64))
        self.assertEqual(len({run.json() for run in runs}), 1)

    def test_series_are_arrays_over_time(self):
        series = taut.simulate("limit-over-time", duration="50ms").series
        self.assertGreater(len(series), 0)
        for it in series:
            self.assertEqual((it.time_ns.dtype, it.value.dtype), (np.uint64, np.float64))
            self.assertEqual(len(it.time_ns), len(it.value))
            self.assertTrue((np.diff(it.time_ns.astype(np.int64)) >= 0).all(), it)

    def test_errors_state_the_allowed_values(self):
        for arguments, settings, says in [
            (["rr-under-lod"], {}, "no scenario 'rr-under-lod'; there are: rr-under-load, "),
            (["rate-change"], {"rnig": 64}, 'no setting "rnig"; there are: coalesce, '),
            (["rate-change"], {"ring": "many"}, 'ring is "many"'),
            (["rate-change"], {"ring": 0}, "ring"),
            (["rate-change"], {"ring": -1}, 'ring is "-1": invalid value'),
            (["rr-under-load"], {"streams": float("nan")}, 'streams is "nan": invalid type'),
            (["limit-rules"], {"rules": ["dql", "dql"]}, "rules has dql twice"),
            (["/dev/zero"], {}, "/dev/zero is longer than"),
            (['scenario = "rate-change"\n\nrates = 1\n'], {}, "line 3"),
        ]:
            with self.subTest(says), self.assertRaisesRegex(taut.ScenarioError, says):
                taut.simulate(*arguments, **settings)
        with self.assertRaises(FileNotFoundError):
            taut.simulate("/nowhere/at-all.toml")
        with self.assertRaisesRegex(TypeError, "allowed: text, numbers, bools, paths"):
            taut.simulate("rate-change", ring={})
        with self.assertRaisesRegex(ValueError, "jobs is 0; allowed: 1 to 1024"):
            taut.simulate("rate-change", jobs=0)
        # A number would be an open descriptor: standard output.
        with self.assertRaises(TypeError):
            taut.simulate(1)
        os.fstat(1)
        with self.assertRaisesRegex(ValueError, "the value is -1; allowed: whole numbers"):
            taut.simulate("rate-change", seed=-1)

    def test_progress_is_called_for_each_case(self):
        calls = []
        taut.simulate("rate-change", duration="30ms", progress=lambda *call: calls.append(call))
        what, done, cases = calls[-1]
        self.assertEqual((what, done), ("done", cases))
        self.assertEqual(len(calls), cases + 1)

        def fail(*_):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            taut.simulate("rate-change", duration="30ms", progress=fail)
        with self.assertRaisesRegex(TypeError, "progress is 7"):
            taut.simulate("rate-change", progress=7)

    def test_every_scenario_has_file_and_description(self):
        self.assertGreater(len(taut.scenarios()), 10)
        for name, about in taut.scenarios().items():
            self.assertIn(f'scenario = "{name}"', taut.scenario_file(name))
            self.assertTrue(about)


class Threads(unittest.TestCase):
    def test_other_threads_continue_to_run(self):
        count, over = [0], threading.Event()

        def counting():
            while not over.is_set():
                count[0] += 1
                time.sleep(0)

        thread = threading.Thread(target=counting)
        thread.start()
        before = []
        taut.simulate("rr-under-load", streams=20, progress=lambda *_: before.append(count[0]))
        over.set()
        thread.join()
        # Also between two cases.
        self.assertGreater(before[-1] - before[0], 100)

    def test_ctrl_c_ends_a_long_run(self):
        # Hours long, so that only the interrupt ends it.
        program = (
            "import taut, sys\n"
            "def begun(what, done, all): print('begun', flush=True)\n"
            "try: taut.simulate('rr-under-load', duration='3600s', progress=begun)\n"
            "except KeyboardInterrupt: print('interrupted', flush=True); sys.exit(9)\n"
        )
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(child.stdout.readline(), "begun\n")
            child.send_signal(signal.SIGINT)
            rest, _ = child.communicate(timeout=60)
        finally:
            child.kill()
            child.wait()
        self.assertTrue(rest.endswith("interrupted\n"), rest)
        self.assertEqual(child.returncode, 9)


class Traces(unittest.TestCase):
    def test_trace_is_replayed_under_other_limits(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace")
            length = taut.trace("rr-under-load", path, row="TSO off", limit=["dql"], **SHORT)
            self.assertEqual(length, os.path.getsize(path))
            self.assertEqual(os.listdir(folder), ["trace"])
            found = taut.replay(path, ["off", "dql", "dql every 1ms"])
            with self.assertRaisesRegex(taut.ScenarioError, "there are: "):
                taut.replay(path, row="nowhere")
            with self.assertRaisesRegex(taut.ScenarioError, "limit cannot be"):
                taut.replay(path, "fast")
            with self.assertRaisesRegex(taut.ScenarioError, "ring is 0; allowed: 1 to"):
                taut.replay(path, ring=0)
        self.assertEqual([row["rule"] for row in found.rows], ["off", "dql", "dql every 1ms"])
        mean = [row["in_flight_bytes"]["mean"] for row in found.rows]
        self.assertGreater(mean[0], 2 * mean[1])
        self.assertTrue(any("Open-loop" in note for note in found.notes))

    def test_trace_without_rows_leaves_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(taut.ScenarioError, "there are"):
                taut.trace("rr-under-load", os.path.join(folder, "trace"), row="nowhere")
            with self.assertRaises(OSError):
                taut.trace("rate-change", os.path.join(folder, "no", "trace"), duration="30ms")
            self.assertEqual(os.listdir(folder), [])


class Rules(unittest.TestCase):
    def test_rules_are_compared_on_built_in_traces(self):
        found = taut.rules("p01", ["fixed", "dql", "taut"])
        self.assertEqual([row["rule"] for row in found.rows], ["fixed", "dql", "taut"])
        self.assertEqual(found.rows[0]["ratio"], 1.0)
        with self.assertRaisesRegex(taut.ScenarioError, "no pattern 'x'; there are: p01"):
            taut.rules("x")

    def test_arrays_are_equivalent_to_a_trace_file(self):
        count = 3000
        gaps = np.full(count, 100_000)
        head = {"id": "mine", "rate_bytes_per_us": 125.0, "end_ns": count * 100_000}
        pattern = {**head, "gap_ns": gaps, "delay_ns": np.zeros(count, int)}
        found = taut.rules(pattern, ["fixed", "dql"])
        self.assertEqual(found.rows[0]["pattern"], "mine")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "own"
            first = '{"id": "mine", "rate_bytes_per_us": 125.0, "end_ns": 300000000}'
            lines = [first] + ["100000 0"] * count
            path.write_text("\n".join(lines) + "\n")
            self.assertEqual(taut.rules(path, ["fixed", "dql"]).rows, found.rows)
        with self.assertRaisesRegex(taut.ScenarioError, "gap_ns has 2 values and delay_ns 1"):
            taut.rules({**head, "gap_ns": [1, 2], "delay_ns": [1]})


if __name__ == "__main__":
    unittest.main()
