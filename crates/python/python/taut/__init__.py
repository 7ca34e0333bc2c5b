"""Byte queue limits: the estimator, the rules, and a simulator of transmit queues.

>>> import taut
>>> found = taut.simulate("rr-under-load", seed=1, limit="taut", streams=4, duration="500ms")
>>> found.rows[-1]["limit"]
'taut'

`simulate` runs a scenario. `sweep` runs every combination of settings, on one machine or on a Ray
cluster. `trace` and `replay` compare limits on the same packets, `rules` on completion traces.
`Limit` is a rule itself, for other queues. `register_limit` adds a class as a rule to all of them.

Results have `rows` (plain dicts) and `table()` (NumPy arrays by column, for `pandas.DataFrame` and
`polars.DataFrame`). The same seed gives the same results on every machine.
"""

from ._result import Figure, Progress, Result, Series
from ._run import (
    pattern_names,
    register_limit,
    replay,
    rule_names,
    rules,
    scenario_file,
    scenarios,
    simulate,
    trace,
)
from ._sweep import sweep
from ._taut import CompletionBatch, Fault, LedgerError, Limit, ScenarioError, __version__

__all__ = [
    "CompletionBatch",
    "Fault",
    "Figure",
    "LedgerError",
    "Limit",
    "Progress",
    "Result",
    "ScenarioError",
    "Series",
    "__version__",
    "pattern_names",
    "register_limit",
    "replay",
    "rule_names",
    "rules",
    "scenario_file",
    "scenarios",
    "simulate",
    "sweep",
    "trace",
]
