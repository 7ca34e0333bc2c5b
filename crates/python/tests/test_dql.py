"""The limits, compared with recordings."""

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
        """Compares the limit and its ledger after each operation with the recorded state."""
        limit, now_ns = taut.Limit("dql"), 0
        pairs = zip(lines(f"{vector}.ops"), lines(f"{vector}.expected"), strict=True)
        for number, (operation, expected) in enumerate(pairs, 1):
            word, *values = operation.split()
            rejected = False
            try:
                if word == "init":
                    limit = taut.Limit("dql", now_ns)
                    limit.configure(hold_time_ns=int(values[0]) * 1_000_000)
                elif word == "t":
                    now_ns = int(values[0]) * 1_000_000
                elif word == "q":
                    limit.queued(int(values[0]), now_ns)
                elif word == "c":
                    limit.completed(int(values[0]), now_ns)
                elif word == "r":
                    limit.reset(now_ns)
                else:
                    self.fail(f"{vector}, line {number}: {operation}")
            except taut.LedgerError:
                rejected = True
            if rejected or expected == "error":
                found = "error" if rejected else "done"
                self.assertEqual(found, expected, f"{vector}, line {number}: {operation}")
                continue
            recorded = [int(it) for it in expected.split()]
            in_flight = (recorded[2] - recorded[3]) % (1 << 32)
            self.assertEqual(
                (limit.limit, limit.room, limit.in_flight),
                (recorded[0], recorded[4], in_flight),
                f"{vector}, line {number}: {operation}",
            )

    def test_recorded_runs_are_reproduced(self):
        names = sorted(path.name.partition(".")[0] for path in VECTORS.glob("*.ops*"))
        # The others change settings, which a `Limit` applies at once, or complete nothing.
        played = {"init", "t", "q", "c", "r"}
        vectors = [
            name
            for name in names
            if all(it.split()[0] in played and it != "c 0" for it in lines(f"{name}.ops"))
        ]
        self.assertGreaterEqual(len(vectors), 4)
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
            taut.Limit("dql").configure(min_limit=2, max_limit=1)
        for units in [-1, 1 << 32]:
            message = f"the value is {units}; allowed: whole numbers 0 to 4294967295"
            with self.assertRaisesRegex(ValueError, message):
                limit.queued(units, 0)
        with self.assertRaises(TypeError):
            limit.queued("1500", 0)
        self.assertEqual(limit.in_flight, 1500)

    def test_no_limit_and_a_limit_of_0_differ(self):
        off, learning = taut.Limit("off"), taut.Limit("dql")
        self.assertEqual((off.limit, off.unlimited), (1_879_048_192, True))
        self.assertEqual((learning.limit, learning.unlimited), (0, False))
        off.configure(limit=3000)
        self.assertEqual((off.limit, off.unlimited), (3000, False))

    def test_settings_bound_the_limit(self):
        limit = taut.Limit("dql")
        limit.configure(min_limit=3000)
        limit.queued(100, 0)
        limit.completed(100, 1)
        self.assertEqual(limit.limit, 3000)

    def test_a_limit_is_shown_with_its_state(self):
        limit = taut.Limit("40k")
        limit.queued(1500, 0)
        shown = "<taut.Limit '40k' limit=40960 in_flight=1500 bytes>"
        self.assertEqual(repr(limit).replace('"', "'"), shown)

    def test_every_method_has_help(self):
        for name, method in vars(taut.Limit).items():
            if not name.startswith("_") and callable(method):
                self.assertTrue(method.__doc__, name)


if __name__ == "__main__":
    unittest.main()
