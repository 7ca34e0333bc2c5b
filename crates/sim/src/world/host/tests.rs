//! Tests of a host.

use taut_path::qdisc::Fifo;
use taut_path::{AnyLimit, LateSegmentation, TxRing};

use super::super::segments::OutgoingSegment;
use super::*;
use crate::queue::Fault;
use crate::tcp::{Ack, SackBlocks, TcpConfig};
use crate::world::{App, ConnectionConfig, SERVER, World, WorldConfig};

/// Returns two hosts whose connection is idle.
fn silent() -> World<()> {
    let config = WorldConfig {
        nic: NicConfig::plain(8_000_000_000, 64),
        restart_slots: None,
        delay_ns: 10,
        record_from_ns: 0,
        late_segmentation: LateSegmentation::Off,
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

/// Returns a segment without data.
fn segment() -> OutgoingSegment {
    OutgoingSegment {
        connection: 0,
        start: 0,
        payload_bytes: 0,
        header_bytes: 100,
        mss_bytes: 1_448,
        priority: 0,
        ack: Ack {
            cumulative: 0,
            window_bytes: 0,
            sack: SackBlocks::default(),
            ece: false,
        },
        flags: 0,
    }
}

#[test]
fn unknown_completion_ends_the_world_with_a_fault() {
    let mut world = silent();
    world.run_until(500).expect("nothing happens");
    let host = &mut world.hosts[SERVER];
    let packet = host.tx.segments.packet(&segment());
    let nic = host.tx.queue.device_mut();
    nic.submit(packet, 500).expect("there is room");
    let Ok(()) = nic.kick(500);
    host.watch(500);
    let fault = TestbedError::Fault(QueueFault {
        queue: SERVER,
        at_ns: 600,
        fault: Fault::UnknownCompletions { packets: 1 },
    });
    assert_eq!(world.run_until(10_000), Err(fault));
    assert_eq!(world.run_until(20_000), Err(fault), "no further progress");
}
