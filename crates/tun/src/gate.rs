//! The limit of one path: the bytes between release and departure.

use std::collections::VecDeque;

use taut_path::AnyLimit;
use taut_path::limit::StandaloneLimit;
use taut_udp::StallTimer;

use crate::released::{Released, take_packets};
use crate::snapshot::{KernelStall, PathCounters};

/// Admitted to the program while no queue below the socket exists: about 180 packets, so that the
/// program's own batches stay large.
const PROGRAM_BYTES: u32 = 256 << 10;
/// Time without a sent datagram after which released packets are residuals, if a second check after
/// the same time agrees. Two checks, because a stopped process resumes with both times in the past.
const EXPIRY_NS: u64 = 10_000_000;
/// Maximum of that time, which doubles with each expiry until the program sends again.
const MAX_EXPIRY_NS: u64 = 1_000_000_000;
/// If the program holds packets during all of this time, releases pause until it holds none.
const STANDING_NS: u64 = 200_000_000;
/// Replaces [`EXPIRY_NS`] during a pause, because the path is blocked while residuals remain.
const PAUSED_EXPIRY_NS: u64 = 2_000_000;

/// Maximum number of expired packets that can be matched with a later datagram.
const MAX_EXPIRED: usize = 256;

/// A counted datagram, and what to restore if the kernel does not accept it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) units: u32,
    pub(crate) epoch: u32,
    /// It carries released packets.
    is_matched: bool,
    /// It carries expired packets.
    is_late: bool,
    /// Previous lengths of the first released and the first expired packet.
    front_bytes: [u32; 2],
}

/// Counts bytes from release to departure, without a clock or a socket.
///
/// A released packet is first held by the program, and counts until a datagram of at least its
/// length is sent. It then counts until that datagram departs. Packets that the program never sends
/// are residuals: they expire.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) limit: StandaloneLimit<AnyLimit>,
    overhead_bytes: u32,
    released: VecDeque<Released>,
    pub(crate) program_bytes: u32,
    pub(crate) kernel_bytes: u32,
    /// Changes when the bytes in the kernel were abandoned.
    pub(crate) epoch: u32,
    pub(crate) limit_applies: bool,
    /// A packet waits for room.
    pub(crate) blocked: bool,
    standing: Standing,
    residuals: Residuals,
    kernel: KernelProgress,
    pub(crate) counters: PathCounters,
}

/// Detects packets that stay in the program.
#[derive(Debug, Default)]
struct Standing {
    window_ends_ns: u64,
    min_bytes: u32,
    /// Releases are paused.
    paused: bool,
}

/// The time since which the program sends nothing.
#[derive(Debug, Default)]
struct Residuals {
    since_ns: u64,
    suspected: bool,
    expiry_ns: u64,
    /// Expired packets that might still be sent, the latest.
    expired: VecDeque<Released>,
}

/// The time since which the kernel completes nothing.
#[derive(Debug)]
struct KernelProgress {
    since_ns: u64,
    stalls: StallTimer,
    /// Departed and not yet reported to the rule.
    batch_bytes: u32,
}

impl Gate {
    pub(crate) fn new(
        limit: AnyLimit,
        overhead_bytes: u32,
        stall_threshold_ns: u64,
        now_ns: u64,
    ) -> Self {
        Self {
            limit: StandaloneLimit::new(limit, now_ns),
            overhead_bytes,
            released: VecDeque::new(),
            program_bytes: 0,
            kernel_bytes: 0,
            epoch: 0,
            limit_applies: true,
            blocked: false,
            standing: Standing::default(),
            residuals: Residuals {
                expiry_ns: EXPIRY_NS,
                ..Residuals::default()
            },
            kernel: KernelProgress {
                since_ns: 0,
                stalls: StallTimer::new(stall_threshold_ns),
                batch_bytes: 0,
            },
            counters: PathCounters::default(),
        }
    }

    /// Returns `true` if one more packet can be released.
    pub(crate) fn has_room(&self, now_ns: u64) -> bool {
        if self.standing.paused {
            return false;
        }
        if !self.limit_applies {
            return self.program_bytes < PROGRAM_BYTES;
        }
        self.limit.has_room() || self.kernel.stalls.allows_probe(now_ns)
    }

    /// Records that a packet waits and has no room.
    pub(crate) fn note_blocked(&mut self) {
        if !self.blocked && self.limit_applies {
            self.blocked = true;
            self.counters.times_blocked += 1;
            self.limit.blocked();
        }
    }

    /// Counts a released packet of `inner_bytes`.
    pub(crate) fn release(&mut self, inner_bytes: u32, now_ns: u64) {
        let units = inner_bytes.saturating_add(self.overhead_bytes).max(1);
        if self.limit.queued(units, now_ns).is_err() {
            return; // More than 2 GiB in flight: not counted, so it blocks nothing.
        }
        if self.program_bytes == 0 {
            self.residuals.since_ns = now_ns;
            self.standing.min_bytes = 0;
        }
        self.kernel.stalls.sent(now_ns);
        self.blocked = false;
        self.program_bytes += units;
        self.counters.released_packets += 1;
        self.counters.released_bytes += u64::from(units);
        self.released.push_back(Released {
            inner_bytes,
            units,
            at_ns: now_ns,
        });
    }

    /// Counts a datagram, before the kernel can see it. Its units are those of the packets in it. A
    /// datagram without a released packet, such as a handshake, counts itself.
    pub(crate) fn sent(&mut self, payload_bytes: u32, now_ns: u64) -> Counted {
        self.residuals.since_ns = now_ns;
        self.residuals.suspected = false;
        self.residuals.expiry_ns = self.shortest_expiry_ns();
        let expired = &mut self.residuals.expired;
        let front_bytes = [&self.released, &*expired]
            .map(|packets| packets.front().map_or(0, |front| front.inner_bytes));
        let (units, _) = take_packets(&mut self.released, payload_bytes);
        let mut counted = Counted {
            units,
            epoch: self.epoch,
            is_matched: units > 0,
            is_late: false,
            front_bytes,
        };
        self.program_bytes -= units;
        if units == 0 {
            let units = payload_bytes.saturating_add(self.overhead_bytes).max(1);
            if self.limit.queued(units, now_ns).is_err() {
                return counted;
            }
            let (_, late) = take_packets(expired, payload_bytes);
            (counted.units, counted.is_late) = (units, late > 0);
            self.counters.late_residuals += late;
            self.counters.unmatched_datagrams += 1;
            self.counters.unmatched_bytes += u64::from(units);
        }
        self.observe_standing(now_ns);
        if self.kernel_bytes == 0 {
            self.kernel.since_ns = now_ns;
        }
        self.kernel_bytes += counted.units;
        counted
    }

    /// Returns a datagram of `payload_bytes`, for which the kernel had no room. The program holds
    /// its packets again. A datagram without a released packet is no longer counted.
    pub(crate) fn unsent(&mut self, counted: Counted, payload_bytes: u32) {
        let units = counted.units;
        let packet = Released {
            inner_bytes: payload_bytes,
            units,
            at_ns: self.residuals.since_ns,
        };
        if counted.epoch == self.epoch {
            self.kernel_bytes -= units;
            if counted.is_matched {
                self.program_bytes += units;
                self.released.push_front(packet);
            } else {
                self.limit.abandon(units);
            }
        }
        if counted.is_matched {
            return;
        }
        let expired = &mut self.residuals.expired;
        if counted.is_late {
            self.counters.late_residuals -= 1;
            expired.push_front(packet);
        }
        let fronts = [&mut self.released, expired].map(VecDeque::front_mut);
        for (front, bytes) in fronts.into_iter().zip(counted.front_bytes) {
            if let Some(front) = front {
                front.inner_bytes = front.inner_bytes.max(bytes);
            }
        }
        self.counters.unmatched_datagrams -= u64::from(units > 0);
        self.counters.unmatched_bytes -= u64::from(units);
    }

    /// Removes a datagram that the kernel rejected.
    pub(crate) fn rejected(&mut self, counted: Counted) {
        if counted.epoch == self.epoch {
            self.kernel_bytes -= counted.units;
            self.limit.abandon(counted.units);
        }
        self.counters.rejected_datagrams += 1;
    }

    /// Records that a datagram of the epoch departed, or that its completion was lost.
    pub(crate) fn departed(&mut self, counted: Counted, lost: bool, now_ns: u64) {
        let units = counted.units;
        if counted.epoch != self.epoch {
            self.counters.stale_datagrams += 1;
            return;
        }
        self.kernel_bytes -= units;
        self.kernel.since_ns = now_ns;
        self.kernel.stalls.clear();
        self.counters.departed_datagrams += 1;
        if lost {
            self.limit.abandon(units);
            self.counters.lost_completions += 1;
        } else {
            self.counters.departed_bytes += u64::from(units);
            self.kernel.batch_bytes += units;
        }
    }

    /// Ends a completion batch.
    pub(crate) fn end_batch(&mut self, now_ns: u64) {
        let units = std::mem::take(&mut self.kernel.batch_bytes);
        if units > 0 {
            // Cannot fail: these units are in flight.
            let _ = self.limit.completed(units, false, now_ns);
            self.blocked = false;
            self.counters.completion_batches += 1;
        }
    }

    /// Abandons the bytes in the kernel: the peer has moved, and they left on another path.
    pub(crate) fn abandon_kernel(&mut self) {
        self.limit.abandon(self.kernel_bytes);
        self.kernel_bytes = 0;
        self.kernel.stalls.clear();
        self.epoch = self.epoch.wrapping_add(1);
    }

    fn observe_standing(&mut self, now_ns: u64) {
        let standing = &mut self.standing;
        standing.min_bytes = standing.min_bytes.min(self.program_bytes);
        if self.program_bytes == 0 {
            standing.paused = false;
        }
        if now_ns >= standing.window_ends_ns {
            standing.paused = standing.min_bytes > 0;
            standing.min_bytes = self.program_bytes;
            standing.window_ends_ns = now_ns + STANDING_NS;
            self.counters.pauses += u64::from(standing.paused);
            self.residuals.expiry_ns = self.shortest_expiry_ns();
        }
    }

    fn shortest_expiry_ns(&self) -> u64 {
        match self.standing.paused {
            true => PAUSED_EXPIRY_NS,
            false => EXPIRY_NS,
        }
    }

    /// Checks for stalls and residuals. Must be called at [`next_wakeup`](Self::next_wakeup).
    /// Returns `true` if there might be room now.
    pub(crate) fn check(&mut self, now_ns: u64) -> bool {
        let was_stalled = self.kernel.stalls.is_stalled();
        let since_ns = (self.kernel_bytes > 0).then_some(self.kernel.since_ns);
        let is_stalled = self.kernel.stalls.check(since_ns, now_ns).is_some();
        self.counters.stalls += u64::from(is_stalled && !was_stalled);
        let residuals = &mut self.residuals;
        if self.program_bytes == 0 || now_ns < residuals.since_ns + residuals.expiry_ns {
            return is_stalled;
        }
        if !residuals.suspected {
            residuals.suspected = true;
            residuals.since_ns = now_ns;
            return is_stalled;
        }
        self.expire(now_ns);
        true
    }

    /// Expires the packets that were released at least one expiry time ago.
    fn expire(&mut self, now_ns: u64) {
        let expiry_ns = self.residuals.expiry_ns;
        let is_old = |packet: &Released| packet.at_ns + expiry_ns <= now_ns;
        let count = self.released.iter().take_while(|it| is_old(it)).count();
        let mut units = 0;
        for packet in self.released.drain(..count) {
            units += packet.units;
            self.residuals.expired.push_back(packet);
        }
        let expired = &mut self.residuals.expired;
        expired.drain(..expired.len().saturating_sub(MAX_EXPIRED));
        self.program_bytes -= units;
        self.limit.abandon(units);
        self.counters.expired_packets += count as u64;
        self.counters.expired_bytes += u64::from(units);
        self.standing.paused = false;
        self.residuals.suspected = false;
        self.residuals.since_ns = now_ns;
        self.residuals.expiry_ns = (2 * expiry_ns).min(MAX_EXPIRY_NS);
    }

    /// Returns the current stall of the kernel.
    pub(crate) fn stall(&self, now_ns: u64) -> Option<KernelStall> {
        self.kernel.stalls.is_stalled().then(|| KernelStall {
            bytes: self.kernel_bytes,
            age_ns: now_ns.saturating_sub(self.kernel.since_ns),
        })
    }

    /// Returns when to call [`check`](Self::check), if something is in flight.
    pub(crate) fn next_wakeup(&self) -> Option<u64> {
        let residual_ns = self.residuals.since_ns + self.residuals.expiry_ns;
        let residual_ns = (self.program_bytes > 0).then_some(residual_ns);
        let stall_ns = match self.kernel_bytes {
            0 => None,
            _ => self.kernel.stalls.next_wakeup(self.kernel.since_ns),
        };
        residual_ns.into_iter().chain(stall_ns).min()
    }
}
