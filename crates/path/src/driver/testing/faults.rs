//! A driver with injected faults.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::{fmt, mem};

use crate::driver::{ChunkSupport, Completions, InRing, TxRing};
use crate::packet::{Frame, Packet};

/// The probability of each fault, in 1/65,536; 65,536 and more is always. The same plan and the
/// same calls give the same faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultPlan {
    /// Seed of the random numbers.
    pub seed: u32,
    /// A submitted packet is rejected.
    pub rejected_submits: u32,
    /// The doorbell fails.
    pub failed_kicks: u32,
    /// A reap passes packets to `freed` and then fails.
    pub failed_reaps: u32,
    /// A completion is lost. Its packet is kept, see [`Faults::take_lost`].
    pub lost_completions: u32,
    /// A completion is delayed by 1 to [`MAX_DELAY_REAPS`](FaultPlan::MAX_DELAY_REAPS) reaps, so
    /// packets that were sent later can overtake it.
    pub delayed_completions: u32,
    /// A packet is returned twice; the second is forged, with the same frame and size.
    pub duplicated_completions: u32,
}

impl FaultPlan {
    /// Maximum delay of a completion, in reaps.
    pub const MAX_DELAY_REAPS: u32 = 8;

    /// The probability of a certain event.
    pub const ALWAYS: u32 = 1 << 16;
}

/// Faults injected so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultCounts {
    /// Packets rejected at submission.
    pub rejected_submits: u64,
    /// Doorbells that failed.
    pub failed_kicks: u64,
    /// Reaps that failed.
    pub failed_reaps: u64,
    /// Completions lost.
    pub lost_completions: u64,
    /// Completions delayed.
    pub delayed_completions: u64,
    /// Packets forged.
    pub duplicated_completions: u64,
}

/// The error of a driver in [`Faults`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultError<E> {
    /// The named call failed because of the plan.
    Planned(&'static str),
    /// The driver itself failed.
    Driver(E),
}

impl<E: fmt::Display> fmt::Display for FaultError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Planned(call) => write!(f, "{call} failed by plan"),
            Self::Driver(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for FaultError<E> {}

/// Wraps a driver, or one half of it, and injects the faults of a [`FaultPlan`]. No packet is lost
/// permanently: lost completions can be restored.
///
/// ```
/// use taut_path::driver::testing::{FaultPlan, Faults, mock};
/// use taut_path::pool::FramePool;
/// use taut_path::Queue;
///
/// let (tx, completions, device) = mock::ring(8);
/// let plan = FaultPlan { lost_completions: FaultPlan::ALWAYS, ..FaultPlan::default() };
/// let mut pool = FramePool::new(4, 64);
/// let mut queue = Queue::builder(tx, Faults::new(completions, plan)).build(0)?;
/// queue.enqueue(pool.packet(b"hello")?, 0, &mut pool);
/// let _ = queue.run(0, &mut pool);
/// device.complete(1);
///
/// // No packet completes, and after a second the queue reports a stall.
/// assert_eq!(queue.complete(1_000, &mut pool)?.counts.packets, 0);
/// assert!(queue.complete(2_000_000_000, &mut pool)?.stalled.is_some());
/// queue.device_mut().1.return_lost();
/// assert_eq!(queue.complete(2_000_001_000, &mut pool)?.counts.packets, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Faults<D> {
    driver: D,
    plan: FaultPlan,
    random: Random,
    lost: Vec<Packet>,
    delayed: VecDeque<Delayed>,
    counts: FaultCounts,
}

/// A delayed completion.
#[derive(Debug)]
struct Delayed {
    packet: Packet,
    /// Remaining delay, in reaps.
    reaps: u32,
}

impl<D> Faults<D> {
    /// Wraps `driver` with the faults of `plan`.
    pub fn new(driver: D, plan: FaultPlan) -> Self {
        Self {
            driver,
            plan,
            random: Random::new(plan.seed),
            lost: Vec::new(),
            delayed: VecDeque::new(),
            counts: FaultCounts::default(),
        }
    }

    /// Returns the driver.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// Returns the driver, for calls outside of the queue.
    pub fn driver_mut(&mut self) -> &mut D {
        &mut self.driver
    }

    /// Replaces the plan; the random numbers continue. The default plan injects no faults.
    pub fn set_plan(&mut self, plan: FaultPlan) {
        self.plan = plan;
    }

    /// Returns the faults injected so far.
    pub fn counts(&self) -> FaultCounts {
        self.counts
    }

    /// Takes the packets whose completion was lost, so that the caller can return them after a
    /// reset.
    pub fn take_lost(&mut self) -> Vec<Packet> {
        mem::take(&mut self.lost)
    }

    /// Lets the next reap return all lost or delayed packets, oldest first. Returns their number.
    pub fn return_lost(&mut self) -> usize {
        for delayed in &mut self.delayed {
            delayed.reaps = 0;
        }
        for packet in self.lost.drain(..).rev() {
            self.delayed.push_front(Delayed { packet, reaps: 0 });
        }
        self.delayed.len()
    }

    /// Returns up to `budget_packets` delayed packets that are due. Returns their number.
    fn reap_delayed(&mut self, budget_packets: u32, freed: &mut dyn FnMut(Packet)) -> u32 {
        let mut reaped = 0;
        for _ in 0..self.delayed.len() {
            let Some(mut delayed) = self.delayed.pop_front() else {
                break;
            };
            delayed.reaps = delayed.reaps.saturating_sub(1);
            if delayed.reaps == 0 && reaped < budget_packets {
                reaped += 1;
                freed(delayed.packet);
            } else {
                self.delayed.push_back(delayed);
            }
        }
        reaped
    }
}

/// Applies the plan to the completions of one reap.
struct Injection<'a> {
    plan: FaultPlan,
    random: &'a mut Random,
    lost: &'a mut Vec<Packet>,
    delayed: &'a mut VecDeque<Delayed>,
    counts: &'a mut FaultCounts,
}

impl Injection<'_> {
    fn apply(&mut self, packet: Packet, freed: &mut dyn FnMut(Packet)) {
        if self.random.happens(self.plan.lost_completions) {
            self.counts.lost_completions += 1;
            self.lost.push(packet);
            return;
        }
        if self.random.happens(self.plan.delayed_completions) {
            self.counts.delayed_completions += 1;
            let reaps = 1 + self.random.next() % FaultPlan::MAX_DELAY_REAPS;
            self.delayed.push_back(Delayed { packet, reaps });
            return;
        }
        let forged = self
            .random
            .happens(self.plan.duplicated_completions)
            .then(|| {
                self.counts.duplicated_completions += 1;
                Packet::new(Frame::new(packet.frame().index()), packet.wire_bytes())
            });
        freed(packet);
        if let Some(forged) = forged {
            freed(forged);
        }
    }
}

impl<D: TxRing> TxRing for Faults<D> {
    type Error = FaultError<D::Error>;

    fn capacity_slots(&self) -> u32 {
        self.driver.capacity_slots()
    }

    fn slots_free(&self) -> u32 {
        self.driver.slots_free()
    }

    fn slots_of_largest(&self) -> u32 {
        self.driver.slots_of_largest()
    }

    fn chunk_support(&self) -> ChunkSupport {
        self.driver.chunk_support()
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        if self.random.happens(self.plan.rejected_submits) {
            self.counts.rejected_submits += 1;
            return Err(packet);
        }
        self.driver.submit(packet, now_ns)
    }

    fn kick(&mut self, now_ns: u64) -> Result<(), Self::Error> {
        if self.random.happens(self.plan.failed_kicks) {
            self.counts.failed_kicks += 1;
            return Err(FaultError::Planned("kick"));
        }
        self.driver.kick(now_ns).map_err(FaultError::Driver)
    }
}

impl<D: Completions> Completions for Faults<D> {
    type Error = FaultError<D::Error>;

    /// As the driver reports: lost or delayed completions leave their slots free.
    fn slots_free(&self) -> u32 {
        self.driver.slots_free()
    }

    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Self::Error> {
        let budget_left = budget_packets - self.reap_delayed(budget_packets, freed);
        let mut injection = Injection {
            plan: self.plan,
            random: &mut self.random,
            lost: &mut self.lost,
            delayed: &mut self.delayed,
            counts: &mut self.counts,
        };
        let more = self
            .driver
            .reap(now_ns, budget_left, &mut |packet| {
                injection.apply(packet, freed)
            })
            .map_err(FaultError::Driver)?;
        if self.random.happens(self.plan.failed_reaps) {
            self.counts.failed_reaps += 1;
            return Err(FaultError::Planned("reap"));
        }
        Ok(more || self.delayed.iter().any(|delayed| delayed.reaps == 0))
    }

    /// As the driver reports, plus delayed packets. Lost packets are not included.
    fn in_ring(&self) -> Option<InRing> {
        let delayed = self
            .delayed
            .iter()
            .map(|delayed| delayed.packet.wire_bytes());
        self.driver.in_ring().map(|ring| InRing {
            packets: ring.packets.wrapping_add(self.delayed.len() as u32),
            bytes: delayed.fold(ring.bytes, u32::wrapping_add),
        })
    }

    fn completions_valid(&self) -> bool {
        self.driver.completions_valid()
    }
}

/// Marsaglia's 32-bit xorshift: small and portable.
#[derive(Debug)]
struct Random(u32);

impl Random {
    /// The state must not be 0, where the generator would stay. The factor (2^32 over the golden
    /// ratio) spreads neighbouring seeds.
    fn new(seed: u32) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9).max(1))
    }

    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// An impossible event uses no random number, so a plan without faults has no cost.
    fn happens(&mut self, probability: u32) -> bool {
        probability > 0 && self.next() >> 16 < probability
    }
}
