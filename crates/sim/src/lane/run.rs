//! The loop of a lane: takes the earliest of what is due, until the end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use hdrhistogram::Histogram;
use taut_path::limit::Limit;
use taut_path::qdisc::Fifo;
use taut_path::{DropReason, Packet, PacketSink, QueueConfig, Stop, TxQueue, TxRing};

use super::feed::{Core, Feed, Note, sleep_until_ns};
use super::watch::Watch;
use super::{LaneConfig, LaneError, Ledger, Observed, Source, WhenFull, object};
use crate::meter::histogram;
use crate::nic::{EmulatedNic, NicEvent, WireCounters};

/// Counts what comes back.
#[derive(Default)]
struct Sink {
    freed: u64,
}

impl PacketSink for Sink {
    fn freed(&mut self, packet: Packet) {
        let _ = packet.into_frame();
        self.freed += 1;
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        let _ = packet.into_frame();
    }
}

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

pub(super) struct Lane<'a, L: Limit> {
    config: &'a LaneConfig,
    queue: TxQueue<L, EmulatedNic, Watch>,
    sink: Sink,
    feed: Feed,
    core: Core,
    note: Arc<Note>,
    /// When the core is through with each interrupt that it has not served.
    served_ns: VecDeque<u64>,
    round_ns: Option<u64>,
    rate_changes: usize,
    marks: Vec<(u64, WireCounters)>,
    sample_ns: Option<u64>,
    samples: u64,
    /// Packets of high priority that wait for room: when each came.
    urgent_ns: Vec<u64>,
    urgent_delay_ns: Histogram<u64>,
    frames: u32,
}

/// What is counted over the measured time only: the counters at its start.
struct Before {
    wire: WireCounters,
    busy_ns: u64,
    failed_sends: u64,
    wakeups: u64,
}

impl<'a, L: Limit> Lane<'a, L> {
    pub(super) fn new(config: &'a LaneConfig, limit: L) -> Result<Self, LaneError> {
        if config.object_bytes.is_empty() {
            return Err(LaneError::NoObjects);
        }
        let nic = EmulatedNic::new(config.nic).map_err(LaneError::Nic)?;
        let note = Arc::new(Note::default());
        let queue_config = QueueConfig {
            restart_slots: config.restart_slots.unwrap_or(nic.restart_slots()),
            reap_budget_packets: config.reap.budget_packets,
            waker: Waker::from(note.clone()),
            ..QueueConfig::new(nic.slots_free())
        };
        let watch = Watch::new(config.nic.framing, config.measure_from_ns, config.end_ns);
        let discipline = Box::new(Fifo::new(config.backlog_packets.max(1)));
        let queue = TxQueue::new(discipline, limit, nic, watch, queue_config, 0);
        let mut queue = queue.map_err(LaneError::Queue)?;
        let first_limit = (0, queue.snapshot().limit);
        queue.probe_mut().course.limit_bytes.push(first_limit);
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

    pub(super) fn run(mut self) -> Result<Observed, LaneError> {
        self.advance(self.config.measure_from_ns)?;
        let before = Before {
            wire: self.queue.driver().counters(),
            busy_ns: self.core.busy_ns,
            failed_sends: self.feed.failed_sends,
            wakeups: self.feed.wakeups,
        };
        self.advance(self.config.end_ns)?;
        Ok(self.observed(&before))
    }

    fn advance(&mut self, until_ns: u64) -> Result<(), LaneError> {
        while let Some((now_ns, due)) = self.next_due().filter(|&(at_ns, _)| at_ns <= until_ns) {
            match due {
                Due::Nic => self.on_nic(now_ns),
                Due::Served => {
                    self.served_ns.pop_front();
                    self.complete(now_ns);
                }
                Due::Round => {
                    self.round_ns = None;
                    self.complete(now_ns);
                }
                Due::Tick => self.complete(now_ns),
                Due::RateChange => self.change_rate(now_ns)?,
                Due::Made => self.on_made(now_ns),
                Due::Sender => self.on_sender(now_ns),
                Due::Sample => self.on_sample(now_ns),
            }
        }
        Ok(())
    }

    fn next_due(&self) -> Option<(u64, Due)> {
        let change = self.config.rate_changes.get(self.rate_changes);
        [
            (self.queue.driver().next_event_ns(), Due::Nic),
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

    fn on_nic(&mut self, now_ns: u64) {
        match self.queue.driver_mut().advance(now_ns) {
            None => {}
            Some((_, NicEvent::Frame(frame))) if !frame.last => {}
            Some((_, NicEvent::Frame(_))) => self.queue.probe_mut().on_left(now_ns),
            Some((_, NicEvent::Interrupt)) => {
                let cost_ns = self.feed.cost.interrupt_ns;
                if cost_ns == 0 {
                    self.complete(now_ns);
                } else {
                    // None is masked: one that finds nothing left to reap costs the same.
                    let served_ns = self.core.work(now_ns, cost_ns);
                    self.served_ns.push_back(served_ns);
                }
            }
        }
    }

    fn complete(&mut self, now_ns: u64) {
        // The NIC reports what it was given, so there is no error to tell of.
        let Ok(round) = self.queue.complete(now_ns, &mut self.sink) else {
            return;
        };
        self.queue.probe_mut().on_reaped(round.done.packets, now_ns);
        if round.more {
            self.round_ns = Some(now_ns.saturating_add(self.config.reap.round_ns));
        }
        if round.schedule {
            self.admit_urgent(now_ns);
            self.send(now_ns);
        }
        if self.note.take() {
            self.feed.wakeups += 1;
            self.feed.next_ns = Some(now_ns);
        }
    }

    fn change_rate(&mut self, now_ns: u64) -> Result<(), LaneError> {
        if let Some(&(_, rate_bits_per_s)) = self.config.rate_changes.get(self.rate_changes) {
            self.rate_changes += 1;
            self.marks.push((now_ns, self.queue.driver().counters()));
            let nic = self.queue.driver_mut();
            nic.set_rate(rate_bits_per_s, now_ns)
                .map_err(LaneError::Nic)?;
        }
        Ok(())
    }

    /// Sends what there is, and has more made.
    fn send(&mut self, now_ns: u64) {
        if self.feed.cost.packet_ns > 0 || !self.feed.is_saturating(now_ns) {
            let _ = self.queue.run(now_ns, &mut self.sink);
            return self.make_next(now_ns);
        }
        loop {
            while self.has_backlog_room() {
                self.enqueue(now_ns);
            }
            if self.queue.run(now_ns, &mut self.sink) != Stop::Idle {
                return;
            }
        }
    }

    fn has_backlog_room(&self) -> bool {
        self.queue.sender().backlog().packets < u64::from(self.config.backlog_packets.max(1))
    }

    fn enqueue(&mut self, now_ns: u64) {
        let packet = self.next_packet();
        self.queue.enqueue(packet, now_ns, &mut self.sink);
    }

    fn next_packet(&mut self) -> Packet {
        self.frames = self.frames.wrapping_add(1);
        object(self.frames, self.feed.next_bytes())
    }

    /// Has the core make the next packet, if one is wanted, there is a place for it and none is
    /// being made.
    fn make_next(&mut self, now_ns: u64) {
        let wanted = self.feed.wanted > 0 || self.feed.is_saturating(now_ns);
        if !wanted || self.feed.made_ns.is_some() {
            return;
        }
        if !self.has_backlog_room() {
            self.feed.asleep = true;
            return;
        }
        let mut cost_ns = self.feed.cost.packet_ns;
        if std::mem::take(&mut self.feed.asleep) {
            self.feed.wakeups += 1;
            cost_ns = cost_ns.saturating_add(self.feed.cost.wakeup_ns);
        }
        self.feed.made_ns = Some(self.core.work(now_ns, cost_ns));
    }

    fn on_made(&mut self, now_ns: u64) {
        self.feed.made_ns = None;
        self.feed.wanted = self.feed.wanted.saturating_sub(1);
        self.enqueue(now_ns);
        self.send(now_ns);
    }

    fn on_sender(&mut self, now_ns: u64) {
        self.feed.next_ns = self.feed.next_cycle_ns(now_ns);
        match self.feed.source {
            Source::Saturating | Source::OnOff { .. } => self.send(now_ns),
            Source::Bursts { packets, .. } if self.feed.cost.packet_ns > 0 => {
                self.feed.wanted += u64::from(packets);
                self.make_next(now_ns);
            }
            Source::Bursts { packets, .. } => {
                for _ in 0..packets {
                    self.enqueue(now_ns);
                }
                self.send(now_ns);
            }
            Source::Blind(when_full) => self.on_blind(when_full, now_ns),
        }
    }

    /// One call of a blind sender, or all calls of one instant if they cost nothing.
    fn on_blind(&mut self, when_full: WhenFull, now_ns: u64) {
        let call_ns = self.feed.cost.packet_ns;
        loop {
            let packet = self.next_packet();
            if let Err(refused) = self.queue.offer(packet, now_ns, &mut self.sink) {
                let _ = refused.0.into_frame();
                return self.on_refused(when_full, now_ns);
            }
            let _ = self.queue.run(now_ns, &mut self.sink);
            if call_ns > 0 {
                self.feed.next_ns = Some(self.core.work(now_ns, call_ns));
                return;
            }
        }
    }

    fn on_refused(&mut self, when_full: WhenFull, now_ns: u64) {
        match when_full {
            WhenFull::Sleep { .. } => {
                self.feed.failed_sends += 1;
                self.feed.wakeups += 1;
                self.feed.next_ns = sleep_until_ns(when_full, now_ns);
            }
            WhenFull::Spin(retry_ns) => {
                self.feed.failed_sends += 1;
                self.feed.next_ns = Some(self.core.work(now_ns, retry_ns.max(1)));
            }
            // It asks first: what finds no room was never sent, so no send failed.
            WhenFull::Wait if self.queue.sender().must_wait() => self.feed.next_ns = None,
            WhenFull::Wait => self.feed.next_ns = Some(now_ns.saturating_add(1)),
        }
    }

    fn plan_sample(&mut self) {
        let period_ns = self.config.sample_ns;
        self.sample_ns = (period_ns > 0).then(|| {
            let from_ns = self.samples.saturating_mul(period_ns);
            (self.config.measure_from_ns.saturating_add(from_ns))
                .saturating_add(self.feed.below(period_ns))
        });
        self.samples += 1;
    }

    /// A packet of high priority would come now.
    fn on_sample(&mut self, now_ns: u64) {
        self.urgent_ns.push(now_ns);
        let sender = self.queue.sender();
        if !sender.stopped_by_stack() && !sender.stopped_by_driver() {
            self.admit_urgent(now_ns);
        }
        self.plan_sample();
    }

    /// There is room: what waited for it goes now, behind what the NIC has not sent.
    fn admit_urgent(&mut self, now_ns: u64) {
        let nic = self.queue.driver();
        let submitted = self.queue.probe().submitted_time_bytes;
        let ahead = u128::from(submitted.saturating_sub(nic.counters().time_bytes));
        let ahead_ns = ahead * 8_000_000_000 / u128::from(nic.rate_bits_per_s());
        for came_ns in self.urgent_ns.drain(..) {
            self.urgent_delay_ns.saturating_record(
                now_ns - came_ns + ahead_ns.min(u64::from(u32::MAX).into()) as u64,
            );
        }
    }

    fn observed(mut self, before: &Before) -> Observed {
        let end_ns = self.config.end_ns;
        let waiting = self.queue.sender().backlog().packets;
        let in_ring = self.queue.driver().packets_in_ring() as u64;
        let in_flight = self.queue.sender().in_flight();
        self.queue
            .probe_mut()
            .set_in_flight(in_flight.into(), end_ns);
        let now = self.queue.driver().counters();
        self.marks.push((end_ns, now));
        let wire = WireCounters {
            packets: now.packets - before.wire.packets,
            frames: now.frames - before.wire.frames,
            time_bytes: now.time_bytes - before.wire.time_bytes,
            interrupts: now.interrupts - before.wire.interrupts,
        };
        let measured_ns = end_ns.saturating_sub(self.config.measure_from_ns).max(1) as f64;
        let rate_bits_per_s = self.queue.driver().rate_bits_per_s() as f64;
        let watch = self.queue.probe();
        Observed {
            in_flight_bytes: watch.meter.in_flight_bytes(),
            in_flight_p99_bytes: watch.meter.in_flight_at_bytes(0.99),
            in_flight_mean_bytes: watch.meter.in_flight_mean_bytes(),
            limit_bytes: self.queue.snapshot().limit,
            course: watch.course.clone(),
            wire,
            utilisation: wire.time_bytes as f64 * 8e9 / rate_bits_per_s / measured_ns,
            marks: self.marks,
            starved: self.queue.reaper().counters().starved,
            urgent_delay_ns: self.urgent_delay_ns,
            latency_ns: watch.latency_ns.clone(),
            held_ns: watch.held_ns.clone(),
            core_share: (self.core.busy_ns - before.busy_ns) as f64 / measured_ns,
            failed_sends: self.feed.failed_sends - before.failed_sends,
            wakeups: self.feed.wakeups - before.wakeups,
            drops: watch.drops,
            ledger: Ledger {
                entered: self.queue.sender().counters().enqueued_packets,
                freed: self.sink.freed,
                waiting,
                in_ring,
            },
        }
    }
}
