//! Runs several queues on a testbed, first one after the other and then all together.

use std::ops::Range;
use std::sync::Arc;
use std::task::Waker;

use taut_path::budget::{self, Budget, Member};
use taut_path::limit::Dynamic;
use taut_path::qdisc::Fifo;
use taut_path::queue::{Completer, Sender};
use taut_path::{AnyLimit, Completed, Queue};

use super::{MultiQueueConfig, MultiQueueReport, SharedBudget};
use crate::error::TestbedError;
use crate::nic::{RingOf, SharedNic};
use crate::note::Note;
use crate::queue::{BatchResult, QueueFault, queue_config};
use crate::single_queue_bench::object;
use crate::sink::Sink;
use crate::testbed::{BedEvent, EventResult, Schedule, Setup, TestQueue, Testbed};
use crate::time_series::TimeSeriesRecorder;

/// Runs the device.
///
/// # Errors
/// Returns the errors of [`MultiQueueConfig::check`]. Also fails if the settings of the NIC, the
/// queues or the budget are invalid, or if a queue becomes faulty.
pub fn observe(
    config: &MultiQueueConfig,
    shared: SharedBudget,
) -> Result<MultiQueueReport, TestbedError> {
    config.check()?;
    let (bed, device) = MultiQueueBench::new(config, shared)?;
    device.run(bed)
}

/// The completing half of a queue that is attached to a budget.
type BudgetCompleter = Completer<RingOf<TimeSeriesRecorder>, Dynamic, (), Member>;

impl TestQueue for BudgetCompleter {
    fn complete(&mut self, now_ns: u64, sink: &mut Sink) -> BatchResult {
        Completer::complete(self, now_ns, sink)
    }

    fn wakeup_ns(&self) -> Option<u64> {
        self.next_wakeup()
    }
}

struct MultiQueueBench<'a> {
    config: &'a MultiQueueConfig,
    senders: Vec<Sender<RingOf<TimeSeriesRecorder>, Fifo, (), Member>>,
    completers: Vec<BudgetCompleter>,
    /// The queues whose senders are saturating.
    saturating: Range<usize>,
    notes: Vec<Arc<Note>>,
    /// Absent if its limit has no effect.
    budget: Option<Budget>,
    frames: u32,
}

type MultiQueueTestbed = Testbed<TimeSeriesRecorder>;

impl<'a> MultiQueueBench<'a> {
    fn new(
        config: &'a MultiQueueConfig,
        shared: SharedBudget,
    ) -> Result<(MultiQueueTestbed, Self), TestbedError> {
        let watch = TimeSeriesRecorder::new(u64::MAX);
        let (nic, rings) = SharedNic::shared(&config.nic, config.queues, watch, true)?;
        let notes: Vec<Arc<Note>> = rings.iter().map(|_| Arc::default()).collect();
        let queue = |(note, ring): (&Arc<Note>, RingOf<_>)| {
            Queue::builder(ring.clone(), ring)
                .with_limit(Dynamic::default())
                .with_qdisc(Fifo::new(config.backlog_packets))
                .config(queue_config(None, Waker::from(note.clone())))
        };
        let queues = notes.iter().zip(rings).map(queue).collect();
        let has_budget = shared != SharedBudget::None;
        let (limit, interval_ns) = match shared {
            SharedBudget::None => (AnyLimit::off(), 0),
            SharedBudget::Rule { limit, interval_ns } => (limit, interval_ns),
        };
        let (budget, halves) = budget::attach(limit, interval_ns, queues, 0)?;
        let halves = halves.into_iter();
        let (senders, completers) = halves
            .map(|(sender, completer, _)| (sender, completer))
            .unzip();
        let device = Self {
            config,
            senders,
            completers,
            saturating: 0..0,
            notes,
            budget: has_budget.then_some(budget),
            frames: 0,
        };
        Ok((Testbed::new(nic, Setup::default()), device))
    }

    fn run(mut self, mut bed: MultiQueueTestbed) -> Result<MultiQueueReport, TestbedError> {
        let queues = self.config.queues;
        for queue in 0..queues {
            self.phase(&mut bed, queue..queue + 1, self.config.alone_ns)?;
        }
        self.phase(&mut bed, 0..0, self.config.pause_ns)?;
        let before = self.time_bytes(&bed);
        let limits_bytes = self.limits_bytes();
        let together_ns = self.config.together_ns;
        bed.nic.borrow_mut().watch.restart(bed.now_ns, together_ns);
        self.phase(&mut bed, 0..queues, together_ns)?;
        let after = self.time_bytes(&bed);
        let sent = after.iter().zip(before);
        let watch = &mut bed.nic.borrow_mut().watch;
        watch.count_until(bed.now_ns);
        Ok(MultiQueueReport {
            limits_bytes,
            series: watch.series().clone(),
            time_bytes: sent.map(|(after, before)| after - before).collect(),
        })
    }

    fn time_bytes(&self, bed: &MultiQueueTestbed) -> Vec<u64> {
        let nic = bed.nic.borrow();
        let queues = 0..self.config.queues;
        queues.map(|ring| nic.counters(ring).time_bytes).collect()
    }

    fn limits_bytes(&self) -> Vec<u32> {
        let completers = self.completers.iter();
        completers
            .map(|completer| completer.snapshot().limit)
            .collect()
    }

    /// Runs a phase of `length_ns` in which the senders of these queues are saturating.
    fn phase(
        &mut self,
        bed: &mut MultiQueueTestbed,
        saturating: Range<usize>,
        length_ns: u64,
    ) -> Result<(), TestbedError> {
        let until_ns = bed.now_ns + length_ns;
        self.saturating = saturating.clone();
        for queue in saturating {
            self.send(bed, queue)?;
        }
        self.send_woken(bed)?;
        // Events at the end of the phase belong to it.
        let (own, end_ns) = (Schedule::EMPTY, until_ns.saturating_add(1));
        let interrupts = SharedNic::next_interrupt;
        while let Some(event) = bed.next(own, &mut self.completers, end_ns, interrupts)? {
            if let BedEvent::Batch(at, done) = event {
                self.on_batch(bed, at, done)?;
            }
        }
        bed.now_ns = until_ns;
        Ok(())
    }

    fn send_woken(&mut self, bed: &mut MultiQueueTestbed) -> EventResult {
        while let Some(queue) = self.notes.iter().position(|note| note.take()) {
            self.send(bed, queue)?;
        }
        Ok(())
    }

    /// Refills the backlog, and runs the queue until it is stopped or empty.
    fn send(&mut self, bed: &mut MultiQueueTestbed, queue: usize) -> EventResult {
        let now_ns = bed.now_ns;
        let sender = &mut self.senders[queue];
        let is_saturating = self.saturating.contains(&queue);
        loop {
            while is_saturating && sender.backlog().packets < self.config.backlog_packets.into() {
                let packet = object(self.frames, self.config.object_bytes);
                self.frames = self.frames.wrapping_add(1);
                sender.enqueue(packet, now_ns, &mut bed.sink);
            }
            let stop = sender.run(now_ns, &mut bed.sink);
            let is_idle = QueueFault::of_run(stop, queue, now_ns)?;
            if !is_idle && sender.must_wait() {
                return Ok(());
            }
            if sender.backlog().packets == 0 && !is_saturating {
                return Ok(());
            }
        }
    }

    fn on_batch(&mut self, bed: &mut MultiQueueTestbed, at: usize, done: Completed) -> EventResult {
        if done.schedule {
            self.send(bed, at)?;
        }
        self.send_woken(bed)?;
        if let Some(budget) = &self.budget {
            let watch = &mut bed.nic.borrow_mut().watch;
            watch.note_limit(budget.limit_bytes(), bed.now_ns);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use taut_path::{AnyLimit, TxRing};

    use super::*;
    use crate::nic::NicConfig;
    use crate::queue::Fault;

    /// A byte takes 1 ns.
    fn config() -> MultiQueueConfig {
        MultiQueueConfig {
            nic: NicConfig::plain(8_000_000_000, 64),
            queues: 2,
            object_bytes: 1_000,
            backlog_packets: 10,
            alone_ns: 10_000,
            pause_ns: 10_000,
            together_ns: 10_000,
        }
    }

    fn dql() -> SharedBudget {
        SharedBudget::Rule {
            limit: AnyLimit::dql(),
            interval_ns: 0,
        }
    }

    fn run(config: &MultiQueueConfig, shared: SharedBudget) -> MultiQueueReport {
        observe(config, shared).expect("no fault")
    }

    #[test]
    fn each_queue_exceeds_its_limit_by_one_object() {
        for queues in [1, 2] {
            let config = MultiQueueConfig { queues, ..config() };
            let seen = run(&config, SharedBudget::None);
            let limit_bytes = u64::from(seen.limits_bytes[0]);
            let peaks = seen.series.in_flight.iter().map(|it| it.peak_bytes);
            assert_eq!(peaks.max(), Some(queues as u64 * (limit_bytes + 1_000)));
        }
    }

    #[test]
    fn queues_send_no_new_packets_in_the_pause() {
        let config = MultiQueueConfig {
            pause_ns: 1_000_000,
            ..config()
        };
        let (bed, device) =
            MultiQueueBench::new(&config, SharedBudget::None).expect("valid settings");
        let nic = bed.nic.clone();
        device.run(bed).expect("no fault");
        let sent = |ring| nic.borrow().counters(ring).packets;
        // 10 us for each queue, its backlog, and 10 us together.
        let max = 2 * 10 + 2 * 20 + 10;
        assert!((20..=max).contains(&(sent(0) + sent(1))));
    }

    #[test]
    fn budget_limit_changes_are_reported() {
        assert_eq!(run(&config(), SharedBudget::None).series.limit_bytes, []);
        let changes = run(&config(), dql()).series.limit_bytes;
        assert!(changes.first().is_some_and(|&(at_ns, _)| at_ns <= 10_000));
        assert!(
            changes.windows(2).all(|it| it[0].1 != it[1].1),
            "{changes:?}"
        );
    }

    #[test]
    fn unknown_completion_ends_the_run_with_a_fault() {
        fails_with_a_report(SharedBudget::None);
        fails_with_a_report(dql());
    }

    fn fails_with_a_report(shared: SharedBudget) {
        let config = config();
        assert!(observe(&config, SharedBudget::None).is_ok());
        let (bed, mut device) = MultiQueueBench::new(&config, shared).expect("valid settings");
        let ring = device.senders[1].ring_mut();
        ring.submit(object(7, 1_000), 0).expect("there is room");
        let Ok(()) = ring.kick(0);
        let fault = QueueFault {
            queue: 1,
            at_ns: 1_000,
            fault: Fault::UnknownCompletions { packets: 1 },
        };
        assert_eq!(device.run(bed).err(), Some(fault.into()));
    }
}
