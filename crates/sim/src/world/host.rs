//! A host: sockets, the product's own queue, an emulated NIC, and the scheduled events.

use std::sync::Arc;
use std::task::Waker;

use hdrhistogram::Histogram;
use taut_measure::meter::histogram_ns;
use taut_path::limit::Limit;
use taut_path::{LateSegmentation, Probe, Qdisc, Queue};

use super::app::App;
use super::connection::{ConnectionConfig, Endpoint};
use super::event_queue::{EventQueue, HostEvent, Turn};
use super::frames_in_flight::FramesInFlight;
use super::segments::Segments;
use super::tx_path::TxPath;
use crate::NEVER_NS;
use crate::error::TestbedError;
use crate::nic::{EmulatedNic, NicConfig, NicEvent};
use crate::queue::{QueueFault, queue_config};
use crate::tcp::TcpConfig;

/// Settings of the hosts and the link, the same on both sides. Hosts take no time.
#[derive(Debug, Clone, Copy)]
pub struct WorldConfig {
    /// Link rate, ring, interrupts.
    pub nic: NicConfig,
    /// Free slots at which a queue that stopped at a full ring restarts; the NIC's own value if
    /// `None`.
    pub restart_slots: Option<u32>,
    /// Propagation delay of the link in one direction, in ns.
    pub delay_ns: u64,
    /// Transactions that end before this time are not recorded, in ns.
    pub record_from_ns: u64,
    /// Late segmentation of GSO packets.
    pub late_segmentation: LateSegmentation,
}

pub(super) struct Host<P, L, Q: Qdisc> {
    /// Frames in flight to it, in order.
    pub arrivals: FramesInFlight,
    pub nic_wakeup: NicWakeup,
    pub event_queue: EventQueue<HostEvent>,
    pub log: HostLog,
    /// Endpoints, indexed by connection.
    pub endpoints: Vec<Endpoint>,
    pub tx: TxPath<P, L, Q>,
    /// Propagation delay to the other host, in ns.
    pub delay_ns: u64,
    /// Latencies of the recorded transactions of its clients.
    pub latency_ns: Histogram<u64>,
    /// Transactions that end before this time are not recorded, in ns.
    pub record_from_ns: u64,
}

/// The next event of a NIC.
pub(super) struct NicWakeup {
    /// Its time, in ns, and its order among simultaneous events.
    pub at_ns: u64,
    pub turn: Turn,
    /// The NIC's next event at the last check, in ns.
    watched_ns: u64,
}

/// Faults and statistics of a host.
pub(super) struct HostLog {
    index: usize,
    /// The first fault.
    pub fault: Option<QueueFault>,
    /// Processed events.
    pub events: u64,
}

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    pub fn new(
        index: usize,
        config: &WorldConfig,
        (discipline, limit, probe): (Q, L, P),
    ) -> Result<Self, TestbedError> {
        let seed = config.nic.seed.wrapping_add(index as u64);
        let nic = EmulatedNic::new(NicConfig { seed, ..config.nic })?;
        let restart_slots = config.restart_slots.unwrap_or(nic.restart_slots());
        let queue = Queue::builder_for(nic)
            .with_limit(limit)
            .with_qdisc(discipline)
            .probe(probe)
            .config(queue_config(Some(restart_slots), Waker::noop().clone()))
            .late_segmentation(config.late_segmentation)
            .build(0)?;
        let mut event_queue = EventQueue::new();
        Ok(Self {
            arrivals: FramesInFlight::default(),
            nic_wakeup: NicWakeup {
                at_ns: NEVER_NS,
                turn: event_queue.take_turn(0),
                watched_ns: NEVER_NS,
            },
            event_queue,
            log: HostLog {
                index,
                fault: None,
                events: 0,
            },
            endpoints: Vec::new(),
            tx: TxPath {
                segments: Segments::default(),
                budgets: None,
                queue,
            },
            delay_ns: config.delay_ns,
            latency_ns: histogram_ns(),
            record_from_ns: config.record_from_ns,
        })
    }

    /// Adds this end of an established connection, whose application starts at `start_ns`. Returns
    /// its number on this host.
    pub fn connect(
        &mut self,
        config: &ConnectionConfig,
        tcp: &Arc<TcpConfig>,
        app: App,
        now_ns: u64,
        start_ns: u64,
    ) -> u32 {
        let number = self.endpoints.len() as u32;
        self.endpoints.push(Endpoint::new(config, tcp, app));
        if let Some(budgets) = &mut self.tx.budgets {
            budgets.open();
        }
        self.event_queue
            .schedule(now_ns, start_ns, HostEvent::App(number));
        number
    }

    #[inline]
    pub fn run(&mut self, now_ns: u64) {
        let stop = self.tx.run(now_ns);
        if let Err(fault) = QueueFault::of_run(stop, self.log.index, now_ns) {
            self.record_fault(fault);
        }
    }

    /// Processes the NIC's events until `now_ns`. Frames that leave are passed `to` the other host.
    #[inline(always)]
    pub fn on_nic(&mut self, now_ns: u64, to: &mut FramesInFlight) {
        while let Some((at_ns, event)) = self.tx.queue.device_mut().advance(now_ns) {
            match event {
                NicEvent::Frame(frame) => {
                    let arrives_ns = frame.ends_ns.saturating_add(self.delay_ns);
                    let under_way_ns = arrives_ns - now_ns;
                    let segments = &self.tx.segments;
                    let (packet, index) = (frame.packet, frame.index);
                    to.push_back(segments.flight(packet, index, arrives_ns, under_way_ns));
                }
                NicEvent::Interrupt(_) => self.complete(at_ns),
            }
        }
        self.watch(now_ns);
    }

    /// Reaps completions, and runs the queue again. Not inlined, so that there is one copy with all
    /// callees inlined.
    #[inline(never)]
    pub fn complete(&mut self, at_ns: u64) {
        let batch = self.tx.complete(at_ns);
        let completed = match QueueFault::of_batch(batch, self.log.index, at_ns) {
            Ok(completed) => completed,
            Err(fault) => return self.record_fault(fault),
        };
        let budgets = self.tx.budgets.as_deref_mut();
        if let Some(orphans) = budgets.and_then(|it| it.orphans.as_mut()) {
            orphans.completed(self.tx.queue.device());
        }
        if completed.schedule {
            self.run(at_ns);
        }
    }

    #[cold]
    fn record_fault(&mut self, fault: QueueFault) {
        self.log.fault.get_or_insert(fault);
    }

    /// Schedules the next event of the NIC and of the deferred list.
    #[inline(always)]
    pub fn watch(&mut self, now_ns: u64) {
        self.watch_nic(now_ns);
        if self.tx.budgets.is_some() {
            self.watch_deferred(now_ns);
        }
    }

    #[inline(never)]
    fn watch_deferred(&mut self, now_ns: u64) {
        if let Some(budgets) = &mut self.tx.budgets
            && let Some(at_ns) = budgets.next_run_ns(now_ns)
        {
            self.event_queue
                .schedule(now_ns, at_ns, HostEvent::Deferred);
        }
    }

    #[inline(always)]
    fn watch_nic(&mut self, now_ns: u64) {
        let next_ns = self.tx.queue.device().next_event_ns();
        let next_ns = next_ns.unwrap_or(NEVER_NS);
        if next_ns != self.nic_wakeup.watched_ns {
            self.nic_wakeup.watched_ns = next_ns;
            self.nic_wakeup.at_ns = next_ns.max(now_ns);
            self.nic_wakeup.turn = self.event_queue.take_turn(now_ns);
        }
    }
}

#[cfg(test)]
mod tests;
