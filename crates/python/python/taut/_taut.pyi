from collections.abc import Callable, Sequence
from typing import Any, Protocol, final, type_check_only

__all__ = [
    "CompletionBatch",
    "Document",
    "Dql",
    "Fault",
    "LedgerError",
    "Limit",
    "ScenarioError",
    "Sweep",
    "__version__",
    "finished_line",
    "patterns",
    "register_limit",
    "replay",
    "rule_names",
    "scenarios",
    "simulate",
    "trace",
    "with_settings",
]

__version__: str

_Progress = Callable[[str, int, int], object]

class ScenarioError(ValueError):
    """A scenario, a setting or a trace that cannot be; says which, and what is allowed."""

class LedgerError(ValueError):
    """A mistake of the caller in what is queued or completed. It has changed nothing."""

class Fault(RuntimeError):
    """A simulated queue went wrong: a bug in taut, and nothing that was found is to be trusted."""

@final
class Dql:
    """Linux's rule, byte queue limits, with its ledger. For one thread, or one lock.

    Amounts are in units of your choice (bytes, for a link), times in ns of a clock that does not go back.
    """

    limit: int
    min_limit: int
    max_limit: int
    hold_time_ns: int
    def __new__(
        cls,
        now_ns: int = 0,
        *,
        limit: int | None = None,
        min_limit: int | None = None,
        max_limit: int | None = None,
        hold_time_ns: int | None = None,
    ) -> Dql: ...
    def queued(self, units: int) -> None:
        """Counts one object as handed to the device; call it before the device can see it."""
    def unqueue(self, units: int) -> None:
        """Takes back the object queued last, which the device never saw."""
    def completed(self, units: int, now_ns: int) -> None:
        """Counts what the device finished, and moves the limit: once a round, and never with 0."""
    def observe_in_flight(self, units: int, now_ns: int) -> int:
        """The same where the device says what is outstanding. Returns what completed by it."""
    def repair(self, in_flight: int, now_ns: int) -> int:
        """Brings the ledger to what the device holds. Returns by how much it said too much."""
    def reset(self, now_ns: int) -> None:
        """Forgets what is in flight and starts from the lower bound; for a device that was flushed."""
    @property
    def room(self) -> int:
        """Units left below the limit; one more object may be queued while it is at least 0."""
    @property
    def has_room(self) -> bool: ...
    @property
    def in_flight(self) -> int: ...
    def snapshot(self) -> dict[str, int]:
        """Everything that the rule knows at this moment."""

@final
class Limit:
    """A limit by its words ("taut", "taut:99.5%", "dql", "40k", "32p", "dql:2ms", "dql:packets"), with its ledger.

    For one thread, or one lock. Amounts are bytes, or packets where `unit` says so; times are ns of a clock
    that does not go back.
    """

    def __new__(cls, words: str, now_ns: int = 0) -> Limit: ...
    def queued(self, units: int, now_ns: int) -> None:
        """Counts one object as handed to the device; call it before the device can see it."""
    def unqueue(self, units: int) -> None:
        """Takes back the object queued last, which the device never saw."""
    def refused(self) -> None:
        """Says that there is something to send and no room: without it most rules learn nothing."""
    def completed(self, units: int, now_ns: int, *, more: bool = False) -> None:
        """Counts what the device finished, once a round; `more` says that the round goes on."""
    def observe_in_flight(self, units: int, now_ns: int) -> int:
        """Counts what the device finished when it says how much is still outstanding, and says how much that was."""
    def reset(self, now_ns: int) -> None:
        """Forgets what is in flight and what was learnt; for a device that was flushed."""
    def configure(
        self,
        *,
        limit: int | None = None,
        min_limit: int | None = None,
        max_limit: int | None = None,
        hold_time_ns: int | None = None,
    ) -> None:
        """Changes settings; what is not said stays."""
    @property
    def room(self) -> int:
        """Units left below the limit; one more object may be queued while it is at least 0."""
    @property
    def has_room(self) -> bool: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def limit(self) -> int:
        """The limit as an operator reads it, in units: "7p" is 7, and lets 7 packets through."""
    @property
    def rate_per_s(self) -> int:
        """What the device sends in a second, if the rule wants to know; 0 while it is not known."""
    @property
    def unit(self) -> str:
        """bytes or packets."""
    @property
    def words(self) -> str: ...

@final
class CompletionBatch:
    """A completion batch, as it is passed to a registered rule. Units are bytes, or packets if the
    rule's `unit` is "packets"."""

    @property
    def now_ns(self) -> int: ...
    @property
    def units(self) -> int:
        """Units completed: at most `in_flight`, and 0 only to close a reap with `more_pending`."""
    @property
    def in_flight(self) -> int:
        """Units in flight before the batch."""
    @property
    def last_object(self) -> int:
        """Units of the object that was queued last."""
    @property
    def times_blocked(self) -> int:
        """Times that there was something to send and no room, since the last reset, wrapping at
        2^32."""
    @property
    def rate_per_s(self) -> int:
        """The rate of the device in units per second; 0 while it is unknown."""
    @property
    def ring_units(self) -> int:
        """The most units that the ring holds, less one object, while it stops the sender before the
        limit does; 4294967295 otherwise."""
    @property
    def more_pending(self) -> bool:
        """The reap stopped at its budget with completions pending."""

@type_check_only
class LimitRule(Protocol):
    """The one method that a registered rule must have, see `taut.register_limit`."""

    def completed(self, batch: CompletionBatch, /) -> int: ...

@final
class Document:
    def json(self) -> str: ...
    def json_lines(self) -> str: ...
    def columns(self) -> list[tuple[str, str]]: ...
    def series(self) -> list[tuple[str, str, str, bytes, bytes]]: ...

@final
class Sweep:
    def __new__(
        cls, text: str, seed: int | None, swept: Sequence[tuple[str, list[Any]]], resume: str | None
    ) -> Sweep: ...
    def __len__(self) -> int: ...
    def left(self) -> list[tuple[str, int]]: ...
    def run(self, jobs: int | None, progress: _Progress | None) -> None: ...
    def take(self, line: str) -> None: ...
    def document(self) -> Document: ...

def finished_line(text: str, seed: int, jobs: int | None) -> str: ...
def patterns() -> list[str]: ...
def register_limit(name: str, rule: type[LimitRule], help: str) -> None: ...
def replay(
    path: str,
    limits: list[str] | None,
    row: str,
    rate: str | None,
    ring: int | None,
    jobs: int | None,
    progress: _Progress | None,
) -> Document: ...
def rule_names() -> list[tuple[str, str]]: ...
def scenarios() -> list[tuple[str, str, str]]: ...
def simulate(text: str, seed: int | None, jobs: int | None, progress: _Progress | None) -> Document: ...
def trace(text: str, path: str, seed: int | None, row: str, progress: _Progress | None) -> int: ...
def with_settings(text: str, settings: list[tuple[str, Any]]) -> str: ...
