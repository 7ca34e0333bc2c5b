//! A world with a faulty queue stops with a fault.

use crate::world_support::{SECOND, bulk, config, connection};
use taut_path::qdisc::{Backlog, Fifo};
use taut_path::{AnyLimit, Packet, PacketSink, Qdisc};
use taut_sim::error::TestbedError;
use taut_sim::queue::{Fault, QueueFault};
use taut_sim::tcp::TcpConfig;
use taut_sim::world::{App, CLIENT, World};

const US: u64 = 1_000;
const DELAY_NS: u64 = 10 * US;

/// A FIFO with faults.
struct Faulty {
    fifo: Fifo,
    /// No packet is ready before this time.
    ready_ns: u64,
    /// The number of first packets that it neither sends nor drops.
    lost: u32,
}

impl Qdisc for Faulty {
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        match self.lost.checked_sub(1) {
            Some(lost) => self.lost = lost,
            None => self.fifo.enqueue(packet, now_ns, sink),
        }
    }

    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        (now_ns >= self.ready_ns)
            .then(|| self.fifo.dequeue(now_ns, sink))
            .flatten()
    }

    fn drain(&mut self, gone: &mut dyn FnMut(Packet)) {
        self.fifo.drain(gone);
    }

    fn accepts(&self, packet: &Packet) -> bool {
        self.fifo.accepts(packet)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn next_ready(&self, now_ns: u64) -> Option<u64> {
        (now_ns < self.ready_ns).then_some(self.ready_ns)
    }
}

/// Requires that a world with such disciplines stops with `fault` of the client at `at_ns`.
fn stops_with(fault: Fault, at_ns: u64, ready_ns: u64, lost: u32) {
    let parts = |_| {
        let faulty = Faulty {
            fifo: Fifo::new(100),
            ready_ns,
            lost,
        };
        (faulty, AnyLimit::off(), ())
    };
    let config = config(1_000_000_000, DELAY_NS);
    let mut world = World::new(&config, parts).expect("the settings are valid");
    world.connect(
        &connection(TcpConfig::default()),
        bulk(1_448),
        App::Sink,
        US,
    );
    let queue = CLIENT;
    let fault = QueueFault {
        queue,
        at_ns,
        fault,
    };
    assert_eq!(world.run_until(SECOND), Err(TestbedError::Fault(fault)));
}

#[test]
fn discipline_not_ready_is_a_fault() {
    stops_with(Fault::NotReady { ready_ns: 5 * US }, US, 5 * US, 0);
}

#[test]
fn packet_lost_by_the_discipline_is_a_fault() {
    stops_with(Fault::LostPackets { packets: 1 }, SECOND, 0, 1);
}
