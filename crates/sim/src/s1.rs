//! The benchmark S1, defined completely so that any simulator can run it: 1 Gbit/s full duplex, 50
//! us in each direction, bulk flows in one direction and one request/response flow. It lasts 10 s;
//! the results cover [2, 10) s.

use taut_path::LateSegmentation;
use taut_path::limit::Limit;
use taut_path::qdisc::{BandLimit, PfifoFast};

use crate::error::TestbedError;
use crate::nic::{FinishedAt, NicConfig};
use crate::tcp::TcpConfig;
use crate::world::{App, CLIENT, ConnectionConfig, Messages, SERVER, World, WorldConfig};
use taut_measure::meter::{Meter, Since};

const END_NS: u64 = 10_000_000_000;
const RECORD_FROM_NS: u64 = 2_000_000_000;
/// A full segment of 1448 bytes is 1502 bytes on the wire, an acknowledgement 54.
const HEADER_BYTES: u16 = 54;
/// Priority of the first band, at both ends.
const FIRST_BAND_PRIORITY: u8 = 6;

/// The results of S1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct S1 {
    /// Packets on the wire in the direction of the bulk flows, over the whole run.
    pub packets_there: u64,
    /// Packets on the wire in the other direction, over the whole run.
    pub packets_back: u64,
    /// Packets dropped in both directions.
    pub drops: u64,
    /// Transactions in the measured time.
    pub transactions: u64,
    /// Payload bytes of the bulk flows that were read in the measured time.
    pub received_bytes: u64,
    /// The measured time, in ns.
    pub measured_ns: u64,
    /// Mean bytes in flight in the device queue of the bulk senders.
    pub in_flight_mean_bytes: u64,
    /// Events of the simulation.
    pub events: u64,
}

/// Runs S1 with `flows` bulk flows (100 in the benchmark; buffers and writes for 10, 1,000 and
/// 10,000 are those of its scaling series) and `limit` at both hosts.
///
/// # Errors
/// If the settings of the limit contradict each other, or a queue becomes faulty.
pub fn run<L: Limit + Clone>(flows: u32, limit: L) -> Result<S1, TestbedError> {
    let mut world = world(flows, limit)?;
    world.run_until(RECORD_FROM_NS)?;
    let before = received_bytes(&world, flows);
    world.run_until(END_NS)?;
    Ok(S1 {
        packets_there: world.wire(CLIENT).frames,
        packets_back: world.wire(SERVER).frames,
        drops: world.dropped_packets(CLIENT) + world.dropped_packets(SERVER),
        transactions: world.latency_ns().len(),
        received_bytes: received_bytes(&world, flows) - before,
        measured_ns: END_NS - RECORD_FROM_NS,
        in_flight_mean_bytes: world.probe(CLIENT).in_flight_bytes().mean(),
        events: world.events(),
    })
}

/// The two hosts of S1.
type Hosts<L> = World<Meter<Since>, L, PfifoFast>;

fn world<L: Limit + Clone>(flows: u32, limit: L) -> Result<Hosts<L>, TestbedError> {
    let config = WorldConfig {
        nic: NicConfig {
            finished_at: FinishedAt::Start,
            segments_apart: true,
            ..NicConfig::plain(1_000_000_000, 1024)
        },
        restart_slots: Some(1),
        delay_ns: 50_000,
        record_from_ns: RECORD_FROM_NS,
        late_segmentation: LateSegmentation::Off,
    };
    let limit_packets = if flows == 100 { 20_000 } else { 30_000 };
    let mut world = World::new(&config, |_| {
        (
            PfifoFast::new(limit_packets, BandLimit::Total),
            limit.clone(),
            Meter::new(Since(RECORD_FROM_NS), 0, END_NS),
        )
    })?;
    connect_bulk(&mut world, flows);
    let requests = ConnectionConfig {
        tcp: TcpConfig::default(),
        header_bytes: HEADER_BYTES,
        priority: FIRST_BAND_PRIORITY,
    };
    let messages = Messages {
        request_bytes: 1,
        response_bytes: 1,
        think_ns: 0,
    };
    let (client, server) = (App::Client(messages), App::Server(messages));
    world.connect(&requests, client, server, 500_000_000);
    Ok(world)
}

fn connect_bulk<L: Limit>(world: &mut Hosts<L>, flows: u32) {
    let (buffer_bytes, write_bytes) = match flows {
        100 => (131_072, 65_536),
        0..=100 => (131_072, 1_448),
        101..=1_000 => (14_480, 1_448),
        _ => (2_896, 1_448),
    };
    let tcp = TcpConfig {
        receive_buffer_bytes: buffer_bytes,
        ..TcpConfig::default()
    };
    let bulk = ConnectionConfig {
        tcp,
        header_bytes: HEADER_BYTES,
        priority: 0,
    };
    for flow in 0..flows {
        let start_ns = 100_000_000 * u64::from(flow) / u64::from(flows);
        world.connect(
            &bulk,
            App::Bulk {
                write_bytes,
                buffer_bytes,
            },
            App::Sink,
            start_ns,
        );
    }
}

fn received_bytes<L: Limit>(world: &Hosts<L>, flows: u32) -> u64 {
    (0..flows)
        .map(|flow| world.report(flow, SERVER).received_bytes)
        .sum()
}
