//! Settings of a limited endpoint.

use taut_path::AnyLimit;
use taut_udp::Source;

use crate::limited::Limited;
use crate::settings::Settings;

/// Settings of a [`Limited`]; from [`Limited::builder`].
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

    /// Sets the limit. Default: `taut`, since few large sends are in flight and Linux's rule allows
    /// one more of them than the link needs. `AnyLimit::off()` leaves the [cap](Self::cap_ns) in
    /// force, which 0 turns off.
    pub fn limit(mut self, limit: AnyLimit) -> Self {
        self.settings.limit = limit;
        self
    }

    /// Where completions come from, and from nowhere else. Default: [`Source::ZeroCopy`]; where
    /// that is refused or tells nothing, [`Source::Polled`], and then [`Source::Timestamps`].
    pub fn source(mut self, source: Source) -> Self {
        self.settings.source = Some(source);
        self
    }

    /// The limit is at most what the measured rate moves in this time, but may always be eight full
    /// datagrams; 0: no cap. Default 0.25 ms: one send more than the one that is under way. At high
    /// rates most of what completions teach is how late the task is woken.
    pub fn cap_ns(mut self, cap_ns: u64) -> Self {
        self.settings.cap_ns = cap_ns;
        self
    }

    /// One send has at most what the measured rate moves in this time, but at least one datagram.
    /// What is urgent waits for two whole sends beyond the limit: the one that went last, and the
    /// one that quinn has assembled. Default 0.25 ms: half of it doubles the work for a byte at 500
    /// Mbit/s.
    pub fn send_ns(mut self, send_ns: u64) -> Self {
        self.settings.send_ns = send_ns;
        self
    }

    /// The runtime to give to an endpoint.
    pub fn build(self) -> Limited<R> {
        Limited::with_settings(self.runtime, self.settings)
    }
}

impl<R> Limited<R> {
    /// With the default settings.
    pub fn new(runtime: R) -> Self {
        Self::builder(runtime).build()
    }

    /// Settings.
    pub fn builder(runtime: R) -> Builder<R> {
        Builder::new(runtime)
    }
}
