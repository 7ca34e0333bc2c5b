//! Settings of a limited endpoint.

use taut_path::AnyLimit;
use taut_udp::Source;

use crate::limited::Limited;
use crate::settings::Settings;

/// Builder of a [`Limited`]; created by [`Limited::builder`].
#[derive(Debug, Clone)]
#[must_use = "nothing happens before `build`"]
pub struct Builder<R> {
    runtime: R,
    settings: Settings,
}

impl<R> Builder<R> {
    fn new(runtime: R) -> Self {
        Self {
            runtime,
            settings: Settings {
                limit: AnyLimit::taut(),
                source: None,
                cap_ns: 250_000,
                send_ns: 250_000,
            },
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
    /// this time, but at least eight full datagrams; 0: no cap. Default 0.25 ms, which is one send
    /// more than the current one. At high rates, completions mostly show how late the task is
    /// woken.
    pub fn cap_ns(mut self, cap_ns: u64) -> Self {
        self.settings.cap_ns = cap_ns;
        self
    }

    /// Sets the maximum of one send: the amount that the path carries at the measured rate in this
    /// time, but at least one datagram. An urgent packet waits for two whole sends beyond the
    /// limit: the last one, and the one that quinn has assembled. Default 0.25 ms: half of it
    /// doubles the work per byte at 500 Mbit/s.
    pub fn send_ns(mut self, send_ns: u64) -> Self {
        self.settings.send_ns = send_ns;
        self
    }

    /// Builds the runtime for an endpoint.
    pub fn build(self) -> Limited<R> {
        Limited::with_settings(self.runtime, self.settings)
    }
}

impl<R> Limited<R> {
    /// Creates a runtime with the default settings.
    pub fn new(runtime: R) -> Self {
        Self::builder(runtime).build()
    }

    /// Returns a builder, for other settings.
    pub fn builder(runtime: R) -> Builder<R> {
        Builder::new(runtime)
    }
}
