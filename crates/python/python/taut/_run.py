"""Scenarios, traces and rules."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

from . import _taut
from ._result import Progress, Result, listener

#: A scenario's name, a file of settings (a path, or a str that names a file), or the text of one (a str with a
#: line break).
Scenario = Union[str, "os.PathLike[str]"]

#: A scenario file is settings: what is longer is something else.
_MOST_BYTES = 1 << 20


def scenarios() -> dict[str, str]:
    """What there is to simulate: each scenario's name, and what it shows."""
    return {name: about for name, about, _ in _taut.scenarios()}


def scenario_file(name: str) -> str:
    """The file (TOML) of a scenario: every setting of it, with its default and what it means."""
    for known, _, text in _taut.scenarios():
        if known == name:
            return text
    names = ", ".join(known for known, _, _ in _taut.scenarios())
    raise _taut.ScenarioError(f"no scenario {name!r}; there are {names}")


def pattern_names() -> list[str]:
    """The built-in patterns that `rules` knows."""
    return _taut.patterns()


def rule_names() -> dict[str, str]:
    """How each rule is spelled, and what it does; `40k` and `32p` are fixed limits besides."""
    return dict(_taut.rule_names())


def register_limit(name: str, rule: type[_taut.LimitRule], *, help: str | None = None) -> None:
    """Registers a limit rule of your own: a class. `name` is then a limit everywhere in this process.

    That is `Limit`, `simulate`, `sweep`, `trace`, `replay` and `rules`, also as "NAME:packets" and
    with a cap in time ("NAME:2ms"). Each limit is an instance of its own, created without
    arguments. The methods of the class:

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
    """The settings that are meant, as TOML."""
    if isinstance(scenario, str) and "\n" in scenario:
        return scenario
    if isinstance(scenario, str) and not _is_path(scenario):
        return scenario_file(scenario)
    # A number would be a file that is open already.
    path = os.fspath(scenario)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_MOST_BYTES + 1)
    except UnicodeDecodeError as error:
        raise _taut.ScenarioError(f"{path!s} is no scenario file: {error}") from None
    if len(text) > _MOST_BYTES:
        raise _taut.ScenarioError(f"{path!s} is longer than {_MOST_BYTES} characters: no scenario file")
    return text


def _is_path(text: str) -> bool:
    return text not in scenarios() and (text.endswith(".toml") or os.sep in text or os.path.isfile(text))


def simulate(
    scenario: Scenario,
    *,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress = None,
    **settings: Any,
) -> Result:
    """Runs a scenario in virtual time.

    `settings` replace those of its file; `scenario_file(name)` says what there is. A text is taken as it is
    written there, without the quotes ("1gbit", "250us"). `limit` is short for the list of limits that a
    scenario has. `seed` is 1 by default; `jobs` is how many cases are run at a time (one for each core),
    which changes no figure.

    Other Python threads run meanwhile. Ctrl-C is answered at once; the case that was being run then ends by
    itself, in a thread that nobody waits for.

    Raises `ScenarioError` (a ValueError) for what cannot be, with what is allowed.
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
    """Writes what happens at the queues of a scenario to a file that `replay` reads.

    Only of rows with `row` in their names. Returns the file's length in bytes; docs/trace-format.md says what
    is in it. Until it is whole the file is called PATH.unfinished.
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
    """What if: the traffic of a trace under other limits (off, dql and taut, by default).

    `dql every 1ms` hands completions on at a fixed period. `rate` is the link's (bit/s, or text such as
    "1gbit"), instead of the most that the trace shows; `ring` is its slots. It is open-loop: the senders do
    not react to what the limit changes.
    """
    if isinstance(limits, str):
        limits = [limits]
    words = None if limits is None else [str(limit) for limit in limits]
    rate = None if rate is None else str(rate)
    return Result(_taut.replay(os.fspath(trace), words, row, rate, ring, jobs, listener(progress)))


def rules(
    pattern: str | os.PathLike[str] | Mapping[str, Any] | Sequence[str] = "",
    rules: str | Sequence[str] | None = None,
    *,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress = None,
    **settings: Any,
) -> Result:
    """Compares limit rules on completion patterns, beside the least fixed limit that is enough.

    `pattern` is a name of `pattern_names()`, the beginning of some ("p", "f"; "" is all), a list of them, a
    pattern file (a path), or a pattern of your own: a dict with `gap_ns` and `delay_ns` (arrays, an interrupt
    each) and the keys of a pattern file's first line, such as `rate_bytes_per_us` and `end_ns`.
    `settings` are those of the scenario limit-rules.
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
        wanted = [pattern] if isinstance(pattern, str) else list(pattern)
        settings["patterns"] = _patterns(wanted)
    return simulate("limit-rules", seed=seed, jobs=jobs, progress=progress, **settings)


def _patterns(wanted: list[str]) -> list[str]:
    names = pattern_names()
    for start in wanted:
        if not any(name.startswith(start) for name in names):
            raise _taut.ScenarioError(f"no pattern {start!r}; there are {', '.join(names)}")
    return [name for name in names if name.startswith(tuple(wanted))]


def _pattern_file(pattern: Mapping[str, Any]) -> str:
    head = {key: value for key, value in pattern.items() if key not in ("gap_ns", "delay_ns")}
    missing = [key for key in ("gap_ns", "delay_ns", "end_ns") if key not in pattern]
    if missing:
        raise _taut.ScenarioError(f"a pattern without {' and '.join(missing)}")
    gaps, delays = list(pattern["gap_ns"]), list(pattern["delay_ns"])
    if len(gaps) != len(delays):
        raise _taut.ScenarioError(f"gap_ns has {len(gaps)} values and delay_ns {len(delays)}: one each for an interrupt")
    lines = [json.dumps({"id": "own", **head}, default=_plain)]
    lines += [f"{int(gap)} {int(delay)}" for gap, delay in zip(gaps, delays)]
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> Any:
    """NumPy's arrays and numbers, for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be in a pattern")
