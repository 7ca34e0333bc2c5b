"""The samples of README.md and of the docstrings run."""

import doctest
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import taut

README = Path(__file__).parents[1] / "README.md"

#: Short runs with the keys of the sample.
SHORT = {"streams": 1, "ring": 256, "seed": [1], "warm_up": "500ms", "duration": "500ms"}


class Samples(unittest.TestCase):
    def sample(self, number):
        return re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)[number]

    def test_readme_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "my.toml").write_text(taut.scenario_file("rr-under-load"))
            # A separate process, because it registers a name that another test registers.
            done = subprocess.run(
                [sys.executable, "-c", self.sample(0)],
                cwd=folder, capture_output=True, text=True, timeout=100,
            )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_sweeps_have_the_keys_of_a_scenario(self):
        swept = []
        sweep = taut.sweep

        def short(grid, *, on=None, resume=None):
            # A key that is not a setting raises ScenarioError.
            self.assertLessEqual(set(grid), {"scenario", *SHORT})
            swept.append((on, resume))
            return sweep(grid | SHORT)

        pool = object()
        with mock.patch.object(taut, "sweep", short):
            exec(self.sample(1), {"taut": taut, "pool": pool})
        self.assertEqual(swept, [(None, None), ("ray", "runs"), (pool, None)])

    def test_docstrings_run(self):
        for module in [taut, taut._run, taut._sweep, taut._result]:
            result = doctest.testmod(module, extraglobs={"taut": taut})
            self.assertEqual(result.failed, 0, module.__name__)


if __name__ == "__main__":
    unittest.main()
