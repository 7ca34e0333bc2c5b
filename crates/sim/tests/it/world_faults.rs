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

/// A discipline that is not ready before 5 us.
struct Shaper(Fifo);

impl Qdisc for Shaper {
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        self.0.enqueue(packet, now_ns, sink);
    }

    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        (now_ns >= 5 * US)
            .then(|| self.0.dequeue(now_ns, sink))
            .flatten()
    }

    fn drain(&mut self, gone: &mut dyn FnMut(Packet)) {
        self.0.drain(gone);
    }

    fn accepts(&self, packet: &Packet) -> bool {
        self.0.accepts(packet)
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }

    fn next_ready(&self, now_ns: u64) -> Option<u64> {
        (now_ns < 5 * US).then_some(5 * US)
    }
}

#[test]
fn discipline_not_ready_is_a_fault() {
    let parts = |_| (Shaper(Fifo::new(100)), AnyLimit::off(), ());
    let config = config(1_000_000_000, DELAY_NS);
    let mut world = World::new(&config, parts).expect("the settings are valid");
    world.connect(
        &connection(TcpConfig::default()),
        bulk(1_448),
        App::Sink,
        US,
    );
    let fault = QueueFault {
        queue: CLIENT,
        at_ns: US,
        fault: Fault::NotReady { ready_ns: 5 * US },
    };
    assert_eq!(world.run_until(SECOND), Err(TestbedError::Fault(fault)));
}
