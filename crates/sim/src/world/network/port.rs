//! One direction of a trunk: a queue and a card.

use std::task::Waker;

use taut_path::tsq::memory_bytes;
use taut_path::{AnyLimit, Ecn, Packet, Probe, Queue};

use super::parts::{AnyQueue, Line, NetworkConfig};
use crate::error::TestbedError;
use crate::nic::{EmulatedNic, NicConfig, NicEvent, WireCounters};
use crate::queue::{QueueFault, queue_config};
use crate::store::Store;
use crate::world::wire::{Flight, Says, Wire};

/// What the sending end of a trunk did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrunkReport {
    /// What its wire carried.
    pub wire: WireCounters,
    /// Packets that its queue dropped.
    pub dropped_packets: u64,
    /// Packets that its discipline marked.
    pub marked_packets: u64,
}

/// The sending end of a trunk.
pub(super) struct Port<P> {
    queue: Queue<EmulatedNic, AnyLimit, AnyQueue, P>,
    /// The frames that wait here.
    frames: Store<Flight>,
    delay_ns: u64,
    index: usize,
    pub fault: Option<QueueFault>,
    /// What left and is under way to the neighbour.
    pub out: Wire,
}

impl<P: Probe> Port<P> {
    pub fn new(
        index: usize,
        config: &NetworkConfig,
        (discipline, limit, probe): (AnyQueue, AnyLimit, P),
    ) -> Result<Self, TestbedError> {
        let seed = config.trunk.seed.wrapping_add(index as u64);
        let nic = NicConfig {
            seed,
            ..config.trunk
        };
        let nic = EmulatedNic::new(nic)?;
        let restart_slots = nic.restart_slots();
        let queue = Queue::builder_for(nic)
            .with_limit(limit)
            .with_qdisc(discipline)
            .probe(probe)
            .config(queue_config(Some(restart_slots), Waker::noop().clone()))
            .build(0)?;
        Ok(Self {
            queue,
            frames: Store::new(),
            delay_ns: config.trunk_delay_ns,
            index,
            fault: None,
            out: Wire::new(),
        })
    }

    /// When its card does something next, in ns; `u64::MAX` if it does not.
    pub fn next_ns(&self) -> u64 {
        let next_ns = self.queue.device().next_event_ns();
        next_ns.unwrap_or(u64::MAX)
    }

    /// A frame that goes this way.
    pub fn take_in(&mut self, flight: &Flight, line: &Line, now_ns: u64) {
        let packet = self.packet(flight, line);
        self.queue.enqueue(packet, now_ns, &mut self.frames);
        self.run(now_ns);
    }

    fn packet(&mut self, flight: &Flight, line: &Line) -> Packet {
        let wire_bytes = u32::from(line.header_bytes) + u32::from(flight.payload_bytes);
        let mut packet = Packet::new(self.frames.put(flight), wire_bytes)
            .with_memory(memory_bytes(wire_bytes, None));
        packet.priority = line.priority;
        packet.flow = flight.connection;
        if flight.says(Says::CONGESTION) {
            packet.set_ecn(Ecn::Marked);
        } else if flight.says(Says::ECN_CAPABLE) {
            packet.set_ecn(Ecn::Capable);
        }
        packet
    }

    fn run(&mut self, now_ns: u64) {
        let stop = self.queue.run(now_ns, &mut self.frames);
        if let Err(fault) = QueueFault::of_run(stop, self.index, now_ns) {
            self.fault.get_or_insert(fault);
        }
    }

    /// The card does what it has due by `now_ns`.
    pub fn on_nic(&mut self, now_ns: u64) {
        while let Some((at_ns, event)) = self.queue.device_mut().advance(now_ns) {
            match event {
                NicEvent::Frame(frame) => {
                    let flight = self.frames.of(frame.packet);
                    let mut flags = flight.flags;
                    if frame.packet.ecn() == Ecn::Marked {
                        flags |= Says::CONGESTION;
                    }
                    let arrives_ns = frame.ends_ns.saturating_add(self.delay_ns);
                    let flight = Flight { flags, ..*flight };
                    self.out.push(flight.arriving(arrives_ns, now_ns));
                }
                NicEvent::Interrupt => self.complete(at_ns),
            }
        }
    }

    fn complete(&mut self, at_ns: u64) {
        let round = self.queue.complete(at_ns, &mut self.frames);
        match QueueFault::of_round(round, self.index, at_ns) {
            Ok(completed) if completed.schedule => self.run(at_ns),
            Ok(_) => {}
            Err(fault) => {
                self.fault.get_or_insert(fault);
            }
        }
    }

    pub fn probe(&self) -> &P {
        self.queue.probe()
    }

    pub fn report(&self) -> TrunkReport {
        let sender = self.queue.sender_counters();
        TrunkReport {
            wire: self.queue.device().counters(),
            dropped_packets: sender.drops.total(),
            marked_packets: sender.marked_packets,
        }
    }
}
