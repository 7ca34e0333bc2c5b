//! Settings of a limited endpoint.

use std::marker::PhantomData;

use taut_path::AnyLimit;

use crate::quality::Source;
use crate::quic::socket_limiter::{EndpointSettings, SocketLimiter};

/// Builder of the runtime `L` of a limited endpoint, from the runtime `R` of a QUIC stack.
#[derive(Debug, Clone)]
#[must_use = "nothing happens before `build`"]
pub struct EndpointBuilder<R, L> {
    runtime: R,
    settings: EndpointSettings,
    limited: PhantomData<fn() -> L>,
}

impl SocketLimiter {
    /// Returns the default settings, for a stack without a runtime.
    pub fn builder() -> EndpointBuilder<(), Self> {
        EndpointBuilder::new(())
    }
}

impl<R, L: From<(R, SocketLimiter)>> EndpointBuilder<R, L> {
    /// Returns the default settings for `runtime`.
    pub fn new(runtime: R) -> Self {
        Self {
            runtime,
            settings: EndpointSettings {
                limit: AnyLimit::taut(),
                source: None,
                cap_ns: 250_000,
                send_ns: 250_000,
            },
            limited: PhantomData,
        }
    }

    /// Sets the limit. Default: `taut`, because few large sends are in flight, and Linux's rule
    /// allows one more of them than the link needs. `AnyLimit::off()` leaves the
    /// [cap](Self::cap_ns) in effect, which 0 turns off.
    pub fn limit(mut self, limit: AnyLimit) -> Self {
        self.settings.limit = limit;
        self
    }

    /// Sets the only source of completions. Default: [`Source::ZeroCopy`]; if it is rejected or
    /// shows no queue, [`Source::Polled`], and then [`Source::Timestamps`].
    pub fn source(mut self, source: Source) -> Self {
        self.settings.source = Some(source);
        self
    }

    /// Sets the cap: the limit is at most the amount that the path carries at the measured rate in
    /// this time, but at least eight full datagrams; 0: no cap. Default: 0.25 ms, the time of one
    /// [send](Self::send_ns), which is then queued behind the current one. At high rates,
    /// completions mostly show how late the task is woken.
    pub fn cap_ns(mut self, cap_ns: u64) -> Self {
        self.settings.cap_ns = cap_ns;
        self
    }

    /// Sets the maximum of one send: the amount that the path carries at the measured rate in this
    /// time, but at least one datagram. An urgent packet waits for two whole sends beyond the
    /// limit: the last one, and the one that the stack has assembled. Default: 0.25 ms, because
    /// half of it doubles the work per byte at 500 Mbit/s.
    pub fn send_ns(mut self, send_ns: u64) -> Self {
        self.settings.send_ns = send_ns;
        self
    }

    /// Builds the runtime for an endpoint.
    pub fn build(self) -> L {
        L::from((self.runtime, SocketLimiter::new(self.settings)))
    }
}
