//! The accounting of a socket.

use super::in_flight::InFlight;
use super::limiter::Limiter;
use super::losses::RecentLosses;
use super::memory_estimate::MemoryEstimate;
use super::results::{Completed, Totals};
use super::settings::Settings;
use super::stall_timer::StallTimer;
use crate::quality::{QualityDetector, Source};

/// The state machine: objects sent and completed, and the limit.
#[derive(Debug)]
pub(crate) struct SocketTracker {
    pub(super) settings: Settings,
    pub(crate) limiter: Limiter,
    pub(crate) objects: InFlight,
    pub(crate) detector: QualityDetector,
    pub(crate) losses: RecentLosses,
    pub(super) memory: MemoryEstimate,
    /// The id of a rejected zero-copy datagram, while its notification is expected: the kernel
    /// notifies its release only if it assigned that id.
    pub(super) rejected: Option<u32>,
    /// The newest object that overtook one in flight, and since when, in ns.
    pub(super) overtaken: Option<(u32, u64)>,
    pub(super) stalls: StallTimer,
    /// Time of the last completion, level reading, or send into an empty path.
    pub(super) active_ns: u64,
    pub(super) batch: Completed,
    pub(crate) totals: Totals,
}

impl SocketTracker {
    /// Creates a tracker with nothing in flight.
    pub(crate) fn new(settings: Settings, now_ns: u64) -> Self {
        Self {
            limiter: Limiter::new(settings.limit.clone(), settings.cap_ns, now_ns),
            objects: InFlight::default(),
            detector: QualityDetector::new(settings.source, now_ns),
            losses: RecentLosses::default(),
            memory: MemoryEstimate::new(),
            rejected: None,
            overtaken: None,
            stalls: StallTimer::new(settings.stall_threshold_ns),
            active_ns: now_ns,
            batch: Completed::default(),
            totals: Totals::default(),
            settings,
        }
    }

    /// Returns `true` if one more object can be sent at `now_ns`.
    pub(crate) fn has_room(&self, now_ns: u64) -> bool {
        !self.detector.limit_applies()
            || self.limiter.room() >= 0
            || self.stalls.allows_probe(now_ns)
    }

    /// Returns the source of completions.
    pub(crate) fn source(&self) -> Source {
        self.detector.source
    }

    /// Returns an upper bound of the kernel's memory for the objects in flight: a buffer is up to
    /// twice its datagram, and has a header of its own.
    pub(crate) fn max_memory_bytes(&self) -> u64 {
        const HEADER_BYTES: u64 = 1_024;
        2 * u64::from(self.objects.bytes()) + HEADER_BYTES * self.objects.len() as u64
    }

    /// Returns the newest id that the kernel might have assigned.
    pub(crate) fn newest_id(&self) -> u32 {
        let before = self.objects.next().wrapping_sub(1);
        before.wrapping_add(self.rejected.is_some().into())
    }

    /// Restarts the ids at 0, as the kernel does; has no effect while objects are in flight.
    pub(crate) fn restart_ids(&mut self) {
        if self.objects.is_empty() {
            self.objects = InFlight::starting_at(0);
        }
    }

    /// Continues with another source, whose next object has the id `next_id`. Totals stay. Learnt
    /// values are discarded, except the quality if it `stays`. Has no effect while objects are in
    /// flight.
    pub(crate) fn change_source(&mut self, source: Source, next_id: u32, stays: bool, now_ns: u64) {
        if !self.objects.is_empty() {
            return;
        }
        self.objects = InFlight::starting_at(next_id);
        self.detector.change_source(source, stays);
        self.losses = RecentLosses::default();
        self.memory = MemoryEstimate::new();
        self.limiter.reset_rate();
        self.limiter.reset_rule(now_ns);
    }
}
