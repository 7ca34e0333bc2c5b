from collections.abc import Callable, Sequence
from typing import Any, Protocol, final, type_check_only

__all__ = [
    "CompletionBatch",
    "Document",
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
    """An invalid scenario, setting or trace. The message names it and the allowed values."""

class LedgerError(ValueError):
    """An invalid count of queued or completed units. The call had no effect."""

class Fault(RuntimeError):
    """A simulated queue failed: a bug in taut. Discard all results of the run."""

@final
class Limit:
    """A limit from its text, with a ledger.

    The text is such as "taut", "taut:99.5%", "dql", "40k", "32p", "dql:2ms" or "dql:packets". Not
    thread-safe: use one thread or a lock. Amounts are bytes, or packets if `unit` is "packets";
    times are ns of a monotonic clock.
    """

    def __new__(cls, spec: str, now_ns: int = 0) -> Limit: ...
    def queued(self, units: int, now_ns: int) -> None:
        """Counts one submitted object. Call it before the device can see the object."""
    def unqueue(self, units: int) -> None:
        """Removes the object queued last, which the device has not seen."""
    def blocked(self) -> None:
        """Reports that the sender is blocked by the limit. Most rules need it to adapt."""
    def completed(self, units: int, now_ns: int, *, more_pending: bool = False) -> None:
        """Counts a completion batch, once per reap; `more_pending`: more completions are pending."""
    def observe_in_flight(self, units: int, now_ns: int) -> int:
        """As `completed`, from the number of outstanding units. Returns the completed units."""
    def reset(self, now_ns: int) -> None:
        """Discards the units in flight and the learnt state, after the device was flushed."""
    def configure(
        self,
        *,
        limit: int | None = None,
        min_limit: int | None = None,
        max_limit: int | None = None,
        hold_time_ns: int | None = None,
    ) -> None:
        """Changes the given settings."""
    @property
    def room(self) -> int:
        """Units left below the limit. One more object can be queued while it is at least 0."""
    @property
    def has_room(self) -> bool: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def limit(self) -> int:
        """The limit in units, as configured: "7p" is 7 and admits 7 packets.

        0 is a limit that admits one object at a time; see `unlimited`.
        """
    @property
    def unlimited(self) -> bool:
        """True if no limit applies, as with "off". `limit` is then 1,879,048,192."""
    @property
    def rate_per_s(self) -> int:
        """Rate of the device in units per second, if the rule needs it; 0 while it is unknown."""
    @property
    def unit(self) -> str:
        """'bytes' or 'packets'."""
    @property
    def spec(self) -> str:
        """The text from which it can be created."""

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
        """Capacity of the ring in units, less one object, while it stops the sender before the
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
def simulate(
    text: str, seed: int | None, jobs: int | None, progress: _Progress | None
) -> Document: ...
def trace(text: str, path: str, seed: int | None, row: str, progress: _Progress | None) -> int: ...
def with_settings(text: str, settings: list[tuple[str, Any]]) -> str: ...
