"""The estimator and the limits, compared with recordings."""

import gzip
import os
import unittest
from pathlib import Path

import taut

DEFAULT_VECTORS = Path(__file__).parents[2] / "dql" / "tests" / "vectors"
VECTORS = Path(os.environ.get("TAUT_VECTORS", DEFAULT_VECTORS))


def lines(name):
    """The lines of a file of a vector. Those of a large vector are compressed."""
    path = VECTORS / name
    packed = VECTORS / f"{name}.gz"
    text = path.read_text() if path.exists() else gzip.decompress(packed.read_bytes()).decode()
    return text.splitlines()


class Vectors(unittest.TestCase):
    def play(self, vector):
        """Compares the state of the estimator after each operation with the recorded one."""
        dql, now_ms = None, 0
        pairs = zip(lines(f"{vector}.ops"), lines(f"{vector}.expected"), strict=True)
        for number, (operation, expected) in enumerate(pairs, 1):
            word, *values = operation.split()
            rejected = False
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
                    self.fail(f"{vector}, line {number}: {operation}")
            except taut.LedgerError:
                rejected = True
            if rejected or expected == "error":
                found = "error" if rejected else "done"
                self.assertEqual(found, expected, f"{vector}, line {number}: {operation}")
                continue
            it = dql.snapshot()
            names = "limit adj_limit num_queued num_completed room window_start_ns lowest_slack"
            names += " prev_over_limit"
            names += " prev_num_queued prev_last_object last_object"
            it["window_start_ns"] //= 1_000_000
            found = " ".join(str(it[name]) for name in names.split())
            self.assertEqual(found, expected, f"{vector}, line {number}: {operation}")

    def test_recorded_runs_are_reproduced(self):
        vectors = sorted(path.name.partition(".")[0] for path in VECTORS.glob("*.ops*"))
        self.assertGreater(len(vectors), 10)
        for vector in vectors:
            with self.subTest(vector):
                self.play(vector)


class Limits(unittest.TestCase):
    def test_every_rule_limits_the_units_in_flight(self):
        for spec in ["dql", "taut", "taut:99.5%", "dql:2ms", "40k", "32p"]:
            with self.subTest(spec):
                limit = taut.Limit(spec)
                self.assertEqual(limit.spec, spec)
                size = 1 if limit.unit == "packets" else 1500
                now_ns, sent = 0, 0
                # The device sends ten packets in 100 us, then reports them.
                for _ in range(200):
                    while limit.has_room:
                        limit.queued(size, now_ns)
                        sent += 1
                    limit.blocked()
                    now_ns += 100_000
                    limit.completed(min(limit.in_flight, 10 * size), now_ns)
                self.assertGreaterEqual(sent, 1_000)
                self.assertLess(limit.limit, 100 * size)
        self.assertEqual(taut.Limit("32p").limit, 32)

    def test_invalid_calls_are_rejected_without_effect(self):
        limit = taut.Limit("40k")
        limit.queued(1500, 0)
        with self.assertRaisesRegex(taut.LedgerError, "only 1500 are in flight"):
            limit.completed(1501, 1)
        self.assertEqual(limit.in_flight, 1500)
        with self.assertRaisesRegex(taut.ScenarioError, "allowed: off, dql, taut"):
            taut.Limit("fast")
        with self.assertRaisesRegex(ValueError, "min_limit is [0-9]+; allowed: at most max_limit"):
            taut.Dql(min_limit=2, max_limit=1)
        dql = taut.Dql()
        for units in [-1, 1 << 32]:
            message = f"the value is {units}; allowed: whole numbers 0 to 4294967295"
            with self.assertRaisesRegex(ValueError, message):
                dql.queued(units)
        with self.assertRaises(TypeError):
            dql.queued("1500")
        self.assertEqual(dql.in_flight, 0)

    def test_no_limit_and_a_limit_of_0_differ(self):
        off, learning = taut.Limit("off"), taut.Limit("dql")
        self.assertEqual((off.limit, off.unlimited), (taut.Dql().max_limit, True))
        self.assertEqual((learning.limit, learning.unlimited), (0, False))
        off.configure(limit=3000)
        self.assertEqual((off.limit, off.unlimited), (3000, False))

    def test_settings_bound_the_limit(self):
        limit = taut.Limit("dql")
        limit.configure(min_limit=3000)
        limit.queued(100, 0)
        limit.completed(100, 1)
        self.assertEqual(limit.limit, 3000)

    def test_every_method_has_help(self):
        for kind in [taut.Dql, taut.Limit]:
            for name, method in vars(kind).items():
                if not name.startswith("_") and callable(method):
                    self.assertTrue(method.__doc__, name)


if __name__ == "__main__":
    unittest.main()
