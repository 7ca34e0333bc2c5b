//! Two hosts on one link: the cards, the link and the TCP that the scenarios have in common.

use taut_path::qdisc::{BandLimit, PfifoFast};
use taut_path::{AnyLimit, LateSegmentation, Probe, Qdisc};
use taut_sim::HEADER_BYTES;
use taut_sim::error::TestbedError;
use taut_sim::nic::{DescriptorRule, Framing, InterruptRule, NicConfig};
use taut_sim::tcp::{SuperPacket, TcpConfig};
use taut_sim::world::{App, CLIENT, ConnectionConfig, SERVER, World, WorldConfig};

use taut_path::units::{Rate, Time};

/// The first band of `pfifo_fast`.
pub(crate) const FIRST_BAND_PRIORITY: u8 = 6;

/// Payload of a full segment.
pub(crate) const MSS_BYTES: u32 = 1_448;

/// Link time of a full frame, in bytes: preamble, check sequence and gap are 24.
pub(crate) const FRAME_TIME_BYTES: f64 = (MSS_BYTES + HEADER_BYTES as u32 + 24) as f64;

/// The least whole number of segments above which a super-packet would not fit in 64 KB.
pub(crate) const SUPER_PACKET_BYTES: u32 = 45 * MSS_BYTES;

/// What Linux tunes a socket's buffers up to: `tcp_wmem` and `tcp_rmem`.
pub(crate) const SEND_BUFFER_BYTES: u32 = 4 << 20;
const RECEIVE_BUFFER_BYTES: u32 = 6 << 20;

/// One way across a local network.
pub(crate) const DELAY_NS: u64 = 10_000;

/// Streams start evenly within this time.
pub(crate) const START_NS: u64 = 100_000_000;

/// Always has something to send, and writes 64 KB of it at a time.
pub(crate) const BULK: App = App::Bulk {
    write_bytes: 64 << 10,
    buffer_bytes: SEND_BUFFER_BYTES,
};

/// Two hosts, before they have queues.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TwoHosts {
    /// The card of each.
    pub nic: NicConfig,
    /// One way between them, in ns.
    pub delay_ns: u64,
    /// From when on transactions are recorded, in ns.
    pub record_from_ns: u64,
    /// How super-packets go to the card.
    pub split: LateSegmentation,
}

impl TwoHosts {
    /// A local network apart.
    pub const fn new(nic: NicConfig, record_from_ns: u64) -> Self {
        Self {
            nic,
            delay_ns: DELAY_NS,
            record_from_ns,
            split: LateSegmentation::Off,
        }
    }

    /// Gives both hosts a queue: `limit` below what `discipline` makes, watched by what `probe`
    /// makes.
    pub fn world<P: Probe>(
        &self,
        limit: &AnyLimit,
        discipline: impl Fn() -> Box<dyn Qdisc + Send>,
        mut probe: impl FnMut(usize) -> P,
    ) -> Result<World<P>, TestbedError> {
        let config = WorldConfig {
            nic: self.nic,
            restart_slots: None,
            delay_ns: self.delay_ns,
            record_from_ns: self.record_from_ns,
        };
        let parts = |host| (discipline(), limit.clone(), probe(host));
        World::with_split(&config, self.split, parts)
    }
}

/// `pfifo_fast` for so many packets in each band.
pub(crate) fn bands_of(packets: u32) -> impl Fn() -> Box<dyn Qdisc + Send> {
    move || Box::new(PfifoFast::new(packets, BandLimit::Each))
}

/// The card of the published experiments, on an Ethernet link.
pub(crate) const fn card(rate: Rate, slots: u32, cadence: Time, seed: u64) -> NicConfig {
    NicConfig {
        framing: Framing::ETHERNET,
        rule: DescriptorRule::E1000,
        interrupt: InterruptRule::every(cadence.0),
        segments_apart: true,
        seed,
        ..NicConfig::plain(rate.0, slots)
    }
}

/// Linux's rule, or no limit.
pub(crate) fn dql_or_off(limited: bool) -> AnyLimit {
    if limited {
        AnyLimit::dql()
    } else {
        AnyLimit::off()
    }
}

/// A stream of low priority.
pub(crate) fn stream(super_packet: SuperPacket) -> ConnectionConfig {
    ConnectionConfig {
        tcp: TcpConfig {
            super_packet,
            receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
            ..TcpConfig::default()
        },
        header_bytes: HEADER_BYTES,
        priority: 0,
    }
}

/// The same in the first band.
pub(crate) const fn first_band(stream: ConnectionConfig) -> ConnectionConfig {
    ConnectionConfig {
        priority: FIRST_BAND_PRIORITY,
        ..stream
    }
}

/// One end that asks with a message of so many bytes, and one that answers with as many; each takes
/// `think_ns` for it.
pub(crate) const fn request_response(bytes: u32, think_ns: u64) -> (App, App) {
    let client = App::Client {
        request_bytes: bytes,
        response_bytes: bytes,
        think_ns,
    };
    let server = App::Server {
        request_bytes: bytes,
        response_bytes: bytes,
        think_ns,
    };
    (client, server)
}

/// What one of the hosts takes, if both and the way between them take `hosts`.
pub(crate) fn think_ns(hosts: Time) -> u64 {
    (hosts.0 / 2).saturating_sub(DELAY_NS)
}

/// Connects bulk streams that start evenly within [`START_NS`], and one request/response of a byte
/// that starts after them.
pub(crate) fn connect_bulk_and_requests<P: Probe>(
    world: &mut World<P>,
    streams: u32,
    bulk: &ConnectionConfig,
    requests: &ConnectionConfig,
    think_ns: u64,
) {
    for stream in 0..streams {
        let start_ns = START_NS * u64::from(stream) / u64::from(streams);
        world.connect(bulk, BULK, App::Sink, start_ns);
    }
    let (client, server) = request_response(1, think_ns);
    world.connect(requests, client, server, START_NS);
}

/// What both hosts did so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    /// Packets that the disciplines dropped.
    pub drops: u64,
    /// Packets that they marked.
    pub marks: u64,
    /// Packets that the senders sent again.
    pub retransmits: u64,
    /// Payload bytes that arrived at the server, those out of order included.
    pub arrived_bytes: u64,
}

impl Done {
    /// In a world of so many connections.
    pub fn of<P: Probe>(world: &World<P>, connections: u32) -> Self {
        let both = |of: &dyn Fn(usize) -> u64| of(CLIENT) + of(SERVER);
        let sent_again = |host| {
            let reports = (0..connections).map(|number| world.report(number, host));
            reports.map(|report| report.tcp.retransmissions).sum()
        };
        Self {
            drops: both(&|host| world.dropped_packets(host)),
            marks: both(&|host| world.marked_packets(host)),
            retransmits: both(&sent_again),
            arrived_bytes: world.arrived_bytes(SERVER),
        }
    }

    /// What of it was not yet done before.
    pub const fn since(self, before: Self) -> Self {
        Self {
            drops: self.drops - before.drops,
            marks: self.marks - before.marks,
            retransmits: self.retransmits - before.retransmits,
            arrived_bytes: self.arrived_bytes - before.arrived_bytes,
        }
    }
}
