//! A host's transmit path: the product's own queue in front of an emulated NIC.

use std::sync::Arc;
use std::task::Waker;

use taut_path::driver::Orphaning;
use taut_path::limit::Limit;
use taut_path::queue::NoRoom;
use taut_path::tsq::Flow;
use taut_path::{Packet, Probe, Qdisc, Queue};

use super::WorldError;
use super::segments::{Arrival, Segment, Segments};
use super::small_queues::HostBudgets;
use super::worker::{HostCost, Task, Worker};
use crate::nic::{EmulatedNic, NicConfig, NicEvent};
use crate::queue::{QueueFault, queue_config};
use crate::source::Note;

pub(super) struct Host<P, L> {
    pub queue: Queue<Orphaning<EmulatedNic>, L, Box<dyn Qdisc + Send>, P>,
    /// What went wrong first, if anything did.
    pub fault: Option<QueueFault>,
    index: usize,
    /// What its sockets may have below them, if they are held back.
    pub budgets: Option<HostBudgets>,
    pub worker: Worker,
    pub cost: HostCost,
    /// A blind sender asked to be woken; `room` says when.
    pub blind_waits: bool,
    room: Arc<Note>,
    segments: Segments,
    /// When the NIC was last asked to be woken.
    watched_ns: Option<u64>,
}

impl<P: Probe, L: Limit> Host<P, L> {
    pub fn new(
        index: usize,
        config: NicConfig,
        cost: HostCost,
        restart_slots: Option<u32>,
        (discipline, limit, probe): (Box<dyn Qdisc + Send>, L, P),
    ) -> Result<Self, WorldError> {
        let nic = EmulatedNic::new(config).map_err(WorldError::Nic)?;
        let restart_slots = restart_slots.unwrap_or(nic.restart_slots());
        let room = Arc::new(Note::default());
        let nic = Orphaning {
            driver: nic,
            orphans: false,
        };
        let queue = Queue::builder_for(nic)
            .with_limit(limit)
            .with_qdisc(discipline)
            .probe(probe)
            .config(queue_config(Some(restart_slots), Waker::from(room.clone())))
            .build(0)
            .map_err(WorldError::Queue)?;
        Ok(Self {
            queue,
            fault: None,
            index,
            budgets: None,
            worker: Worker::default(),
            cost,
            blind_waits: false,
            room,
            segments: Segments::default(),
            watched_ns: None,
        })
    }

    /// What holds a connection back, if anything does.
    pub fn flow(&self, connection: u32) -> Option<&Flow> {
        Some(self.budgets.as_ref()?.flow(connection))
    }

    /// Sends a segment, once the core has seen to it. Returns whether the discipline has it
    /// already: then [`run`](Self::run), once for a batch.
    pub fn send(&mut self, segment: Segment, now_ns: u64) -> bool {
        let mut packet = self.segments.packet(segment);
        // An acknowledgement alone is not held back, and not charged.
        if segment.payload_bytes > 0
            && let Some(budgets) = &self.budgets
        {
            budgets.flow(segment.connection).charge(&mut packet);
        }
        let cost_ns = self.cost.packet_ns;
        if cost_ns > 0 {
            self.worker.follow(cost_ns, Task::Send(packet));
        } else {
            self.enqueue(packet, now_ns);
        }
        cost_ns == 0
    }

    /// Hands a segment to the discipline if that has room for it.
    pub fn offer(&mut self, segment: Segment, now_ns: u64) -> bool {
        let packet = self.segments.packet(segment);
        match self.queue.offer(packet, now_ns, &mut self.segments) {
            Ok(()) => true,
            Err(NoRoom(packet)) => {
                self.segments.take_back(packet);
                false
            }
        }
    }

    /// Whether there is room again that a blind sender asked for.
    pub fn made_room(&self) -> bool {
        self.blind_waits && self.room.take()
    }

    /// Hands a packet to the discipline.
    pub fn enqueue(&mut self, packet: Packet, now_ns: u64) {
        self.queue.enqueue(packet, now_ns, &mut self.segments);
    }

    pub fn run(&mut self, now_ns: u64) {
        let stop = self.queue.run(now_ns, &mut self.segments);
        if let Err(fault) = QueueFault::of_run(stop, self.index, now_ns) {
            self.note(fault);
        }
    }

    /// Does what the NIC has due by `now_ns`, up to the next frame; gives what that frame brings
    /// to the other host, and when its last bit leaves.
    pub fn advance(&mut self, now_ns: u64) -> Option<(Arrival, u64)> {
        loop {
            match self.queue.device_mut().driver.advance(now_ns)? {
                (_, NicEvent::Frame(frame)) => {
                    return Some((
                        self.segments.arrival(frame.packet, frame.index),
                        frame.ends_ns,
                    ));
                }
                (at_ns, NicEvent::Interrupt) => {
                    let cost_ns = self.cost.interrupt_ns;
                    if !self.worker.must_wait(cost_ns, Task::Interrupt) {
                        self.complete(at_ns);
                    }
                }
            }
        }
    }

    /// Reaps, and runs the queue again once the core is through with what it reaped.
    pub fn complete(&mut self, at_ns: u64) {
        let round = self.queue.complete(at_ns, &mut self.segments);
        let completed = match QueueFault::of_round(round, self.index, at_ns) {
            Ok(completed) => completed,
            Err(fault) => return self.note(fault),
        };
        let packets = u64::from(completed.done.packets);
        let cost_ns = self.cost.reap_ns.saturating_mul(packets);
        if cost_ns > 0 {
            self.worker
                .follow(cost_ns, Task::Reaped(completed.schedule));
        } else if completed.schedule {
            self.run(at_ns);
        }
    }

    #[cold]
    fn note(&mut self, fault: QueueFault) {
        self.fault.get_or_insert(fault);
    }

    /// When the NIC next has something to tell, if that is not known already.
    pub fn nic_is_due_anew(&mut self) -> Option<u64> {
        let next_ns = self.queue.device().driver.next_event_ns();
        if next_ns == self.watched_ns {
            return None;
        }
        self.watched_ns = next_ns;
        next_ns
    }
}

#[cfg(test)]
mod tests {
    use taut_path::qdisc::Fifo;
    use taut_path::{AnyLimit, TxRing};

    use super::*;
    use crate::nic::{DescriptorRule, FinishedAt, Framing, InterruptRule};
    use crate::queue::Fault;
    use crate::tcp::{Ack, SackBlocks, TcpConfig};
    use crate::world::segments::News;
    use crate::world::{App, ConnectionConfig, SERVER, World, WorldConfig};

    /// Two hosts whose connection says nothing.
    fn silent() -> World<()> {
        let config = WorldConfig {
            nic: NicConfig {
                rate_bits_per_s: 8_000_000_000,
                framing: Framing::BARE,
                slots: 64,
                rule: DescriptorRule::OnePerPacket,
                interrupt: InterruptRule::every(0),
                finished_at: FinishedAt::End,
                segments_apart: true,
                seed: 1,
            },
            restart_slots: None,
            delay_ns: 10,
            cost: HostCost::default(),
            record_from_ns: 0,
        };
        let parts = |_| (Box::new(Fifo::new(10)) as _, AnyLimit::dql(), ());
        let mut world = World::new(&config, parts).expect("valid settings");
        let connection = ConnectionConfig {
            tcp: TcpConfig::default(),
            header_bytes: 100,
            priority: 0,
        };
        world.connect(&connection, App::Sink, App::Sink, 0);
        world
    }

    /// Headers alone.
    fn segment() -> Segment {
        Segment {
            connection: 0,
            start: 0,
            payload_bytes: 0,
            header_bytes: 100,
            mss_bytes: 1_448,
            priority: 0,
            ecn_capable: false,
            cwr: false,
            ack: Ack {
                cumulative: 0,
                window_bytes: 0,
                sack: SackBlocks::default(),
                ece: false,
            },
            news: News::None,
        }
    }

    #[test]
    fn a_nic_that_makes_a_packet_up_ends_the_world_with_a_report() {
        let mut world = silent();
        world.run_until(500).expect("nothing happens");
        let host = &mut world.hosts[SERVER];
        let packet = host.segments.packet(segment());
        let nic = host.queue.device_mut();
        nic.submit(packet, 500).expect("there is room");
        let Ok(()) = nic.kick(500);
        world.watch(SERVER, 500);
        let fault = WorldError::Fault(QueueFault {
            queue: SERVER,
            at_ns: 600,
            fault: Fault::Stray { packets: 1 },
        });
        assert_eq!(world.run_until(10_000), Err(fault));
        assert_eq!(world.run_until(20_000), Err(fault), "it stands still");
    }
}
