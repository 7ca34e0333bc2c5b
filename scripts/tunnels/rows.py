"""The measured rows."""

from dataclasses import dataclass

MB = 1 << 20


@dataclass(frozen=True)
class Row:
    """A link and a load. `rate` is in bit/s, or None; `targets` are those of `taut`."""

    title: str
    # The name in a chart.
    short: str
    kind: str = "direct"
    rate: int | None = 20_000_000
    queue_bytes: int = MB
    streams: int = 8
    # How many times lower than plain p99 of a request must be.
    times_lower: float | None = None
    goodput_percent: float | None = None

    def modes_of(self, program, requested):
        allowed = [*program.modes, *(["shaper"] if self.kind == "router" else [])]
        return [mode for mode in requested if mode in allowed]


ROWS = {
    "20mbit-1mb": Row("20 Mbit/s, queue of 1 MB", "20/1", times_lower=20,
                      goodput_percent=98),
    "20mbit-10mb": Row("20 Mbit/s, 10 MB", "20/10", queue_bytes=10 * MB, times_lower=20,
                       goodput_percent=98),
    "100mbit-1mb": Row("100 Mbit/s, 1 MB", "100/1", rate=100_000_000, times_lower=10,
                       goodput_percent=98),
    "100mbit-10mb": Row("100 Mbit/s, 10 MB", "100/10", rate=100_000_000, queue_bytes=10 * MB,
                        times_lower=20, goodput_percent=98),
    "unthrottled-1": Row("unthrottled, 1 stream", "free", rate=None, streams=1, goodput_percent=98),
    "unthrottled-8": Row("unthrottled, 8 streams", "free 8", rate=None, goodput_percent=98),
    "both": Row("20 Mbit/s, both directions", "both", kind="both"),
    "peers": Row("two peers, 20 and 100 Mbit/s", "peers", kind="peers"),
    "roaming": Row("20 Mbit/s, the peer moves", "moves", kind="roaming"),
    "router": Row("20 Mbit/s behind a router", "router", kind="router"),
}
