"""Every combination of the values of some settings: here, on an executor, or on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, Literal, Protocol

from . import _taut
from ._result import Progress, Result, listener
from ._run import scenario_text

#: A run whose worker died is given to another one so often: a run that kills its worker each time must end.
_RETRIES = 3

#: Runs that are handed out at a time, for each that is run: enough that no worker waits, few enough that a
#: sweep of a million fits in memory.
_AHEAD = 4


def sweep(
    grid: Mapping[str, Any],
    *,
    on: Literal["ray"] | Executor | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Result:
    """Runs a scenario with every combination of the values of some settings, and returns one table.

    `grid` names the `scenario` and its settings: a list is swept, anything else is set. Where a value is a
    list itself, it stands in another one. `seed` may be swept too:

    >>> taut.sweep({"scenario": "rate-change", "duration": "60ms", "ring": [64, 128], "seed": [1, 2]})
    <taut.Result rate-change seed=1: 24 rows>

    The rows are those of `taut sim --sweep`, `json_lines()` to the byte, whoever runs them and in whatever
    order: `on` is None for threads of this process, "ray" for the cluster that Ray is connected to (taut must
    be installed on its workers), or a `concurrent.futures.Executor` of processes, such as Dask's or mpi4py's.
    A run whose worker died on Ray is given to another one.

    Finished runs are kept in the file `resume`, and what is in it is not run again; `taut sim --resume` reads
    the same files. After Ctrl-C it has what was finished by then.
    """
    settings = dict(grid)
    if "scenario" not in settings:
        raise _taut.ScenarioError('the grid names no scenario; allowed: {"scenario": "rr-under-load", ...}')
    text = scenario_text(settings.pop("scenario"))
    swept = [(key, value) for key, value in settings.items() if _is_swept(value)]
    fixed = [(key, value) for key, value in settings.items() if not _is_swept(value)]
    fixed_seeds = [value for key, value in fixed if key == "seed"]
    if fixed_seeds and seed is None:
        seed = fixed_seeds[0]
    text = _taut.with_settings(text, [(key, value) for key, value in fixed if key != "seed"])
    path = None if resume is None else os.fspath(resume)
    it = _taut.Sweep(text, seed, [(key, list(values)) for key, values in swept], path)
    heard = listener(progress)
    if on is None:
        it.run(jobs, heard)
    elif on == "ray":
        _hand_out(it, _Ray(jobs), heard)
    elif isinstance(on, Executor):
        _hand_out(it, _Pool(on, jobs), heard)
    else:
        raise ValueError(f'on is {on!r}; allowed: None, "ray", or a concurrent.futures.Executor')
    return Result(it.document())


def _is_swept(value: Any) -> bool:
    # An array of NumPy is a list of values too.
    return isinstance(value, (list, tuple, range)) or (hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1)


def run_part(text: str, seed: int) -> str:
    """What a worker does: one run, whose line is all that goes back."""
    return _taut.finished_line(text, seed, 1)


class _Workers(Protocol):
    """Who runs the parts."""

    #: Parts that may be with them at a time.
    most: int

    def give(self, text: str, seed: int) -> Any: ...

    def next(self, given: list[Any]) -> tuple[Any, Callable[[], str]]:
        """One of `given` that has ended, and what gives its line, or raises `_WorkerDied`."""

    def cancel(self, given: list[Any]) -> None: ...


class _WorkerDied(Exception):
    pass


def _hand_out(it: _taut.Sweep, workers: _Workers, progress: Callable[[str, int, int], object] | None) -> None:
    left = it.left()
    waiting = [(number, 0) for number in reversed(range(len(left)))]
    given: dict[Any, tuple[int, int]] = {}
    done = 0

    def tell(what: str) -> None:
        if progress is not None:
            progress(what, done, len(left))

    try:
        while waiting or given:
            while waiting and len(given) < workers.most:
                number, tries = waiting.pop()
                given[workers.give(*left[number])] = (number, tries)
            ended, line = workers.next(list(given))
            number, tries = given.pop(ended)
            try:
                it.take(line())
            except _WorkerDied as died:
                if tries == _RETRIES:
                    raise RuntimeError(
                        f"run {number + 1} of {len(left)} ended its worker {tries + 1} times; the last time: {died}"
                    ) from died
                waiting.append((number, tries + 1))
                tell(f"run {number + 1} again: its worker died")
                continue
            done += 1
            tell(f"run {number + 1}")
    except BaseException:
        workers.cancel(list(given))
        raise
    if done == 0:
        tell("done")


class _Pool:
    """Workers of an executor."""

    def __init__(self, pool: Executor, jobs: int | None) -> None:
        self._pool = pool
        self.most = _AHEAD * (jobs or os.cpu_count() or 1)

    def give(self, text: str, seed: int) -> Future[str]:
        return self._pool.submit(run_part, text, seed)

    def next(self, given: list[Future[str]]) -> tuple[Future[str], Callable[[], str]]:
        done, _ = wait(given, return_when=FIRST_COMPLETED)
        ended = done.pop()
        return ended, ended.result

    def cancel(self, given: list[Future[str]]) -> None:
        for future in given:
            future.cancel()


class _Ray:
    """Workers of a Ray cluster."""

    def __init__(self, jobs: int | None) -> None:
        try:
            import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError as error:
            raise ImportError('on="ray" needs Ray: pip install "taut[ray]"') from error
        self._ray = ray
        if not ray.is_initialized():
            ray.init()
        cores = int(ray.cluster_resources().get("CPU", 1))
        self.most = jobs or max(_AHEAD * cores, 16)
        # Retries are ours: they are told, and a run that kills its worker each time ends with its number.
        self._part = ray.remote(num_cpus=1, max_retries=0)(run_part)

    def give(self, text: str, seed: int) -> Any:
        return self._part.remote(text, seed)

    def next(self, given: list[Any]) -> tuple[Any, Callable[[], str]]:
        done: list[Any] = []
        # In steps, so that Ctrl-C is heard.
        while not done:
            done, _ = self._ray.wait(given, num_returns=1, timeout=0.5)
        return done[0], lambda: self._line(done[0])

    def _line(self, ended: Any) -> str:
        errors = self._ray.exceptions
        try:
            line: str = self._ray.get(ended)
            return line
        except errors.RayTaskError as error:
            # What the run itself says of its settings is an error of the caller, not of the worker.
            raise error.as_instanceof_cause() from None
        except errors.RayError as error:
            raise _WorkerDied(str(error).splitlines()[0] if str(error) else type(error).__name__) from error

    def cancel(self, given: list[Any]) -> None:
        for part in given:
            self._ray.cancel(part, force=True)
