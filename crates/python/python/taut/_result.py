"""Results of a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from ._taut import Document

#: `True` for a line on standard error, or a callable with the arguments (current case, cases done,
#: number of cases).
Progress = Union[bool, Callable[[str, int, int], object], None]


@dataclass(frozen=True)
class Series:
    """A time series: the value is `value[i]` from `time_ns[i]` on."""

    row: str
    name: str
    unit: str
    time_ns: NDArray[np.uint64] = field(repr=False)
    value: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True)
class Figure:
    """A published number, or the two ends of its range, and the measured value."""

    id: str
    published: list[float]
    value: float
    unit: str
    constants: list[str]


class Result:
    """The results of a run. Names end with the unit, if there is one."""

    scenario: str
    seed: int
    taut_version: str
    #: Caveats of the rows.
    notes: list[str]
    #: All settings of the run.
    parameters: dict[str, Any]
    #: A dict for each row, all with the same keys.
    rows: list[dict[str, Any]]
    figures: list[Figure]
    #: Descriptions of columns whose names are not self-explanatory.
    columns: dict[str, str]

    def __init__(self, document: Document) -> None:
        self._document = document
        results = json.loads(document.json())
        for name in ("scenario", "seed", "taut_version", "notes", "parameters", "rows"):
            setattr(self, name, results[name])
        self.figures = [Figure(**figure) for figure in results["figures"]]
        self.columns = dict(document.columns())

    @property
    def series(self) -> list[Series]:
        """The time series, for charts."""
        return [
            Series(
                row, name, unit, np.frombuffer(times, np.uint64), np.frombuffer(values, np.float64)
            )
            for row, name, unit, times, values in self._document.series()
        ]

    def table(self) -> dict[str, NDArray[Any]]:
        """The rows as columns. Nested values have their path, joined by dots, as a name.

        `pandas.DataFrame(result.table())` and `polars.DataFrame(result.table())` create data
        frames. Columns of numbers are int64 or float64, with nan for missing values. Columns of
        text contain str objects, with None for missing values.
        """
        rows = [dict(_leaves("", row)) for row in self.rows]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: _column([row.get(name) for row in rows]) for name in names}

    def json(self) -> str:
        """The document that `taut sim --json` prints, to the byte."""
        return self._document.json()

    def json_lines(self) -> str:
        """The lines that `taut sim --json-lines` prints, to the byte."""
        return self._document.json_lines()

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<taut.Result {self.scenario} seed={self.seed}: {len(self.rows)} rows>"


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    if not items:
        yield path, value
    for key, below in items:
        yield from _leaves(f"{path}.{key}" if path else str(key), below)


def _column(values: list[Any]) -> NDArray[Any]:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool} and None not in values:
        return np.array(values, np.bool_)
    if kinds == {int} and None not in values:
        try:
            return np.array(values, np.int64)
        except OverflowError:
            return np.array(values, np.uint64)
    if kinds and kinds <= {int, float}:
        return np.array([np.nan if value is None else value for value in values], np.float64)
    column = np.empty(len(values), object)
    column[:] = values
    return column


class _Line:
    """A progress line on standard error, cleared at the end of the run."""

    def __init__(self) -> None:
        self._longest = 0

    def __call__(self, what: str, done: int, all: int) -> None:
        text = "" if done == all else f"{done} of {all}: {what}"[:79]
        blank = " " * (self._longest - len(text))
        sys.stderr.write(f"\r{text}{blank}" if text else f"\r{blank}\r")
        sys.stderr.flush()
        self._longest = len(text)


def listener(progress: Progress) -> Callable[[str, int, int], object] | None:
    """Returns the receiver of progress, or None."""
    if progress is True:
        # A file would contain every update of the line.
        return _Line() if sys.stderr.isatty() else None
    if progress is None or progress is False:
        return None
    if not callable(progress):
        raise TypeError(f"progress is {progress!r}; allowed: True, False, None, or a callable")
    return progress
