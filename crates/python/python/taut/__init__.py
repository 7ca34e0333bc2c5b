"""Byte queue limits: the estimator, the rules, and a simulator of transmit queues.

>>> import taut
>>> found = taut.simulate("rr-under-load", seed=1, limit="taut", streams=4, duration="500ms")
>>> found.rows[-1]["limit"]
'taut'

`simulate` runs a scenario, `sweep` every combination of some settings, on one machine or on a Ray cluster;
`trace` and `replay` ask what another rule would have made of the same packets, `rules` compares rules on
completion patterns. `Dql` and `Limit` are the rules themselves, for a queue of your own.
`register_limit` adds a rule of your own, a class, to all of them.

What they return has `rows` (plain dicts) and `table()` (NumPy arrays by column: what `pandas.DataFrame` and
`polars.DataFrame` take). A seed gives the same figures on every machine.
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
from ._taut import CompletionBatch, Dql, Fault, LedgerError, Limit, ScenarioError, __version__

__all__ = [
    "CompletionBatch",
    "Dql",
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
