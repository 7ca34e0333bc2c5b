"""Limit rules that a program registers as classes."""

import tempfile
import threading
import time
import unittest
from pathlib import Path

import taut

MAX_LIMIT = 1_879_048_192


class Double:
    """Twice the largest batch.

    Since the start.
    """

    instances = 0

    def __init__(self):
        Double.instances += 1
        self.largest = 0

    def begin(self, now_ns):
        self.largest = 500
        return 1000

    def completed(self, batch):
        assert batch.units <= batch.in_flight and not batch.more_pending
        self.largest = max(self.largest, batch.units)
        return 2 * self.largest


class Batches:
    """Batches so far, in packets."""

    unit = "packets"

    def __init__(self):
        self.batches = 0

    def completed(self, batch):
        self.batches += 1
        return self.batches


class Failing:
    """The limits of `script`, and the exceptions in it."""

    script = []
    calls = 0

    @classmethod
    def next(cls):
        Failing.calls += 1
        step = cls.script.pop(0) if cls.script else 3000
        if isinstance(step, BaseException):
            raise step
        return step

    def begin(self, now_ns):
        return self.next()

    def completed(self, batch):
        return self.next()

    def reset(self, now_ns):
        return self.next()


taut.register_limit("double", Double)
taut.register_limit("batches", Batches, help="one more with each batch")
taut.register_limit("failing", Failing)


def complete(limit, units, now_ns):
    limit.queued(units, now_ns)
    limit.completed(units, now_ns)


class OwnLimits(unittest.TestCase):
    def test_each_limit_is_a_separate_instance(self):
        one, other = taut.Limit("double"), taut.Limit("double")
        self.assertEqual((one.limit, one.spec, one.unit), (1000, "double", "bytes"))
        complete(one, 4000, 1)
        self.assertEqual((one.limit, other.limit), (8000, 1000))
        before = Double.instances
        one.reset(2)
        self.assertEqual((one.limit, Double.instances), (1000, before + 1))

    def test_names_are_listed_and_accept_suffixes(self):
        names = taut.rule_names()
        self.assertEqual(names["double"], "Twice the largest batch.")
        self.assertEqual(names["batches"], "one more with each batch")
        self.assertIn("dql", names)
        with self.assertRaisesRegex(taut.ScenarioError, "allowed: off, dql.*double, batches"):
            taut.Limit("doublee")
        self.assertEqual(taut.Limit("double:packets").unit, "packets")
        capped = taut.Limit("double:2ms")
        self.assertEqual(capped.spec, "double:2ms")
        for ms in range(1, 200):
            capped.queued(50_000, ms * 1_000_000)
            capped.queued(50_000, ms * 1_000_000)
            capped.completed(50_000, ms * 1_000_000 + 900_000)
            capped.completed(capped.in_flight, ms * 1_000_000 + 950_000)
        self.assertLess(capped.limit, 1_000_000_000)
        for spec in ["double:3", "double:", "batches:packets"]:
            with self.assertRaises(taut.ScenarioError):
                taut.Limit(spec)

    def test_absent_methods_have_defaults(self):
        limit = taut.Limit("batches")
        self.assertEqual((limit.limit, limit.unit, limit.has_room), (0, "packets", True))
        complete(limit, 1, 1)
        complete(limit, 1, 2)
        self.assertEqual(limit.limit, 2)
        limit.reset(3)
        self.assertEqual(limit.limit, 0)
        with self.assertRaises(taut.LedgerError):
            limit.configure(limit=7)

    def test_exception_is_raised_by_its_call(self):
        for error in [KeyError("a"), KeyboardInterrupt()]:
            Failing.script = [1000, error, 2000, error, 2500]
            limit = taut.Limit("failing")
            limit.queued(500, 0)
            with self.assertRaises(type(error)) as raised:
                limit.completed(500, 1)
            self.assertIs(raised.exception, error)
            # The limit stays, the units are counted, and the rule is called again.
            self.assertEqual((limit.limit, limit.in_flight), (1000, 0))
            complete(limit, 500, 2)
            self.assertEqual(limit.limit, 2000)
            with self.assertRaises(type(error)):
                limit.reset(3)
            self.assertEqual(limit.limit, 2000)
            limit.queued(500, 4)
            self.assertEqual(limit.observe_in_flight(0, 4), 500)
            self.assertEqual(limit.limit, 2500)
        Failing.script = [ZeroDivisionError()]
        with self.assertRaises(ZeroDivisionError):
            taut.Limit("failing")
        self.assertEqual(taut.Limit("failing").limit, 3000)

    def test_returned_limit_must_be_units(self):
        for returned, error in [
            ("x", TypeError),
            (None, TypeError),
            (-1, ValueError),
            (1 << 32, ValueError),
        ]:
            Failing.script = [1000, returned]
            limit = taut.Limit("failing")
            limit.queued(1, 0)
            with self.assertRaisesRegex(error, 'limit "failing", what completed returned: '):
                limit.completed(1, 1)
            self.assertEqual(limit.limit, 1000)
        Failing.script = [1000, 0, (1 << 32) - 1]
        limit = taut.Limit("failing")
        complete(limit, 1, 1)
        self.assertEqual((limit.limit, limit.room), (0, 0))
        complete(limit, 1, 2)
        self.assertEqual(limit.limit, MAX_LIMIT)

    def test_invalid_registrations_are_rejected(self):
        class Without:
            pass

        class Furlongs(Batches):
            unit = "furlongs"

        for name in ["", "a:b", "a b", "40k", "7p", "a\0"]:
            with self.assertRaisesRegex(taut.ScenarioError, "allowed: a letter, then"):
                taut.register_limit(name, Batches)
        for name in ["dql", "double"]:
            with self.assertRaisesRegex(taut.ScenarioError, f"the name {name} is taken"):
                taut.register_limit(name, Batches)
        with self.assertRaisesRegex(TypeError, "no method completed"):
            taut.register_limit("without", Without)
        with self.assertRaisesRegex(ValueError, "furlongs.*allowed: bytes, packets"):
            taut.register_limit("furlongs", Furlongs)
        for rule in [Batches(), None, len]:
            with self.assertRaises(TypeError):
                taut.register_limit("instance", rule)
        for name in ["without", "furlongs", "instance"]:
            self.assertNotIn(name, taut.rule_names())

    def test_rule_cannot_use_its_own_limit(self):
        class Nested:
            def completed(self, batch):
                other = taut.Limit("double")
                complete(other, 700, 1)
                if not holder[0].queued(1, 1):
                    return other.limit

        taut.register_limit("nested", Nested)
        holder = [taut.Limit("nested")]
        holder[0].queued(9, 0)
        with self.assertRaisesRegex(RuntimeError, "borrowed"):
            holder[0].completed(9, 1)
        self.assertEqual(holder[0].in_flight, 0)

    def test_exception_of_an_inner_limit_is_separate(self):
        class Catching:
            def completed(self, batch):
                Failing.script = [1000, KeyError()]
                inner = taut.Limit("failing")
                inner.queued(1, 0)
                try:
                    inner.completed(1, 1)
                except KeyError:
                    return 77
                return 1

        taut.register_limit("catching", Catching)
        limit = taut.Limit("catching")
        complete(limit, 5, 1)
        self.assertEqual(limit.limit, 77)


SETTINGS = {"streams": 4, "duration": "500ms"}


class Simulations(unittest.TestCase):
    def test_python_rule_limits_simulated_queues(self):
        found = taut.simulate("rr-under-load", seed=1, limit=["dql", "double:2ms"], **SETTINGS)
        again = taut.simulate(
            "rr-under-load", seed=1, limit=["dql", "double:2ms"], jobs=1, **SETTINGS
        )
        self.assertEqual(found.rows, again.rows)
        self.assertLessEqual({"dql", "double:2ms"}, {row["limit"] for row in found.rows})
        pattern = {
            "rate_bytes_per_us": 125.0,
            "end_ns": 300_000_000,
            "gap_ns": [100_000] * 3000,
            "delay_ns": [0] * 3000,
        }
        self.assertIn("double", str(taut.rules(pattern, ["dql", "double"]).rows))

    def test_python_rule_equals_native_rule(self):
        class Same:
            def begin(self, now_ns):
                return 39_999

            def completed(self, batch):
                return 39_999

        taut.register_limit("same", Same)
        both = taut.simulate("rr-under-load", seed=1, limit=["39999", "same"], **SETTINGS).rows
        built_in = [row for row in both if row["limit"] == "39999"]
        own = [{**row, "limit": "39999"} for row in both if row["limit"] == "same"]
        self.assertTrue(own)
        self.assertEqual(own, built_in)

    def test_exception_ends_a_simulation(self):
        for jobs in [1, 4]:
            Failing.script, Failing.calls = [20_000] * 50 + [LookupError("here")], 0
            with self.assertRaisesRegex(LookupError, "here"):
                taut.simulate("rr-under-load", seed=1, limit=["failing"], jobs=jobs, **SETTINGS)
            # No rule is called after it, except those that were being called.
            self.assertLessEqual(Failing.calls, 51 + jobs - 1)
        Failing.script = [LookupError("at the start")]
        with self.assertRaisesRegex(LookupError, "at the start"):
            taut.sweep({"scenario": "rr-under-load", "limit": ["failing"], "seed": [1], **SETTINGS})
        self.assertTrue(taut.simulate("rr-under-load", seed=1, limit=["failing"], **SETTINGS).rows)

    def test_exception_leaves_no_finished_run(self):
        raised = threading.Event()

        class Waiting:
            instances, lock = 0, threading.Lock()

            def begin(self, now_ns):
                with Waiting.lock:
                    self.number = Waiting.instances
                    Waiting.instances += 1
                return 20_000

            def completed(self, batch):
                # One run continues after another has failed.
                if self.number == 0 and not raised.is_set():
                    raised.wait(20)
                    time.sleep(0.1)
                if self.number == 1:
                    raised.set()
                    raise LookupError("here")
                return 20_000

        taut.register_limit("waiting", Waiting)
        grid = {
            "scenario": "limit-rules",
            "patterns": [["p01-jitter"]],
            "rules": [["waiting"]],
            "seed": [1, 2],
        }
        with tempfile.TemporaryDirectory() as folder:
            book = Path(folder, "book")
            with self.assertRaisesRegex(LookupError, "here"):
                taut.sweep(grid, jobs=2, resume=book)
            self.assertNotIn("waiting", book.read_text())

    def test_exception_leaves_no_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "trace")
            Failing.script = [20_000, LookupError("here")]
            with self.assertRaisesRegex(LookupError, "here"):
                taut.trace("rr-under-load", path, seed=1, limit="failing", **SETTINGS)
            self.assertEqual(list(Path(folder).iterdir()), [])
            taut.trace("rr-under-load", path, seed=1, limit="double", row="TSO off", **SETTINGS)
            rows = taut.replay(path, ["double", "dql"]).rows
            self.assertIn("double", str(rows))
            Failing.script = [20_000, LookupError("replayed")]
            with self.assertRaisesRegex(LookupError, "replayed"):
                taut.replay(path, ["failing"])

    def test_interrupt_ends_the_calls(self):
        begun = threading.Event()

        class Slow:
            calls = 0

            def completed(self, batch):
                Slow.calls += 1
                begun.set()
                return 50_000

        def interrupt(*_):
            if begun.wait(0.01):
                raise KeyboardInterrupt

        taut.register_limit("slow", Slow)
        with self.assertRaises(KeyboardInterrupt):
            taut.simulate(
                "rr-under-load",
                seed=1,
                limit=["slow"],
                progress=interrupt,
                jobs=1,
                streams=4,
                duration="2s",
            )
        at_the_end = Slow.calls
        time.sleep(0.2)
        self.assertLessEqual(Slow.calls, at_the_end + 1)


if __name__ == "__main__":
    unittest.main()
