"""Sweeps over combinations of settings: in this process, on an executor, or on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, Literal, Protocol

from . import _taut
from ._result import Progress, Result, listener
from ._run import scenario_text

#: Retries of a run whose worker died. The limit ends a run that kills its worker every time.
_RETRIES = 3

#: Submitted runs per worker: enough that no worker is idle, few enough that a sweep of a million
#: runs fits in memory.
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
    """Runs a scenario with every combination of setting values, and returns one table.

    `grid` contains the `scenario` and its settings. A list is swept, any other value is set. Wrap a
    value that is itself a list in another list. `seed` can be swept too:

    >>> grid = {"scenario": "rate-change", "duration": "60ms", "ring": [64, 128], "seed": [1, 2]}
    >>> taut.sweep(grid)
    <taut.Result rate-change seed=1: 24 rows>

    The rows equal those of `taut sim --sweep`, and `json_lines()` has the same bytes, independently
    of the workers and the order. `on` is None for threads of this process, "ray" for the connected
    Ray cluster (taut must be installed on its workers), or a `concurrent.futures.Executor` of
    processes, such as those of Dask or mpi4py. On Ray, a run whose worker died is repeated on
    another one.

    The file `resume` stores finished runs, which are not repeated. `taut sim --resume` uses the
    same format. After Ctrl-C it has the runs that were finished.
    """
    settings = dict(grid)
    if "scenario" not in settings:
        raise _taut.ScenarioError(
            'the grid names no scenario; allowed: {"scenario": "rr-under-load", ...}'
        )
    text = scenario_text(settings.pop("scenario"))
    swept = [(key, value) for key, value in settings.items() if _is_swept(value)]
    fixed = [(key, value) for key, value in settings.items() if not _is_swept(value)]
    fixed_seeds = [value for key, value in fixed if key == "seed"]
    if fixed_seeds and seed is None:
        seed = fixed_seeds[0]
    text = _taut.with_settings(text, [(key, value) for key, value in fixed if key != "seed"])
    path = None if resume is None else os.fspath(resume)
    it = _taut.Sweep(text, seed, [(key, list(values)) for key, values in swept], path)
    on_progress = listener(progress)
    if on is None:
        it.run(jobs, on_progress)
    elif on == "ray":
        _run_on(it, _Ray(jobs), on_progress)
    elif isinstance(on, Executor):
        _run_on(it, _Pool(on, jobs), on_progress)
    else:
        raise ValueError(f'on is {on!r}; allowed: None, "ray", or a concurrent.futures.Executor')
    return Result(it.document())


def _is_swept(value: Any) -> bool:
    # An array of NumPy is a list of values too.
    is_array = hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1
    return is_array or isinstance(value, (list, tuple, range))


def run_part(text: str, seed: int) -> str:
    """Runs one part on a worker. Returns its line."""
    return _taut.finished_line(text, seed, 1)


class _Workers(Protocol):
    """The workers that run the parts."""

    #: Maximum number of submitted parts.
    max_parts: int

    def give(self, text: str, seed: int) -> Any: ...

    def next(self, given: list[Any]) -> tuple[Any, Callable[[], str]]:
        """Waits for one of `given`. Returns it and a function for its line.

        The function raises `_WorkerDied` if the worker died.
        """

    def cancel(self, given: list[Any]) -> None: ...


class _WorkerDied(Exception):
    pass


def _run_on(
    it: _taut.Sweep, workers: _Workers, progress: Callable[[str, int, int], object] | None
) -> None:
    left = it.left()
    waiting = [(number, 0) for number in reversed(range(len(left)))]
    given: dict[Any, tuple[int, int]] = {}
    done = 0

    def report(what: str) -> None:
        if progress is not None:
            progress(what, done, len(left))

    try:
        while waiting or given:
            while waiting and len(given) < workers.max_parts:
                number, tries = waiting.pop()
                given[workers.give(*left[number])] = (number, tries)
            ended, line = workers.next(list(given))
            number, tries = given.pop(ended)
            try:
                it.take(line())
            except _WorkerDied as died:
                if tries == _RETRIES:
                    raise RuntimeError(
                        f"run {number + 1} of {len(left)} ended its worker {tries + 1} times; "
                        f"last error: {died}"
                    ) from died
                waiting.append((number, tries + 1))
                report(f"run {number + 1} again: its worker died")
                continue
            done += 1
            report(f"run {number + 1}")
    except BaseException:
        workers.cancel(list(given))
        raise
    if done == 0:
        report("done")


class _Pool:
    """Workers of an executor."""

    def __init__(self, pool: Executor, jobs: int | None) -> None:
        self._pool = pool
        self.max_parts = _AHEAD * (jobs or os.cpu_count() or 1)

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
        self.max_parts = jobs or max(_AHEAD * cores, 16)
        # `_run_on` retries instead of Ray: it reports retries, and the number of a run that always
        # fails.
        self._part = ray.remote(num_cpus=1, max_retries=0)(run_part)

    def give(self, text: str, seed: int) -> Any:
        return self._part.remote(text, seed)

    def next(self, given: list[Any]) -> tuple[Any, Callable[[], str]]:
        done: list[Any] = []
        # With a timeout, so that Ctrl-C is handled.
        while not done:
            done, _ = self._ray.wait(given, num_returns=1, timeout=0.5)
        return done[0], lambda: self._line(done[0])

    def _line(self, ended: Any) -> str:
        errors = self._ray.exceptions
        try:
            line: str = self._ray.get(ended)
            return line
        except errors.RayTaskError as error:
            # An error of the run is an error of the caller, not of the worker.
            raise error.as_instanceof_cause() from None
        except errors.RayError as error:
            message = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise _WorkerDied(message) from error

    def cancel(self, given: list[Any]) -> None:
        for part in given:
            self._ray.cancel(part, force=True)
