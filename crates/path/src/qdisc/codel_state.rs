//! CoDel for one queue of packets (RFC 8289): when the packets have waited longer than a target
//! for a whole interval, one of them is dropped or marked, and the next ones ever sooner.

use crate::packet::{DropReason, Ecn, Packet, PacketSink};

/// A queue that holds no more than this is never too long: it only keeps the link busy. One full
/// Ethernet frame without its check sequence.
const MTU_BYTES: u64 = 1514;

/// Returning to dropping within so many intervals starts near the rate that worked last.
const RECENT_INTERVALS: u64 = 16;

/// What CoDel is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodelConfig {
    /// How long packets may wait for good, in ns.
    pub target_ns: u64,
    /// For how long they may wait longer, in ns: about the longest round trip. 0 counts as 1, and
    /// [`MAX_INTERVAL_NS`](Self::MAX_INTERVAL_NS) is the most for the control law.
    pub interval_ns: u64,
    /// Packets that allow it are marked, not dropped.
    pub ecn: bool,
    /// Every packet that waited longer than this, in ns, is marked if it allows it, whatever
    /// `ecn` says.
    pub ce_threshold_ns: Option<u64>,
}

impl CodelConfig {
    /// The longest interval, in ns: its square fits 64 bits. Round trips are far shorter.
    pub const MAX_INTERVAL_NS: u64 = 4_000_000_000;
}

impl Default for CodelConfig {
    /// What RFC 8289 and `tc` choose: 5 ms and 100 ms, dropping.
    fn default() -> Self {
        Self {
            target_ns: 5_000_000,
            interval_ns: 100_000_000,
            ecn: false,
            ce_threshold_ns: None,
        }
    }
}

/// What CoDel is told, and what follows from it.
#[derive(Debug)]
pub(super) struct CodelRule {
    config: CodelConfig,
    /// A packet that waited for less is sent as it is, whatever came before.
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

    /// Whether a packet that waits since `since_ns` is sent as it is, whatever came before. False
    /// also where time went back: judging knows what that means.
    #[inline(always)]
    pub(crate) fn is_short(&self, since_ns: u64, now_ns: u64) -> bool {
        now_ns.wrapping_sub(since_ns) < self.short_wait_ns
    }
}

/// The packets that a [`CodelState`] judges, oldest first. They are judged where they are: moving
/// them is what costs.
pub(super) trait Waiting {
    /// The oldest, and since when it waits, in ns.
    fn oldest(&mut self) -> Option<(&mut Packet, u64)>;
    /// Takes the oldest.
    fn pop(&mut self) -> Option<Packet>;
    /// The bytes of all.
    fn bytes(&self) -> u64;
}

/// What CoDel remembers of one queue.
#[derive(Debug, Clone, Default)]
pub(super) struct CodelState {
    /// When packets will have waited too long for a whole interval; 0 if they do not, since every
    /// such time lies after an interval of at least 1 ns.
    drop_after_ns: u64,
    drop_next_ns: u64,
    /// Signals since dropping began, and what that was at its beginning.
    count: u32,
    first_count: u32,
    dropping: bool,
}

impl CodelState {
    /// Drops or marks what waited too long, oldest first: the oldest of what is left then is the
    /// packet to send next.
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
                self.judge_long_wait(&rule.config, now_ns, queue, sink);
            }
            _ => self.forget(),
        }
    }

    #[inline(never)]
    fn judge_long_wait(
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

    /// What was learnt of packets that wait is void once none does, or none for long.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.drop_after_ns = 0;
        self.dropping = false;
    }

    /// Whether packets have waited too long for a whole interval, the oldest among them.
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

    /// Drops or marks what is due.
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
        // A long backlog may owe several drops at once, but a marked packet goes on.
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

    /// Begins to drop. Shortly after the last time, the rate that held the queue then is about
    /// right.
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

/// Tells a sender of congestion, by the oldest packet. Returns whether a mark did, and the packet is
/// still there.
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

/// Marks a packet if it allows that. A mark that it came with is as good.
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
