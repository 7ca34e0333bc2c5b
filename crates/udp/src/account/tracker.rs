//! The accounting of a socket.

use taut_path::AnyLimit;

use super::in_flight::InFlight;
use super::limiter::Limiter;
use super::memory_estimate::MemoryEstimate;
use super::overtaken::OvertakenTimer;
use super::poll_timer::PollTimer;
use super::rejected::RejectedSend;
use super::results::{OpenBatch, Totals};
use super::settings::{Settings, Source};
use super::source_quality::SourceQuality;
use super::stall_timer::StallTimer;
use crate::quality::CompletionQuality;

/// The state machine: objects sent and completed, and the limit.
#[derive(Debug)]
pub struct SocketTracker {
    pub(super) limiter: Limiter,
    pub(super) objects: InFlight,
    pub(super) source: SourceQuality,
    pub(super) memory: MemoryEstimate,
    pub(super) rejected: RejectedSend,
    pub(super) overtaken: OvertakenTimer,
    pub(super) stalls: StallTimer,
    pub(super) polls: PollTimer,
    pub(super) batch: OpenBatch,
    pub(super) totals: Totals,
    pub(super) timestamp_interval_ns: u64,
}

impl SocketTracker {
    /// Creates a tracker with nothing in flight.
    pub fn new(settings: &Settings, now_ns: u64) -> Self {
        let stalls = StallTimer::new(settings.stall_threshold_ns);
        Self {
            limiter: Limiter::new(settings.limit.clone(), settings.cap_ns, now_ns),
            objects: InFlight::starting_at(settings.first_id),
            source: SourceQuality::new(settings.source, now_ns),
            memory: MemoryEstimate::new(),
            rejected: RejectedSend::default(),
            overtaken: OvertakenTimer::default(),
            polls: PollTimer::new(now_ns, settings.poll_ns, stalls.silence_ns()),
            stalls,
            batch: OpenBatch::default(),
            totals: Totals::default(),
            timestamp_interval_ns: settings.timestamp_interval_ns,
        }
    }

    /// Returns the units left below the limit; one more object can be sent while the value is at
    /// least 0. Units are bytes, or datagrams for a limit in packets.
    pub fn room(&self) -> i64 {
        self.limiter.room()
    }

    /// Returns `true` if one more object can be sent at `now_ns`.
    pub fn has_room(&self, now_ns: u64) -> bool {
        !self.limit_applies() || self.room() >= 0 || self.stalls.allows_probe(now_ns)
    }

    /// Returns the current limit, in its units, after the cap.
    pub fn limit(&self) -> u32 {
        self.limiter.limit()
    }

    /// Returns the rule.
    pub fn rule(&self) -> &AnyLimit {
        self.limiter.rule()
    }

    /// Returns the units reserved and not sent yet, which count as in flight for the limit.
    pub fn reserved(&self) -> u32 {
        self.limiter.reserved()
    }

    /// Returns the units in flight.
    pub fn in_flight(&self) -> u32 {
        self.limiter.in_flight()
    }

    /// Returns the bytes in flight, on the wire.
    pub fn bytes_in_flight(&self) -> u32 {
        self.objects.bytes()
    }

    /// Returns an upper bound of the kernel's memory for the objects in flight: a buffer is up to
    /// twice its datagram, and has a header of its own.
    pub fn max_memory_bytes(&self) -> u64 {
        const HEADER_BYTES: u64 = 1_024;
        2 * u64::from(self.bytes_in_flight()) + HEADER_BYTES * self.objects.len() as u64
    }

    /// Returns the quality of completions.
    pub fn quality(&self) -> CompletionQuality {
        self.source.quality()
    }

    /// Returns `false` while completions are meaningless, so that the limit is not applied.
    pub fn limit_applies(&self) -> bool {
        self.source.limit_applies()
    }

    /// Returns `true` if completions have been meaningless for so long that this source will show
    /// no queue.
    pub fn is_source_useless(&self, now_ns: u64) -> bool {
        self.source.is_useless(now_ns)
    }

    /// Returns `true` if most of the recent completions were lost.
    pub fn loses_most_completions(&self) -> bool {
        self.source.losses.are_most()
    }

    /// Returns the source of completions.
    pub fn source(&self) -> Source {
        self.source.source
    }

    /// Returns the units per second that the path carried while it was busy; 0 if unknown.
    pub fn units_per_s(&self) -> u64 {
        self.limiter.rate().units_per_s()
    }

    /// Returns a lower bound of the units per second that the path carries; 0 if unknown.
    pub fn min_units_per_s(&self) -> u64 {
        self.limiter.rate().min_units_per_s()
    }

    /// Returns the totals since the start.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the id of the next object.
    pub fn next_id(&self) -> u32 {
        self.objects.next()
    }

    /// Returns the newest id that the kernel might have assigned.
    pub fn newest_id(&self) -> u32 {
        let before = self.next_id().wrapping_sub(1);
        before.wrapping_add(self.rejected.ids())
    }

    /// Returns `true` if the object with this id is in flight.
    pub fn is_in_flight(&self, id: u32) -> bool {
        self.objects.is_in_flight(id)
    }

    /// Restarts the ids at 0, as the kernel does; has no effect while objects are in flight.
    pub fn restart_ids(&mut self) {
        if self.objects.is_empty() {
            self.objects = InFlight::starting_at(0);
        }
    }

    /// Continues with another source, whose next object has the id `next_id`. Totals stay. Learnt
    /// values are discarded, except the quality if it `stays`. Has no effect while objects are in
    /// flight.
    pub fn change_source(&mut self, source: Source, next_id: u32, stays: bool, now_ns: u64) {
        if !self.objects.is_empty() {
            return;
        }
        self.objects = InFlight::starting_at(next_id);
        self.source.change(source, stays);
        self.memory = MemoryEstimate::new();
        self.limiter.reset_rate();
        self.limiter.reset_rule(now_ns);
    }
}
