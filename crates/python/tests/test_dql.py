"""The estimator and the limits, against what is recorded of them."""

import gzip
import os
import unittest
from pathlib import Path

import taut

VECTORS = Path(os.environ.get("TAUT_VECTORS", Path(__file__).parents[2] / "dql" / "tests" / "vectors"))


class Vectors(unittest.TestCase):
    def play(self, path):
        """Each line of the recording with what the estimator says after its operation."""
        expected = path.with_suffix(".expected")
        if expected.exists():
            lines = expected.read_text().splitlines()
        else:
            lines = gzip.decompress(path.with_suffix(".expected.gz").read_bytes()).decode().splitlines()
        dql, now_ms = None, 0
        for number, (operation, expected) in enumerate(zip(path.read_text().splitlines(), lines, strict=True), 1):
            word, *values = operation.split()
            refused = False
            try:
                if word == "init":
                    dql = taut.Dql(now_ms * 1_000_000, hold_time_ns=int(values[0]) * 1_000_000)
                elif word == "t":
                    now_ms = int(values[0])
                elif word == "q":
                    dql.queued(int(values[0]))
                elif word == "c":
                    dql.completed(int(values[0]), now_ms * 1_000_000)
                elif word == "r":
                    dql.reset(now_ms * 1_000_000)
                elif word == "set":
                    name, value = values[0], int(values[1])
                    if name == "hold":
                        dql.hold_time_ns = value * 1_000_000
                    else:
                        setattr(dql, name, value)
                else:
                    self.fail(f"{path.name}, line {number}: {operation}")
            except taut.LedgerError:
                refused = True
            if refused or expected == "error":
                found = "error" if refused else "done"
                self.assertEqual(found, expected, f"{path.name}, line {number}: {operation}")
                continue
            it = dql.snapshot()
            names = "limit adj_limit num_queued num_completed room window_start_ns lowest_slack prev_over_limit"
            names += " prev_num_queued prev_last_object last_object"
            it["window_start_ns"] //= 1_000_000
            found = " ".join(str(it[name]) for name in names.split())
            self.assertEqual(found, expected, f"{path.name}, line {number}: {operation}")

    def test_every_recorded_run_is_the_same(self):
        paths = sorted(VECTORS.glob("*.ops"))
        self.assertGreater(len(paths), 10)
        for path in paths:
            with self.subTest(path.name):
                self.play(path)


class Limits(unittest.TestCase):
    def test_every_rule_by_its_words_lets_some_through_and_holds_the_rest_back(self):
        for words in ["dql", "taut", "taut:99.5%", "dql:2ms", "40k", "32p"]:
            with self.subTest(words):
                limit = taut.Limit(words)
                self.assertEqual(limit.words, words)
                size = 1 if limit.unit == "packets" else 1500
                now_ns, sent = 0, 0
                # A device that sends ten packets in 100 us, and tells then.
                for _ in range(200):
                    while limit.has_room:
                        limit.queued(size, now_ns)
                        sent += 1
                    limit.refused()
                    now_ns += 100_000
                    limit.completed(min(limit.in_flight, 10 * size), now_ns)
                self.assertGreaterEqual(sent, 1_000)
                self.assertLess(limit.limit, 100 * size)
        self.assertEqual(taut.Limit("32p").limit, 32)
        self.assertEqual(taut.Limit("off").limit, taut.Dql().max_limit)

    def test_a_mistake_is_refused_with_what_is_allowed_and_changes_nothing(self):
        limit = taut.Limit("40k")
        limit.queued(1500, 0)
        with self.assertRaisesRegex(taut.LedgerError, "only 1500 are in flight"):
            limit.completed(1501, 1)
        self.assertEqual(limit.in_flight, 1500)
        with self.assertRaisesRegex(taut.ScenarioError, "allowed are off, dql, taut"):
            taut.Limit("fast")
        with self.assertRaisesRegex(ValueError, "min_limit must not be above max_limit"):
            taut.Dql(min_limit=2, max_limit=1)
        dql = taut.Dql()
        for units in [-1, 1 << 32]:
            with self.assertRaisesRegex(ValueError, f"{units} is none of the whole numbers 0 to 4294967295"):
                dql.queued(units)
        with self.assertRaises(TypeError):
            dql.queued("1500")
        self.assertEqual(dql.in_flight, 0)

    def test_settings_bound_the_limit(self):
        limit = taut.Limit("dql")
        limit.configure(min_limit=3000)
        limit.queued(100, 0)
        limit.completed(100, 1)
        self.assertEqual(limit.limit, 3000)

    def test_help_says_what_each_method_does(self):
        for kind in [taut.Dql, taut.Limit]:
            for name, method in vars(kind).items():
                if not name.startswith("_") and callable(method):
                    self.assertTrue(method.__doc__, name)


if __name__ == "__main__":
    unittest.main()
