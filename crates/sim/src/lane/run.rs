//! The loop of a lane: takes the earliest of what is due, until the end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use hdrhistogram::Histogram;
use taut_path::qdisc::Fifo;
use taut_path::{AnyLimit, Probe, Queue, QueueConfig};

use super::feed::Feed;
use super::watch::Watch;
use super::{LaneConfig, Observed, Rule};
use crate::cpu::Core;
use crate::error::TestbedError;
use crate::meter::histogram;
use crate::nic::{EmulatedNic, NicEvent, WireCounters};
use crate::queue::{QueueFault, queue_config};
use crate::sink::Sink;
use crate::source::Note;

/// What can be due. What is due at one time happens in this order: the wire first, since what
/// leaves can be reaped at once; then what reaps; then what sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Nic,
    /// The core is through with an interrupt.
    Served,
    /// The next round of a reap that stopped at its budget.
    Round,
    /// The limit put something off until now.
    Tick,
    RateChange,
    Made,
    Sender,
    Sample,
}

/// A lane has one queue.
pub(super) const QUEUE: usize = 0;

pub(super) struct Lane<'a, T> {
    pub(super) config: &'a LaneConfig,
    pub(super) queue: Queue<EmulatedNic, AnyLimit, Fifo, Watch<T>>,
    pub(super) sink: Sink,
    pub(super) feed: Feed,
    pub(super) core: Core,
    pub(super) note: Arc<Note>,
    /// When the core is through with each interrupt that it has not served.
    pub(super) served_ns: VecDeque<u64>,
    pub(super) round_ns: Option<u64>,
    pub(super) rate_changes: usize,
    pub(super) marks: Vec<(u64, WireCounters)>,
    pub(super) sample_ns: Option<u64>,
    pub(super) samples: u64,
    /// Packets of high priority that wait for room: when each came.
    pub(super) urgent_ns: Vec<u64>,
    pub(super) urgent_delay_ns: Histogram<u64>,
    pub(super) frames: u32,
}

/// What is counted over the measured time only: the counters at its start.
pub(super) struct Before {
    pub(super) wire: WireCounters,
    pub(super) busy_ns: u64,
    pub(super) failed_sends: u64,
    pub(super) wakeups: u64,
}

impl<'a, T: Probe> Lane<'a, T> {
    pub(super) fn new(config: &'a LaneConfig, rule: &Rule, probe: T) -> Result<Self, TestbedError> {
        if config.object_bytes.is_empty() {
            return Err(TestbedError::Missing("no sizes to send"));
        }
        let nic = EmulatedNic::new(config.nic)?;
        let note = Arc::new(Note::default());
        let restart_slots = config.restart_slots.unwrap_or(nic.restart_slots());
        let queue_config = QueueConfig {
            reap_budget_packets: config.reap.budget_packets,
            cadence_ns: rule.cadence_ns,
            ..queue_config(Some(restart_slots), Waker::from(note.clone()))
        };
        let (from_ns, end_ns) = (config.measure_from_ns, config.end_ns);
        let watch = Watch::new(config.nic.framing, from_ns, end_ns, probe);
        let queue = Queue::builder_for(nic)
            .limit(rule.limit.clone())
            .with_qdisc(Fifo::new(config.backlog_packets.max(1)))
            .probe(watch)
            .config(queue_config)
            .build(0)?;
        let mut lane = Self {
            config,
            queue,
            sink: Sink::default(),
            feed: Feed::new(config),
            core: Core::default(),
            note,
            served_ns: VecDeque::new(),
            round_ns: None,
            rate_changes: 0,
            marks: vec![(0, WireCounters::default())],
            sample_ns: None,
            samples: 0,
            urgent_ns: Vec::new(),
            urgent_delay_ns: histogram(),
            frames: 0,
        };
        lane.plan_sample();
        Ok(lane)
    }

    pub(super) fn run(mut self) -> Result<Observed, TestbedError> {
        self.advance(self.config.measure_from_ns)?;
        let before = Before {
            wire: self.queue.device().counters(),
            busy_ns: self.core.busy_ns,
            failed_sends: self.feed.failed_sends,
            wakeups: self.feed.wakeups,
        };
        self.advance(self.config.end_ns)?;
        Ok(self.observed(&before))
    }

    fn advance(&mut self, until_ns: u64) -> Result<(), TestbedError> {
        while let Some((now_ns, due)) = self.next_due().filter(|&(at_ns, _)| at_ns <= until_ns) {
            match due {
                Due::Nic => self.on_nic(now_ns)?,
                Due::Served => {
                    self.served_ns.pop_front();
                    self.complete(now_ns)?;
                }
                Due::Round => {
                    self.round_ns = None;
                    self.complete(now_ns)?;
                }
                Due::Tick => self.complete(now_ns)?,
                Due::RateChange => self.change_rate(now_ns)?,
                Due::Made => self.on_made(now_ns)?,
                Due::Sender => self.on_sender(now_ns)?,
                Due::Sample => self.on_sample(now_ns),
            }
        }
        Ok(())
    }

    fn next_due(&self) -> Option<(u64, Due)> {
        let change = self.config.rate_changes.get(self.rate_changes);
        [
            (self.queue.device().next_event_ns(), Due::Nic),
            (self.served_ns.front().copied(), Due::Served),
            (self.round_ns, Due::Round),
            (self.queue.next_wakeup(), Due::Tick),
            (change.map(|&(at_ns, _)| at_ns), Due::RateChange),
            (self.feed.made_ns, Due::Made),
            (self.feed.next_ns, Due::Sender),
            (self.sample_ns, Due::Sample),
        ]
        .into_iter()
        .filter_map(|(at_ns, due)| Some((at_ns?, due)))
        .min()
    }

    fn on_nic(&mut self, now_ns: u64) -> Result<(), QueueFault> {
        match self.queue.device_mut().advance(now_ns) {
            None => {}
            Some((_, NicEvent::Frame(frame))) if !frame.last => {}
            Some((_, NicEvent::Frame(_))) => self.queue.probe_mut().on_left(now_ns),
            Some((_, NicEvent::Interrupt)) => {
                let cost_ns = self.feed.cost.interrupt_ns;
                if cost_ns == 0 {
                    self.complete(now_ns)?;
                } else {
                    // None is masked: one that finds nothing left to reap costs the same.
                    let served_ns = self.core.work(now_ns, cost_ns);
                    self.served_ns.push_back(served_ns);
                }
            }
        }
        Ok(())
    }

    fn complete(&mut self, now_ns: u64) -> Result<(), QueueFault> {
        let round = self.queue.complete(now_ns, &mut self.sink);
        let round = QueueFault::of_round(round, QUEUE, now_ns)?;
        self.queue.probe_mut().on_reaped(round.done.packets, now_ns);
        if round.more {
            self.round_ns = Some(now_ns.saturating_add(self.config.reap.round_ns));
        }
        if round.schedule {
            self.admit_urgent(now_ns);
            self.send(now_ns)?;
        }
        if self.note.take() {
            self.feed.wakeups += 1;
            self.feed.next_ns = Some(now_ns);
        }
        Ok(())
    }

    fn change_rate(&mut self, now_ns: u64) -> Result<(), TestbedError> {
        if let Some(&(_, rate_bits_per_s)) = self.config.rate_changes.get(self.rate_changes) {
            self.rate_changes += 1;
            self.marks.push((now_ns, self.queue.device().counters()));
            let nic = self.queue.device_mut();
            nic.set_rate(rate_bits_per_s, now_ns)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use taut_path::TxRing;

    use super::*;
    use crate::lane::object;
    use crate::nic::NicConfig;
    use crate::queue::Fault;

    #[test]
    fn a_nic_that_makes_a_packet_up_ends_the_lane_with_a_report() {
        let config = LaneConfig {
            end_ns: 1_000_000,
            ..LaneConfig::saturated(NicConfig::plain(8_000_000_000, 64), 1_000)
        };
        let lane = || Lane::new(&config, &Rule::dql(), ()).expect("valid settings");
        assert!(lane().run().is_ok());
        let mut lane = lane();
        let nic = lane.queue.device_mut();
        nic.submit(object(7, 1_000), 0).expect("there is room");
        let Ok(()) = nic.kick(0);
        let fault = QueueFault {
            queue: QUEUE,
            at_ns: 1_000,
            fault: Fault::Stray { packets: 1 },
        };
        assert_eq!(lane.run().unwrap_err(), TestbedError::Fault(fault));
    }
}
