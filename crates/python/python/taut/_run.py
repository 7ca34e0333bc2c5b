"""Scenarios, traces and rules."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

from . import _taut
from ._result import Progress, Result, listener

#: The name of a scenario, a scenario file (a path, or a str that names a file), or the text of one
#: (a str with a line break).
Scenario = Union[str, "os.PathLike[str]"]

#: Maximum size of a scenario file.
_MAX_BYTES = 1 << 20


def scenarios() -> dict[str, str]:
    """The scenarios: name and description."""
    return {name: about for name, about, _ in _taut.scenarios()}


def scenario_file(name: str) -> str:
    """The TOML file of a scenario: every setting, with default and description."""
    for known, _, text in _taut.scenarios():
        if known == name:
            return text
    names = ", ".join(known for known, _, _ in _taut.scenarios())
    raise _taut.ScenarioError(f"no scenario {name!r}; there are: {names}")


def pattern_names() -> list[str]:
    """The names of the built-in completion traces, for `rules`."""
    return _taut.patterns()


def rule_names() -> dict[str, str]:
    """The syntax and description of each rule. `40k` and `32p` are fixed limits in addition."""
    return dict(_taut.rule_names())


def register_limit(name: str, rule: type[_taut.LimitRule], *, help: str | None = None) -> None:
    """Registers a class as a limit rule. `name` is then a limit everywhere in this process.

    That is in `Limit`, `simulate`, `sweep`, `trace`, `replay` and `rules`, also as "NAME:packets"
    and with a time cap ("NAME:2ms"). Each limit is a separate instance, created without arguments.
    The methods of the class:

    - `completed(self, batch)` returns the limit after a completion batch (a `CompletionBatch`).
    - `begin(self, now_ns)` returns the limit at the start. Without it, or if it returns None, the
      limit is 0: objects are sent one at a time until the first `completed`.
    - `reset(self, now_ns)` forgets everything and returns the limit as `begin` does. Without it, a
      new instance begins.

    `begin` and `reset` are optional. A class attribute `unit = "packets"` counts packets in place
    of bytes. A limit above 1,879,048,192 counts as that. `help` is the first line of the class's
    docstring, unless specified.

    An exception in a rule leaves the limit as it was and is raised by the call that caused it. A
    method of `Limit` has counted its units by then. A simulation ends once the running cases end;
    no rule is called in the meantime.

    Simulations call rules of several cases on several threads; each instance is used by one. A name
    cannot be removed. Other processes, such as the workers of a sweep, must register it as well.

    Raises `ScenarioError` (a ValueError) for a name that is taken or cannot be one, TypeError
    without `completed`.
    """
    if help is None:
        help = (rule.__doc__ or "a rule of this program").strip().partition("\n")[0]
    _taut.register_limit(name, rule, help)


def scenario_text(scenario: Scenario) -> str:
    """Returns the settings as TOML."""
    if isinstance(scenario, str) and "\n" in scenario:
        return scenario
    if isinstance(scenario, str) and not _is_path(scenario):
        return scenario_file(scenario)
    # Rejects a number, which `open` accepts as a descriptor.
    path = os.fspath(scenario)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_MAX_BYTES + 1)
    except UnicodeDecodeError as error:
        raise _taut.ScenarioError(f"{path!s} is not a scenario file: {error}") from None
    if len(text) > _MAX_BYTES:
        raise _taut.ScenarioError(
            f"{path!s} is longer than {_MAX_BYTES} characters: not a scenario file"
        )
    return text


def _is_path(text: str) -> bool:
    if text in scenarios():
        return False
    return text.endswith(".toml") or os.sep in text or os.path.isfile(text)


def simulate(
    scenario: Scenario,
    *,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress = None,
    **settings: Any,
) -> Result:
    """Runs a scenario in virtual time.

    `settings` replace those of its file, which `scenario_file(name)` lists. Strings have the syntax
    of the file, without the quotes ("1gbit", "250us"). `limit` is an alias for the list of limits
    of a scenario. `seed` is 1 by default. `jobs` is the number of parallel cases (default: one for
    each core); it does not change results.

    Other Python threads continue to run. Ctrl-C returns immediately; the current case ends in a
    background thread.

    Raises `ScenarioError` (a ValueError) for invalid values, with the allowed ones.
    """
    text = _taut.with_settings(scenario_text(scenario), list(settings.items()))
    return Result(_taut.simulate(text, seed, jobs, listener(progress)))


def trace(
    scenario: Scenario,
    path: str | os.PathLike[str],
    *,
    row: str = "",
    seed: int | None = None,
    progress: Progress = None,
    **settings: Any,
) -> int:
    """Writes the events of the queues of a scenario to a file, for `replay`.

    Includes only rows whose names contain `row`. Returns the size of the file in bytes.
    docs/trace-format.md describes the format. The file replaces PATH when it is complete.
    """
    text = _taut.with_settings(scenario_text(scenario), list(settings.items()))
    return _taut.trace(text, os.fspath(path), seed, row, listener(progress))


def replay(
    trace: str | os.PathLike[str],
    limits: str | Iterable[str] | None = None,
    *,
    row: str = "",
    rate: str | int | None = None,
    ring: int | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> Result:
    """Replays the traffic of a trace under other limits (default: off, dql and taut).

    `dql every 1ms` reports completions at a fixed interval. `rate` is the link rate (bit/s, or a
    string such as "1gbit"; default: the maximum of the trace). `ring` is the number of slots. The
    replay is open-loop: the senders do not react to the limit.
    """
    if isinstance(limits, str):
        limits = [limits]
    specs = None if limits is None else [str(limit) for limit in limits]
    rate = None if rate is None else str(rate)
    return Result(_taut.replay(os.fspath(trace), specs, row, rate, ring, jobs, listener(progress)))


def rules(
    pattern: str | os.PathLike[str] | Mapping[str, Any] | Sequence[str] = "",
    rules: str | Sequence[str] | None = None,
    *,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress = None,
    **settings: Any,
) -> Result:
    """Compares limit rules with the smallest sufficient limit of completion traces.

    `pattern` is a name of `pattern_names()`, a prefix ("p", "f"; "" selects all), a list of these,
    a trace file (a path), or a dict. A dict has `gap_ns` and `delay_ns` (arrays with a value per
    interrupt) and the keys of the first line of a trace file, such as `rate_bytes_per_us` and
    `end_ns`. `settings` are those of the scenario limit-rules.
    """
    if rules is not None:
        settings["rules"] = rules
    if isinstance(pattern, Mapping):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pattern")
            with open(path, "w", encoding="utf-8") as file:
                file.write(_pattern_file(pattern))
            settings.update(patterns=[], files=[path])
            return simulate("limit-rules", seed=seed, jobs=jobs, progress=progress, **settings)
    if isinstance(pattern, os.PathLike):
        settings.update(patterns=[], files=[os.fspath(pattern)])
    else:
        prefixes = [pattern] if isinstance(pattern, str) else list(pattern)
        settings["patterns"] = _patterns(prefixes)
    return simulate("limit-rules", seed=seed, jobs=jobs, progress=progress, **settings)


def _patterns(prefixes: list[str]) -> list[str]:
    names = pattern_names()
    for start in prefixes:
        if not any(name.startswith(start) for name in names):
            raise _taut.ScenarioError(f"no pattern {start!r}; there are: {', '.join(names)}")
    return [name for name in names if name.startswith(tuple(prefixes))]


def _pattern_file(pattern: Mapping[str, Any]) -> str:
    head = {key: value for key, value in pattern.items() if key not in ("gap_ns", "delay_ns")}
    missing = [key for key in ("gap_ns", "delay_ns", "end_ns") if key not in pattern]
    if missing:
        raise _taut.ScenarioError(f"a pattern without {' and '.join(missing)}")
    gaps, delays = list(pattern["gap_ns"]), list(pattern["delay_ns"])
    if len(gaps) != len(delays):
        raise _taut.ScenarioError(
            f"gap_ns has {len(gaps)} values and delay_ns {len(delays)}: each interrupt needs both"
        )
    lines = [json.dumps({"id": "own", **head}, default=_plain)]
    lines += [f"{int(gap)} {int(delay)}" for gap, delay in zip(gaps, delays)]
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> Any:
    """Converts arrays and numbers of NumPy for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be in a pattern")
