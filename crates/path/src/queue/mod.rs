//! The transmit queue: a discipline above, a limit and a ring below.
//!
//! Two halves share two gates. The [`Sender`] runs the discipline while the limit has room and the
//! largest packet's slots are free; the [`Reaper`] takes completions, tells the limit, and says
//! when the sender must be run again. On one thread, [`TxQueue`] holds both.

mod flow_map;
pub mod many;
mod one_thread;
mod reaper;
mod sender;

use alloc::sync::Arc;
use core::fmt;
use core::task::Waker;

use taut_dql::sync::AtomicU64;

use crate::gate::Gate;
use crate::limit::Limit;
use crate::packet::DropReason;
use crate::qdisc::Qdisc;
use crate::room::RoomWaker;

pub use flow_map::{FlowMap, FlowMapError};
pub use one_thread::TxQueue;
pub use reaper::{CompleteError, Completed, Reaper, ReaperCounters};
pub use sender::{NoRoom, Sender, SenderCounters};

/// Why a queue is stopped; only the owner of a reason clears it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The limit has no room: the stack stop.
    Limit,
    /// The ring is too full for the largest packet: the driver stop.
    RingFull,
}

/// Why [`Sender::run`] returned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop<E> {
    /// Nothing waits in the discipline.
    Idle,
    /// The limit has no room; the reaper will schedule the queue.
    Limit,
    /// The ring is full; the reaper will schedule the queue.
    RingFull,
    /// Packets wait in the discipline, and the first is ready at this time, in ns.
    NotReady(u64),
    /// The doorbell failed. What was submitted stays in the ring; run again to retry.
    Failed(E),
}

/// How a queue is set up.
#[derive(Debug, Clone)]
pub struct QueueConfig {
    /// Slots of the ring.
    pub slots: u32,
    /// Free slots at which a queue that stopped for a full ring starts again: the low watermark.
    /// 1 to `slots`; best between 1/2 and 3/4 of the ring, since it must be refilled before it
    /// drains.
    pub restart_slots: u32,
    /// Most packets for one doorbell, at least 1.
    pub train_packets: u32,
    /// Most packets reaped in one round, at least 1.
    pub reap_budget_packets: u32,
    /// Age of the oldest byte in flight that counts as a stall, in ns; 0 watches nothing.
    pub stall_threshold_ns: u64,
    /// Wakes a sender that waits for room; see [`Sender::must_wait`].
    pub waker: Waker,
}

impl QueueConfig {
    /// The defaults for a ring of `slots` slots.
    pub fn new(slots: u32) -> Self {
        Self {
            slots,
            restart_slots: (slots / 2).max(1),
            // The most that the kernel's bulk dequeue puts behind one doorbell.
            train_packets: 64,
            // A whole ring at once: the limit wants whole rounds, not slices of them.
            reap_budget_packets: u32::MAX,
            stall_threshold_ns: 0,
            waker: Waker::noop().clone(),
        }
    }

    fn validate(&self) -> Result<(), QueueConfigError> {
        let at_least_one = [
            ("restart_slots", self.restart_slots),
            ("train_packets", self.train_packets),
            ("reap_budget_packets", self.reap_budget_packets),
        ];
        match at_least_one.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(QueueConfigError::Zero(name)),
            // A queue that waits for more slots than there are never starts again.
            None if self.restart_slots > self.slots => Err(QueueConfigError::RestartAboveRing {
                restart_slots: self.restart_slots,
                slots: self.slots,
            }),
            None => Ok(()),
        }
    }
}

/// Why a queue could not be set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueConfigError {
    /// The named value must be at least 1.
    Zero(&'static str),
    /// The low watermark lies outside of the ring.
    RestartAboveRing {
        /// The watermark asked for.
        restart_slots: u32,
        /// Slots of the ring.
        slots: u32,
    },
    /// The ring is smaller than its largest packet, so nothing could ever be sent.
    LargestAboveRing {
        /// Slots that the largest packet can take.
        slots_of_largest: u32,
        /// Slots of the ring.
        slots: u32,
    },
    /// The rule of a budget counts packets. Queues share bytes: a packet of one may be forty times
    /// one of another.
    BudgetNotInBytes,
    /// The limit's settings contradict each other.
    Limit(taut_dql::Error),
}

impl fmt::Display for QueueConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(name) => write!(f, "{name} is 0; it must be at least 1"),
            Self::RestartAboveRing {
                restart_slots,
                slots,
            } => {
                write!(
                    f,
                    "restart_slots is {restart_slots}; allowed: 1 to {slots}, the ring"
                )
            }
            Self::LargestAboveRing {
                slots_of_largest,
                slots,
            } => {
                write!(
                    f,
                    "slots is {slots}; the largest packet alone takes {slots_of_largest}"
                )
            }
            Self::BudgetNotInBytes => f.write_str(
                "the budget's rule counts packets; allowed is a rule that counts bytes, such as \
                 a fixed number of them or a dynamic one",
            ),
            Self::Limit(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for QueueConfigError {}

/// What both halves see.
#[derive(Debug)]
pub(crate) struct Shared {
    stack: Gate,
    driver: Gate,
    room: RoomWaker,
    /// When the burst that is in flight began on an empty queue, in ns. Written by the sender
    /// before it accounts for the burst's first packet.
    burst_start_ns: AtomicU64,
}

impl Shared {
    pub(crate) fn new(config: &QueueConfig, now_ns: u64) -> Self {
        Self {
            stack: Gate::new(),
            driver: Gate::new(),
            room: RoomWaker::new(config.waker.clone()),
            burst_start_ns: AtomicU64::new(now_ns),
        }
    }

    /// Whether the limit, or a budget above it, stopped the queue.
    pub(crate) fn is_stopped_by_stack(&self) -> bool {
        self.stack.is_closed()
    }

    /// For a budget that has room for this queue: clears the stack stop and wakes a sender that
    /// waits. Returns whether this call cleared it and the sender can run.
    pub(crate) fn start_stack(&self) -> bool {
        let started = self.stack.open() && self.is_open();
        if started {
            self.room.notify(|| true);
        }
        started
    }

    fn is_open(&self) -> bool {
        !self.stack.is_closed() && !self.driver.is_closed()
    }
}

/// Makes a queue of `discipline` and `limit` and divides it into its halves.
///
/// # Errors
/// If a value of `config` is 0, or the limit's settings contradict each other.
pub fn split<L: Limit>(
    discipline: alloc::boxed::Box<dyn Qdisc + Send>,
    limit: L,
    config: QueueConfig,
    now_ns: u64,
) -> Result<(Sender<L>, Reaper<L>), QueueConfigError> {
    let shared = Arc::new(Shared::new(&config, now_ns));
    split_around(shared, discipline, limit, &config, now_ns)
}

/// As [`split`], around gates that somebody else knows of too.
pub(crate) fn split_around<L: Limit>(
    shared: Arc<Shared>,
    discipline: alloc::boxed::Box<dyn Qdisc + Send>,
    limit: L,
    config: &QueueConfig,
    now_ns: u64,
) -> Result<(Sender<L>, Reaper<L>), QueueConfigError> {
    config.validate()?;
    let (limit_sender, limit_completer) = limit.split(now_ns).map_err(QueueConfigError::Limit)?;
    let sender = Sender::new(
        discipline,
        limit_sender,
        shared.clone(),
        config.train_packets,
    );
    Ok((sender, Reaper::new(limit_completer, shared, config)))
}

/// Forgets everything in flight and starts the queue again, after a flush of descriptors that were
/// not reported. Completions of before the reset still give back their packets, are counted as
/// late and never reach the limit. Needs both halves.
///
/// # Errors
/// If the halves belong to different queues; nothing changes.
pub fn reset<L: Limit>(
    sender: &mut Sender<L>,
    reaper: &mut Reaper<L>,
    now_ns: u64,
) -> Result<(), taut_dql::Error> {
    if !Arc::ptr_eq(&sender.shared, &reaper.shared) {
        return Err(taut_dql::Error::NotTheSameQueue);
    }
    L::reset(&mut sender.limit, &mut reaper.limit, now_ns)?;
    reaper.forget_in_flight();
    sender.shared.stack.open();
    sender.shared.driver.open();
    sender.shared.room.notify(|| true);
    Ok(())
}

/// Packets dropped, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drops {
    by_reason: [u64; DropReason::ALL.len()],
}

impl Drops {
    /// Counts one drop.
    pub fn count(&mut self, reason: DropReason) {
        if let Some(index) = DropReason::ALL.iter().position(|&known| known == reason) {
            self.by_reason[index] += 1;
        }
    }

    /// Drops for `reason`.
    pub fn of(&self, reason: DropReason) -> u64 {
        DropReason::ALL
            .iter()
            .zip(self.by_reason)
            .find_map(|(&known, drops)| (known == reason).then_some(drops))
            .unwrap_or(0)
    }

    /// All drops.
    pub fn total(&self) -> u64 {
        self.by_reason.iter().sum()
    }
}
