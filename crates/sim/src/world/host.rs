//! A host: sockets, the product's own queue, an emulated NIC, and what is due when.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use taut_path::limit::Limit;
use taut_path::queue::NoRoom;
use taut_path::{Completed, Packet, Probe, Qdisc, Queue, Split};

use super::app::App;
use super::blind::{Blind, BlindSenders};
use super::config::WorldConfig;
use super::connection::{ConnectionConfig, Endpoint};
use super::event::HostEvent;
use super::event_queue::{EventQueue, Turn};
use super::frames_in_flight::{Flight, FramesInFlight};
use super::orphaning::OrphaningNic;
use super::segments::{OutgoingSegment, Segments};
use super::small_queues::HostBudgets;
use super::way_down::{HostQueue, WayDown, sink};
use super::worker::{HostCost, Task, Worker};
use crate::NEVER_NS;
use crate::error::TestbedError;
use crate::nic::{EmulatedNic, NicConfig, NicEvent};
use crate::queue::{QueueFault, queue_config};
use crate::source::Note;
use crate::tcp::TcpSettings;

pub(super) struct Host<P, L, Q: Qdisc> {
    /// Frames under way to it, in order.
    pub arrivals: FramesInFlight,
    pub nic_wakeup: NicWakeup,
    pub event_queue: EventQueue<HostEvent>,
    pub log: HostLog,
    pub queue: HostQueue<P, L, Q>,
    pub segments: Segments,
    /// By connection.
    pub endpoints: Vec<Endpoint>,
    /// What its sockets may have below them, if they are held back.
    pub budgets: Option<Box<HostBudgets>>,
    /// Nothing in it takes time, nothing is held back, and nobody is blind: what is there for those
    /// alone is not even asked.
    pub is_plain: bool,
    pub core: HostCore,
    /// Time that a bit takes to the other host, in ns.
    pub delay_ns: u64,
    pub blind: BlindSenders,
    pub ended: EndedTransactions,
}

/// The next event of a NIC.
pub(super) struct NicWakeup {
    /// When it is, in ns, and its turn.
    pub at_ns: u64,
    pub turn: Turn,
    /// When the NIC last asked to be woken, in ns.
    watched_ns: u64,
}

/// What became of a host.
pub(super) struct HostLog {
    index: usize,
    /// The first fault.
    pub fault: Option<QueueFault>,
    /// Steps so far.
    pub events: u64,
}

/// The core of a host.
pub(super) struct HostCore {
    pub worker: Worker,
    pub cost: HostCost,
    /// Frames that arrived and wait for the core.
    pub arrived: VecDeque<Flight>,
}

/// Transactions that ended and count.
pub(super) struct EndedTransactions {
    /// How long each took, in ns.
    pub latencies_ns: Vec<u64>,
    /// Those that end before this do not count, in ns.
    pub record_from_ns: u64,
}

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    pub fn new(
        index: usize,
        config: &WorldConfig,
        split: Split,
        (discipline, limit, probe): (Q, L, P),
    ) -> Result<Self, TestbedError> {
        let seed = config.nic.seed.wrapping_add(index as u64);
        let nic = EmulatedNic::new(NicConfig { seed, ..config.nic })?;
        let restart_slots = config.restart_slots.unwrap_or(nic.restart_slots());
        let room = Arc::new(Note::default());
        let queue = Queue::builder_for(OrphaningNic::new(nic))
            .with_limit(limit)
            .with_qdisc(discipline)
            .probe(probe)
            .config(queue_config(Some(restart_slots), Waker::from(room.clone())))
            .split(split)
            .build(0)?;
        let mut event_queue = EventQueue::new();
        Ok(Self {
            arrivals: FramesInFlight::new(),
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
            queue,
            segments: Segments::new(),
            endpoints: Vec::new(),
            budgets: None,
            is_plain: config.cost == HostCost::default(),
            core: HostCore {
                worker: Worker::default(),
                cost: config.cost,
                arrived: VecDeque::new(),
            },
            delay_ns: config.delay_ns,
            blind: BlindSenders::new(room),
            ended: EndedTransactions {
                latencies_ns: Vec::new(),
                record_from_ns: config.record_from_ns,
            },
        })
    }

    /// Limits its sockets. If `orphans`, its NIC orphans packets.
    pub fn hold_back(&mut self, budgets: HostBudgets, orphans: bool) {
        self.queue.device_mut().set_orphans(orphans);
        self.budgets = Some(Box::new(budgets));
        self.is_plain = false;
    }

    /// Adds a blind sender, and returns its number.
    pub fn add_blind(&mut self, blind: Blind) -> u32 {
        let number = self.blind.senders.len() as u32;
        self.blind.senders.push(blind);
        self.is_plain = false;
        number
    }

    /// Adds this end of an established connection, whose application starts at `start_ns`. Returns
    /// its number here.
    pub fn connect(
        &mut self,
        config: &ConnectionConfig,
        tcp: &TcpSettings,
        app: App,
        now_ns: u64,
        start_ns: u64,
    ) -> u32 {
        let number = self.endpoints.len() as u32;
        self.endpoints.push(Endpoint::new(config, tcp, app));
        if let Some(budgets) = &mut self.budgets {
            budgets.open();
        }
        self.event_queue
            .schedule(now_ns, start_ns, HostEvent::App(number));
        number
    }

    /// Its sockets, its event_queue, and what is below the sockets.
    #[inline(always)]
    pub fn parts(
        &mut self,
    ) -> (
        &mut [Endpoint],
        &mut EventQueue<HostEvent>,
        WayDown<'_, P, L, Q>,
    ) {
        let way_down = WayDown {
            segments: &mut self.segments,
            budgets: self.budgets.as_deref_mut(),
            worker: &mut self.core.worker,
            packet_ns: self.core.cost.packet_ns,
            queue: &mut self.queue,
        };
        (&mut self.endpoints, &mut self.event_queue, way_down)
    }

    /// Hands a segment to the discipline if that has room for it.
    pub fn offer(&mut self, segment: &OutgoingSegment, now_ns: u64) -> bool {
        let packet = self.segments.packet(segment);
        let sink = &mut sink(self.budgets.as_deref(), &mut self.segments);
        match self.queue.offer(packet, now_ns, sink) {
            Ok(()) => true,
            Err(NoRoom(packet)) => {
                self.segments.take_back(packet);
                false
            }
        }
    }

    /// Hands a packet to the discipline.
    pub fn enqueue(&mut self, packet: Packet, now_ns: u64) {
        let sink = &mut sink(self.budgets.as_deref(), &mut self.segments);
        self.queue.enqueue(packet, now_ns, sink);
    }

    #[inline]
    pub fn run(&mut self, now_ns: u64) {
        let budgets = self.budgets.as_deref();
        let stop = self
            .queue
            .run(now_ns, &mut sink(budgets, &mut self.segments));
        if let Some(budgets) = budgets {
            self.queue.device_mut().release_submitted(budgets.charges());
        }
        if let Err(fault) = QueueFault::of_run(stop, self.log.index, now_ns) {
            self.note(fault);
        }
    }

    /// The NIC does what it has due by `now_ns`. What leaves is under way `to` the other host.
    #[inline(always)]
    pub fn on_nic(&mut self, now_ns: u64, to: &mut FramesInFlight) {
        while let Some((at_ns, event)) = self.queue.device_mut().driver.advance(now_ns) {
            match event {
                NicEvent::Frame(frame) => {
                    let arrives_ns = frame.ends_ns.saturating_add(self.delay_ns);
                    let under_way_ns = arrives_ns - now_ns;
                    let segments = &self.segments;
                    let (packet, index) = (frame.packet, frame.index);
                    to.push(segments.flight(packet, index, arrives_ns, under_way_ns));
                }
                NicEvent::Interrupt => {
                    let cost_ns = self.core.cost.interrupt_ns;
                    if self.is_plain || !self.core.worker.must_wait(cost_ns, Task::Interrupt) {
                        self.complete(at_ns);
                    }
                }
            }
        }
        if let Some(next) = self.queue.device().driver.frame_to_send() {
            self.segments.fetch(next);
        }
        self.watch(now_ns);
    }

    /// Reaps, and runs the queue again once the core is through with what it reaped.
    // Never: so there is one of it, and all that it calls is inside.
    #[inline(never)]
    pub fn complete(&mut self, at_ns: u64) {
        let sink = &mut sink(self.budgets.as_deref(), &mut self.segments);
        let round = self.queue.complete(at_ns, sink);
        let completed = match QueueFault::of_round(round, self.log.index, at_ns) {
            Ok(completed) => completed,
            Err(fault) => return self.note(fault),
        };
        if self.core.cost.reap_ns > 0 {
            self.deal_with_reaped(completed, at_ns);
        } else if completed.schedule {
            self.run(at_ns);
        }
    }

    /// The core takes its time for what was reaped.
    #[cold]
    fn deal_with_reaped(&mut self, completed: Completed, at_ns: u64) {
        let packets = u64::from(completed.counts.packets);
        let cost_ns = self.core.cost.reap_ns.saturating_mul(packets);
        if cost_ns > 0 {
            self.core
                .worker
                .follow(cost_ns, Task::Reaped(completed.schedule));
        } else if completed.schedule {
            self.run(at_ns);
        }
    }

    #[cold]
    fn note(&mut self, fault: QueueFault) {
        self.log.fault.get_or_insert(fault);
    }

    /// Schedules what the NIC, the core and the deferred list do next, and wakes who waits for
    /// room.
    #[inline(always)]
    pub fn watch(&mut self, now_ns: u64) {
        if self.is_plain {
            self.watch_nic(now_ns);
        } else {
            self.watch_all(now_ns);
        }
    }

    #[inline(never)]
    fn watch_all(&mut self, now_ns: u64) {
        if self.blind.waits && self.blind.room.take() {
            self.wake_blind(now_ns);
        }
        self.watch_nic(now_ns);
        if let Some(at_ns) = self.core.worker.is_due_anew(now_ns) {
            self.event_queue
                .schedule_only(now_ns, at_ns, HostEvent::Core);
        }
        if let Some(budgets) = &mut self.budgets
            && let Some(at_ns) = budgets.run_is_due_anew(now_ns)
        {
            self.event_queue
                .schedule(now_ns, at_ns, HostEvent::Deferred);
        }
    }

    #[inline(always)]
    fn watch_nic(&mut self, now_ns: u64) {
        let next_ns = self.queue.device().driver.next_event_ns();
        let next_ns = next_ns.unwrap_or(NEVER_NS);
        if next_ns != self.nic_wakeup.watched_ns {
            self.nic_wakeup.watched_ns = next_ns;
            self.nic_wakeup.at_ns = next_ns.max(now_ns);
            self.nic_wakeup.turn = self.event_queue.take_turn(now_ns);
        }
    }

    /// Whether a task must wait for the core; if so, it is seen to when the core is free.
    // Always: else a task is made and dropped for each packet of a host that takes no time.
    #[inline(always)]
    pub fn must_wait(&mut self, cost_ns: u64, task: Task, now_ns: u64) -> bool {
        let must_wait = !self.is_plain && self.core.worker.must_wait(cost_ns, task);
        if must_wait {
            self.watch(now_ns);
        }
        must_wait
    }

    pub fn on_core(&mut self, now_ns: u64) {
        let Some(task) = self.core.worker.take_done(now_ns) else {
            return;
        };
        match task {
            Task::Interrupt => self.complete(now_ns),
            Task::Reaped(false) => {}
            Task::Reaped(true) => self.run(now_ns),
            Task::Send(packet) => {
                self.enqueue(packet, now_ns);
                self.run(now_ns);
            }
            Task::Receive => self.receive_late(now_ns),
            Task::Timer(connection) => self.time_out(connection, now_ns),
            Task::App(connection) => self.act(connection, now_ns),
            Task::Blind(number) => self.call_blind(number, now_ns),
            Task::Deferred => self.run_deferred(now_ns),
            Task::LetGo(connection) => self.let_go(connection, now_ns),
        }
        self.watch(now_ns);
    }
}

#[cfg(test)]
mod tests;
