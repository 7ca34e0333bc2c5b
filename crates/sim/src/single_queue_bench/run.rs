//! Runs a bench on a testbed: one queue, whose sender shares the core with the interrupts.

use std::slice::from_mut;
use std::sync::Arc;
use std::task::Waker;

use taut_path::qdisc::Fifo;
use taut_path::{AnyLimit, Completed, Probe, Queue, QueueConfig};

use super::feed::Feed;
use super::watch::{BenchProbe, Left};
use super::{Observed, Rule, SingleQueueConfig};
use crate::NEVER_NS;
use crate::error::TestbedError;
use crate::nic::{RingOf, SharedNic, WireCounters};
use crate::note::Note;
use crate::queue::{MAX_BACKLOG_PACKETS, queue_config};
use crate::testbed::{BedEvent, EventResult, Schedule, Setup, Testbed, Urgent};

/// Runs a bench from time 0 to its end.
///
/// # Errors
/// Returns the errors of [`SingleQueueConfig::check`]. Also fails if the settings of the NIC or the
/// queue are invalid, or if the queue becomes faulty.
pub fn observe(config: &SingleQueueConfig, rule: &Rule) -> Result<Observed, TestbedError> {
    observe_with(config, rule, ())
}

/// Runs a bench; `probe` receives all events of the queue.
///
/// # Errors
/// Returns the errors of [`observe`].
pub fn observe_with(
    config: &SingleQueueConfig,
    rule: &Rule,
    probe: impl Probe,
) -> Result<Observed, TestbedError> {
    config.check()?;
    let (bed, bench) = SingleQueueBench::new(config, rule, probe)?;
    bench.run(bed)
}

/// A bench has one queue.
pub(super) const QUEUE: usize = 0;

pub(super) struct SingleQueueBench<'a, T> {
    pub(super) config: &'a SingleQueueConfig,
    pub(super) queue: Queue<RingOf<Left>, AnyLimit, Fifo, (T, BenchProbe)>,
    pub(super) feed: Feed,
    pub(super) note: Arc<Note>,
    pub(super) sample_ns: u64,
    pub(super) samples: u64,
    pub(super) urgent: Urgent,
    pub(super) frames: u32,
    /// Capacity of the discipline, in packets.
    pub(super) backlog_packets: u64,
}

pub(super) type BenchTestbed = Testbed<Left>;

/// Counters at the start of the measured time.
pub(super) struct Before {
    pub(super) wire: WireCounters,
    pub(super) busy_ns: u64,
    pub(super) failed_sends: u64,
    pub(super) wakeups: u64,
}

impl<'a, T: Probe> SingleQueueBench<'a, T> {
    fn new(
        config: &'a SingleQueueConfig,
        rule: &Rule,
        probe: T,
    ) -> Result<(BenchTestbed, Self), TestbedError> {
        let (nic, mut rings) = SharedNic::shared(&config.nic, 1, Left::default(), true)?;
        let note = Arc::new(Note::default());
        let own_slots = config.nic.rule.restart_slots(config.nic.slots);
        let restart_slots = config.restart_slots.unwrap_or(own_slots);
        let queue_config = QueueConfig {
            reap_budget_packets: config.reap.budget_packets,
            coalesce_ns: rule.coalesce_ns,
            ..queue_config(Some(restart_slots), Waker::from(note.clone()))
        };
        let (from_ns, end_ns) = (config.measure_from_ns, config.end_ns);
        let backlog_packets = config.backlog_packets.clamp(1, MAX_BACKLOG_PACKETS);
        let watch = BenchProbe::new(config.nic.framing, from_ns, end_ns);
        let queue = Queue::builder_for(rings.remove(QUEUE))
            .limit(rule.limit.clone())
            .with_qdisc(Fifo::new(backlog_packets))
            .probe((probe, watch))
            .config(queue_config)
            .build(0)?;
        let setup = Setup {
            rates: config.rate_changes.clone(),
            poll_interval_ns: config.reap.poll_interval_ns,
            interrupt_ns: config.cost.interrupt_ns,
            wakeup_reaps: true,
        };
        let mut bench = Self {
            config,
            queue,
            feed: Feed::new(config),
            note,
            sample_ns: NEVER_NS,
            samples: 0,
            urgent: Urgent::default(),
            frames: 0,
            backlog_packets: backlog_packets.into(),
        };
        bench.plan_sample();
        Ok((Testbed::new(nic, setup), bench))
    }

    fn run(mut self, mut bed: BenchTestbed) -> Result<Observed, TestbedError> {
        // Events at an end belong to the time before it.
        let from_ns = self.config.measure_from_ns.saturating_add(1);
        let end_ns = self.config.end_ns.saturating_add(1);
        self.run_until(&mut bed, from_ns)?;
        let before = Before {
            wire: bed.nic.borrow().counters(QUEUE),
            busy_ns: bed.core.busy_ns,
            failed_sends: self.feed.failed_sends,
            wakeups: self.feed.wakeups,
        };
        self.run_until(&mut bed, end_ns)?;
        Ok(self.observed(bed, &before))
    }

    /// Processes everything that is due before `end_ns`.
    fn run_until(&mut self, bed: &mut BenchTestbed, end_ns: u64) -> Result<(), TestbedError> {
        loop {
            let own = Schedule {
                resume_ns: self.feed.made_ns.min(self.feed.next_ns),
                sample_ns: self.sample_ns,
                ..Schedule::EMPTY
            };
            let queues = from_mut(&mut self.queue);
            let Some(event) = bed.next(own, queues, end_ns, SharedNic::next_interrupt)? else {
                return Ok(());
            };
            match event {
                BedEvent::Batch(_, done) => self.on_batch(bed, done)?,
                BedEvent::Resume if self.feed.made_ns == bed.now_ns => self.on_made(bed)?,
                BedEvent::Resume => self.on_sender(bed)?,
                BedEvent::Sample => self.on_sample(bed),
                // A bench schedules no arrivals.
                BedEvent::Arrival => {}
            }
        }
    }

    fn on_batch(&mut self, bed: &mut BenchTestbed, done: Completed) -> EventResult {
        for _ in 0..done.counts.packets {
            if let Some(left_ns) = bed.nic.borrow_mut().watch.oldest_ns.pop_front() {
                self.queue.probe_mut().1.on_reaped(left_ns, bed.now_ns);
            }
        }
        if done.schedule {
            self.admit_urgent(bed);
            self.send(bed)?;
        }
        if self.note.take() {
            self.feed.wakeups += 1;
            self.feed.next_ns = bed.now_ns;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use taut_path::TxRing;

    use super::*;
    use crate::nic::NicConfig;
    use crate::queue::{Fault, QueueFault};
    use crate::single_queue_bench::object;

    #[test]
    fn unknown_completion_ends_the_bench_with_a_fault() {
        let config = SingleQueueConfig {
            end_ns: 1_000_000,
            ..SingleQueueConfig::saturated(NicConfig::plain(8_000_000_000, 64), 1_000)
        };
        let bench = || SingleQueueBench::new(&config, &Rule::dql(), ()).expect("valid settings");
        let (bed, good) = bench();
        assert!(good.run(bed).is_ok());
        let (bed, mut bench) = bench();
        let ring = bench.queue.device_mut();
        ring.submit(object(7, 1_000), 0).expect("there is room");
        let Ok(()) = ring.kick(0);
        let fault = QueueFault {
            queue: QUEUE,
            at_ns: 1_000,
            fault: Fault::UnknownCompletions { packets: 1 },
        };
        assert_eq!(bench.run(bed).unwrap_err(), TestbedError::Fault(fault));
    }
}
