//! CoDel for one queue of packets (RFC 8289): if packets have waited longer than a target for a
//! whole interval, it drops or marks one of them, and further ones at decreasing intervals.

use crate::packet::{DropReason, Ecn, Packet, PacketSink};

/// A queue of at most this many bytes is never too long: it only keeps the link busy. One full
/// Ethernet frame without its check sequence.
const MTU_BYTES: u64 = 1514;

/// If dropping resumes within this many intervals, it starts near the last rate.
const RECENT_INTERVALS: u64 = 16;

/// The parameters of CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodelConfig {
    /// Acceptable standing sojourn time, in ns.
    pub target_ns: u64,
    /// Packets may exceed the target for this long, in ns: about the longest round trip. 0 counts
    /// as 1; [`MAX_INTERVAL_NS`](Self::MAX_INTERVAL_NS) is the maximum for the control law.
    pub interval_ns: u64,
    /// Marks packets that support ECN instead of dropping them.
    pub ecn: bool,
    /// Every packet with ECN support that waited longer than this, in ns, is marked, regardless of
    /// `ecn`.
    pub ce_threshold_ns: Option<u64>,
}

impl CodelConfig {
    /// The longest interval, in ns: its square fits 64 bits. Round trips are far shorter.
    pub const MAX_INTERVAL_NS: u64 = 4_000_000_000;
}

impl Default for CodelConfig {
    /// The defaults of RFC 8289 and `tc`: 5 ms and 100 ms, dropping.
    fn default() -> Self {
        Self {
            target_ns: 5_000_000,
            interval_ns: 100_000_000,
            ecn: false,
            ce_threshold_ns: None,
        }
    }
}

/// The parameters of CoDel and derived values.
#[derive(Debug)]
pub(super) struct CodelRule {
    config: CodelConfig,
    /// A packet with a shorter sojourn time is sent without a decision.
    short_wait_ns: u64,
}

impl CodelRule {
    pub(crate) fn new(config: CodelConfig) -> Self {
        let longest_unmarked_ns = config.ce_threshold_ns.unwrap_or(u64::MAX);
        let short_wait_ns = config.target_ns.min(longest_unmarked_ns.saturating_add(1));
        Self {
            config,
            short_wait_ns,
        }
    }

    /// Returns `true` if a packet enqueued at `since_ns` is sent without a decision. `false` also
    /// if time went backwards, which the decision handles.
    #[inline(always)]
    pub(crate) fn is_short(&self, since_ns: u64, now_ns: u64) -> bool {
        now_ns.wrapping_sub(since_ns) < self.short_wait_ns
    }
}

/// The packets under a [`CodelState`], oldest first. CoDel decides about them in place, because
/// moving them is expensive.
pub(super) trait Waiting {
    /// Returns the oldest packet and its enqueue time, in ns.
    fn oldest(&mut self) -> Option<(&mut Packet, u64)>;
    /// Removes the oldest packet.
    fn pop(&mut self) -> Option<Packet>;
    /// Returns the bytes of all packets.
    fn bytes(&self) -> u64;
}

/// The CoDel state of one queue.
#[derive(Debug, Clone, Default)]
pub(super) struct CodelState {
    /// Time at which packets will have waited too long for a whole interval; 0 if they do not,
    /// because every such time is at least 1 ns.
    drop_after_ns: u64,
    drop_next_ns: u64,
    /// Signals since dropping began, and their number at its beginning.
    count: u32,
    first_count: u32,
    dropping: bool,
}

impl CodelState {
    /// Drops or marks packets that waited too long, oldest first. The oldest remaining packet is
    /// sent next.
    #[inline]
    pub(crate) fn judge(
        &mut self,
        rule: &CodelRule,
        now_ns: u64,
        queue: &mut impl Waiting,
        sink: &mut dyn PacketSink,
    ) {
        match queue.oldest() {
            Some((_, since_ns)) if !rule.is_short(since_ns, now_ns) => {
                self.decide_long_wait(&rule.config, now_ns, queue, sink);
            }
            _ => self.forget(),
        }
    }

    #[inline(never)]
    fn decide_long_wait(
        &mut self,
        config: &CodelConfig,
        now_ns: u64,
        queue: &mut impl Waiting,
        sink: &mut dyn PacketSink,
    ) {
        if self.is_too_long(config, now_ns, queue) {
            self.act(config, now_ns, queue, sink);
        } else {
            self.dropping = false;
        }
        if let Some(threshold_ns) = config.ce_threshold_ns
            && let Some((packet, since_ns)) = queue.oldest()
            && now_ns.saturating_sub(since_ns) > threshold_ns
        {
            mark(packet, sink);
        }
    }

    // No packet waits, or none for long, so the state is void.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.drop_after_ns = 0;
        self.dropping = false;
    }

    /// Returns `true` if packets have waited too long for a whole interval, including the oldest.
    #[inline]
    fn is_too_long(&mut self, config: &CodelConfig, now_ns: u64, queue: &mut impl Waiting) -> bool {
        let all_bytes = queue.bytes();
        let Some((oldest, since_ns)) = queue.oldest() else {
            self.forget();
            return false;
        };
        let bytes_behind = all_bytes - u64::from(oldest.wire_bytes());
        if now_ns.saturating_sub(since_ns) < config.target_ns || bytes_behind <= MTU_BYTES {
            self.drop_after_ns = 0;
        } else if self.drop_after_ns == 0 {
            self.drop_after_ns = now_ns.saturating_add(config.interval_ns.max(1));
        } else {
            return now_ns >= self.drop_after_ns;
        }
        false
    }

    /// Drops or marks the packets that are due.
    fn act(
        &mut self,
        config: &CodelConfig,
        now_ns: u64,
        queue: &mut impl Waiting,
        sink: &mut dyn PacketSink,
    ) {
        if !self.dropping {
            self.begin(config, now_ns);
            if !signal(config, queue, sink) {
                self.is_too_long(config, now_ns, queue);
            }
            return;
        }
        // A long backlog can have several drops due at once, but a marked packet ends the loop.
        while self.dropping && now_ns >= self.drop_next_ns {
            self.count = self.count.saturating_add(1);
            let marked = signal(config, queue, sink);
            self.dropping = marked || self.is_too_long(config, now_ns, queue);
            if self.dropping {
                self.drop_next_ns = later(self.drop_next_ns, config, self.count);
            }
            if marked {
                return;
            }
        }
    }

    /// Begins to drop. Shortly after the last drop, it starts near the rate that controlled the
    /// queue then.
    fn begin(&mut self, config: &CodelConfig, now_ns: u64) {
        let risen = self.count - self.first_count;
        let recent = now_ns.saturating_sub(self.drop_next_ns)
            < RECENT_INTERVALS.saturating_mul(config.interval_ns);
        self.count = if recent && risen > 1 { risen } else { 1 };
        self.first_count = self.count;
        self.drop_next_ns = later(now_ns, config, self.count);
        self.dropping = true;
    }
}

/// Signals congestion by the oldest packet. Returns `true` if it was marked, and so is still
/// queued.
fn signal(config: &CodelConfig, queue: &mut impl Waiting, sink: &mut dyn PacketSink) -> bool {
    if config.ecn
        && let Some((packet, _)) = queue.oldest()
        && mark(packet, sink)
    {
        return true;
    }
    if let Some(packet) = queue.pop() {
        sink.dropped(packet, DropReason::WaitedTooLong);
    }
    false
}

/// Marks a packet if it supports ECN. An existing mark counts too.
fn mark(packet: &mut Packet, sink: &mut dyn PacketSink) -> bool {
    if packet.ecn() == Ecn::Capable {
        packet.set_ecn(Ecn::Marked);
        sink.marked(packet);
    }
    packet.ecn() == Ecn::Marked
}

/// The control law: `from_ns` + interval / sqrt(count), the quotient rounded down to whole ns.
/// The rounding is exact, since the root of a quotient's whole part has the same whole part.
fn later(from_ns: u64, config: &CodelConfig, count: u32) -> u64 {
    let interval_ns = config.interval_ns.min(CodelConfig::MAX_INTERVAL_NS);
    from_ns.saturating_add((interval_ns * interval_ns / u64::from(count.max(1))).isqrt())
}
