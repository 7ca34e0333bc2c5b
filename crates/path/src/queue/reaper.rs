//! The completing half of a transmit queue.

use alloc::sync::Arc;
use core::fmt;

use taut_dql::sync::Ordering;
use taut_dql::{Snapshot, Stall, StallWatch};

use super::{QueueConfig, Shared};
use crate::driver::Completions;
use crate::limit::{Done, Limit, LimitCompleter};
use crate::packet::PacketSink;
use crate::probe::Probe;

/// What one call of [`Reaper::complete`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completed {
    /// What counts for the limit.
    pub done: Done,
    /// Packets of before a reset: given back, but not counted.
    pub late_packets: u32,
    /// The queue was stopped and is not any more: run the sender.
    pub schedule: bool,
    /// The round stopped at its budget while more packets were finished: complete again.
    pub more: bool,
}

/// Why a completion round failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompleteError<E> {
    /// The device could not be asked.
    Driver(E),
    /// The device reported more than it was given. The limit did not change, and every packet was
    /// given back.
    Accounting(taut_dql::Error),
}

impl<E: fmt::Display> fmt::Display for CompleteError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driver(error) => error.fmt(f),
            Self::Accounting(error) => write!(f, "completion accounting: {error}"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for CompleteError<E> {}

/// What the completing half did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReaperCounters {
    /// Packets completed that count for the limit.
    pub completed_packets: u64,
    /// Their bytes.
    pub completed_bytes: u64,
    /// Packets of before a reset.
    pub late_packets: u64,
    /// Warning: packets whose budget came back before the device was done with them. The driver
    /// lets go of their owners, and small queues hold nothing back.
    pub orphaned_packets: u64,
    /// Rounds in which something was completed.
    pub rounds: u64,
    /// Rounds after which the device had nothing left while the limit held the sender back.
    pub starved: u64,
    /// Stalls so far (`stall_cnt`).
    pub stalls: u64,
    /// The longest of them, in ns (`stall_max`).
    pub longest_stall_ns: u64,
}

/// The completing half: the completer's half of the limit and the stall watch.
pub struct Reaper<L: Limit> {
    pub(super) limit: L::Completer,
    pub(super) shared: Arc<Shared>,
    stall: StallWatch,
    restart_slots: u32,
    reap_budget_packets: u32,
    /// A round that failed started the queue again, and its caller was not told.
    schedule_owed: bool,
    counters: ReaperCounters,
}

impl<L: Limit> Reaper<L> {
    pub(super) fn new(limit: L::Completer, shared: Arc<Shared>, config: &QueueConfig) -> Self {
        Self {
            limit,
            shared,
            stall: StallWatch::new(config.stall_threshold_ns),
            restart_slots: config.restart_slots,
            reap_budget_packets: config.reap_budget_packets,
            schedule_owed: false,
            counters: ReaperCounters::default(),
        }
    }

    /// Takes what the device finished: each packet goes to `sink` at once, the sum to the limit.
    /// Call it when the device interrupts, and when [`next_wakeup`](Self::next_wakeup) says so.
    ///
    /// # Errors
    /// See [`CompleteError`]. Packets and room came back all the same: run the sender after an error
    /// too. A start that an error hid is told by the next round that succeeds.
    pub fn complete<C: Completions>(
        &mut self,
        completions: &mut C,
        now_ns: u64,
        sink: &mut dyn PacketSink,
        probe: &mut impl Probe,
    ) -> Result<Completed, CompleteError<C::Error>> {
        let mut completed = Completed::default();
        let reaped = self.reap(completions, now_ns, sink, &mut completed);
        // What was handed out before an error is complete all the same.
        completed.more = *reaped.as_ref().unwrap_or(&false);
        let told = self.tell_limit(completed, now_ns, probe);
        self.schedule_owed |= self.restart(completions);
        self.check_stall(now_ns, probe);
        reaped.map_err(CompleteError::Driver)?;
        told.map_err(CompleteError::Accounting)?;
        completed.schedule = core::mem::take(&mut self.schedule_owed);
        Ok(completed)
    }

    fn reap<C: Completions>(
        &mut self,
        completions: &mut C,
        now_ns: u64,
        sink: &mut dyn PacketSink,
        completed: &mut Completed,
    ) -> Result<bool, C::Error> {
        let epoch = self.limit.epoch();
        let completed_bytes = &mut self.counters.completed_bytes;
        let orphaned_packets = &mut self.counters.orphaned_packets;
        completions.reap(now_ns, self.reap_budget_packets, &mut |packet| {
            *orphaned_packets += u64::from(packet.was_charged && packet.charge.is_none());
            if packet.epoch == epoch {
                completed.done.packets += 1;
                *completed_bytes += u64::from(packet.wire_bytes);
                // Only a limit in packets can have more bytes in flight than this can say.
                completed.done.bytes = completed.done.bytes.saturating_add(packet.wire_bytes);
            } else {
                completed.late_packets += 1;
            }
            sink.freed(packet);
        })
    }

    fn tell_limit(
        &mut self,
        completed: Completed,
        now_ns: u64,
        probe: &mut impl Probe,
    ) -> Result<(), taut_dql::Error> {
        let done = completed.done;
        self.counters.late_packets += u64::from(completed.late_packets);
        if done.packets == 0 {
            return self.tick_limit(now_ns, probe);
        }
        self.counters.rounds += 1;
        self.counters.completed_packets += u64::from(done.packets);
        probe.on_completed(now_ns, done);
        self.limit.completed(done, now_ns, completed.more)?;
        let after = self.limit.snapshot();
        self.stall
            .completed(after.num_queued, after.num_completed, now_ns);
        probe.on_limit(now_ns, after.limit);
        // Also with a cadence: a device that ran dry while the queue was stopped finished more than
        // the limit, and that is handed on at once.
        if after.in_flight == 0 && self.shared.stack.is_closed() {
            self.counters.starved += 1;
            probe.on_starved(now_ns);
        }
        Ok(())
    }

    /// Lets the limit do what it put off, and tells who watches if that was anything.
    fn tick_limit(&mut self, now_ns: u64, probe: &mut impl Probe) -> Result<(), taut_dql::Error> {
        let before = self.limit.snapshot();
        self.limit.tick(now_ns)?;
        let after = self.limit.snapshot();
        if after.num_completed != before.num_completed {
            self.stall
                .completed(after.num_queued, after.num_completed, now_ns);
            probe.on_limit(now_ns, after.limit);
        }
        Ok(())
    }

    /// Clears each stop whose reason is gone. Returns whether the sender must be run.
    fn restart<C: Completions>(&self, completions: &C) -> bool {
        let limit = &self.limit;
        let stack = self.shared.stack.open_if(|| limit.has_room());
        let driver = self
            .shared
            .driver
            .open_if(|| completions.slots_free() >= self.restart_slots);
        let schedule = (stack || driver) && self.shared.is_open();
        if schedule {
            self.shared.room.notify(|| true);
        }
        // A queue that runs now shares what is left when it is through.
        schedule || limit.share_room()
    }

    /// Looks for a stall without waiting for a completion that may never come.
    pub fn check_stall(&mut self, now_ns: u64, probe: &mut impl Probe) -> Option<Stall> {
        if self.stall.threshold_ns() == 0 {
            return None;
        }
        let counters = self.limit.snapshot();
        let burst_start_ns = self.shared.burst_start_ns.load(Ordering::Relaxed);
        let (queued, completed) = (counters.num_queued, counters.num_completed);
        let stall = self
            .stall
            .check(queued, completed, burst_start_ns, now_ns)?;
        probe.on_stall(now_ns, stall);
        Some(stall)
    }

    /// When to call [`complete`](Self::complete) even if the device says nothing, in ns.
    pub fn next_wakeup(&self) -> Option<u64> {
        self.limit.next_wakeup()
    }

    pub(super) fn forget_in_flight(&mut self) {
        self.stall.reset();
    }

    /// The limit and its counters, in the limit's units.
    pub fn snapshot(&self) -> Snapshot {
        self.limit.snapshot()
    }

    /// What this half did so far.
    pub fn counters(&self) -> ReaperCounters {
        ReaperCounters {
            stalls: self.stall.count(),
            longest_stall_ns: self.stall.longest_ns(),
            ..self.counters
        }
    }

    /// Times that a waiting sender was woken.
    pub fn wakeups(&self) -> u64 {
        self.shared.room.wakeups()
    }

    pub(crate) fn limit_mut(&mut self) -> &mut L::Completer {
        &mut self.limit
    }

    pub(crate) fn stall_watch(&self) -> &StallWatch {
        &self.stall
    }

    pub(crate) fn stall_watch_mut(&mut self) -> &mut StallWatch {
        &mut self.stall
    }
}
