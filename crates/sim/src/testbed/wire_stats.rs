//! Statistics of a run: bytes in the rings over time, and the busy and dry time of the wire.
//! Requires a NIC whose packets count as sent at their end; with `FinishedAt::Start`, their end
//! would be counted too early.

use std::mem::take;

use crate::NEVER_NS;
use crate::nic::WireWatch;

/// Length of a step of the losses, in ns: short compared with the first second, after which the
/// target applies.
pub const LOSS_STEP_NS: u64 = 10_000_000;

/// Bytes in all rings, and their integral over time.
#[derive(Debug, Clone, Copy, Default)]
struct HeldBytes {
    bytes: u64,
    byte_ns: u128,
    since_ns: u64,
}

impl HeldBytes {
    /// Adds the time until `now_ns` with the current bytes.
    #[inline]
    fn hold_until(&mut self, now_ns: u64) {
        // A batch reports many packets at one time.
        if now_ns != self.since_ns {
            let held_ns = now_ns - self.since_ns;
            self.byte_ns += u128::from(self.bytes) * u128::from(held_ns);
            self.since_ns = now_ns;
        }
    }
}

/// Sums over time.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    /// Unsent bytes. A packet counts completely until its last bit has left.
    unsent: HeldBytes,
    /// Bytes in flight: queued minus reported.
    in_flight: HeldBytes,
    /// Time in which the wire was sending.
    busy_ns: u64,
    /// Time in which it was idle with packets queued.
    dry_ns: u64,
}

impl Sums {
    /// Returns the dry time and the total time with packets, in ns.
    fn losses(&self) -> (u64, u64) {
        (self.dry_ns, self.dry_ns + self.busy_ns)
    }
}

/// Statistics of a run.
#[derive(Debug, Clone)]
pub(crate) struct WireStats {
    /// Sums since the start.
    now: Sums,
    /// Sums at the start of the measured time.
    before: Sums,
    /// The losses from the start to the end of each step. An interval over several steps counts in
    /// its last one.
    losses: Vec<(u64, u64)>,
    /// End of the current loss step, in ns; never if losses are not recorded.
    step_ends_ns: u64,
    /// Time since which packets wait for room, if any do.
    waiting_since_ns: Option<u64>,
}

impl WireStats {
    pub(crate) fn new(keeps_losses: bool) -> Self {
        Self {
            now: Sums::default(),
            before: Sums::default(),
            losses: Vec::new(),
            step_ends_ns: if keeps_losses { 0 } else { NEVER_NS },
            waiting_since_ns: None,
        }
    }

    /// Adds the time until `now_ns` with unchanged rings.
    pub(crate) fn hold_until(&mut self, now_ns: u64) {
        self.now.unsent.hold_until(now_ns);
        self.now.in_flight.hold_until(now_ns);
    }

    /// Starts the measurement. All sums must be up to date.
    pub(crate) fn begin(&mut self) {
        self.before = self.now;
    }

    /// Returns the unsent and the unreported bytes.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.now.unsent.bytes, self.now.in_flight.bytes)
    }

    /// Sets whether packets are waiting from `now_ns` on.
    pub(crate) fn set_waiting(&mut self, waiting: bool, now_ns: u64) {
        self.waiting_since_ns = match self.waiting_since_ns {
            Some(since_ns) if waiting => Some(since_ns),
            _ => waiting.then_some(now_ns),
        };
    }

    /// Ends the loss steps before `at_ns`.
    #[inline]
    fn reach(&mut self, at_ns: u64) {
        if at_ns >= self.step_ends_ns {
            let step = at_ns / LOSS_STEP_NS;
            self.losses.resize(step as usize, self.now.losses());
            self.step_ends_ns = (step + 1).saturating_mul(LOSS_STEP_NS);
        }
    }

    /// Returns the dry time of the wire in the measured time, in ns.
    pub(crate) fn dry_ns(&self) -> u64 {
        self.now.dry_ns - self.before.dry_ns
    }

    /// Returns the dry time before the measured time, in ns.
    pub(crate) fn dry_before_ns(&self) -> u64 {
        self.before.dry_ns
    }

    /// Returns the busy time of the wire in the measured time, in ns.
    pub(crate) fn busy_ns(&self) -> u64 {
        self.now.busy_ns - self.before.busy_ns
    }

    /// Returns unsent and unreported bytes, integrated over the measured time.
    pub(crate) fn byte_ns(&self) -> (u128, u128) {
        (
            self.now.unsent.byte_ns - self.before.unsent.byte_ns,
            self.now.in_flight.byte_ns - self.before.in_flight.byte_ns,
        )
    }

    /// Takes the losses so far, if they are recorded.
    pub(crate) fn take_losses(&mut self) -> Vec<(u64, u64)> {
        let mut losses = take(&mut self.losses);
        if self.step_ends_ns < NEVER_NS {
            losses.push(self.now.losses());
        }
        losses
    }
}

impl WireWatch for WireStats {
    #[inline]
    fn submitted(&mut self, bytes: u32, now_ns: u64) {
        for level in [&mut self.now.unsent, &mut self.now.in_flight] {
            level.hold_until(now_ns);
            level.bytes += u64::from(bytes);
        }
    }

    #[inline]
    fn sent(&mut self, bytes: u32, starts_ns: u64, ends_ns: u64) {
        self.reach(ends_ns);
        self.now.busy_ns += ends_ns - starts_ns;
        self.now.unsent.hold_until(ends_ns);
        self.now.unsent.bytes -= u64::from(bytes);
    }

    #[inline]
    fn reported(&mut self, bytes: u64, now_ns: u64) {
        self.now.in_flight.hold_until(now_ns);
        self.now.in_flight.bytes -= bytes;
    }

    /// Only idle time with packets queued is dry time.
    fn was_idle(&mut self, since_ns: u64, until_ns: u64) {
        if let Some(waiting_ns) = self.waiting_since_ns {
            self.reach(until_ns);
            let since_ns = since_ns.max(waiting_ns);
            self.now.dry_ns += until_ns.saturating_sub(since_ns);
        }
    }
}
