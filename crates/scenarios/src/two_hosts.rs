//! Two hosts on one link: the common cards, link and TCP settings of the scenarios.

use taut_path::qdisc::{BandLimit, PfifoFast};
use taut_path::{AnyLimit, LateSegmentation, Probe, Qdisc};
use taut_sim::HEADER_BYTES;
use taut_sim::error::TestbedError;
use taut_sim::nic::{DescriptorRule, Framing, InterruptRule, NicConfig};
use taut_sim::tcp::{GsoSize, TcpConfig};
use taut_sim::world::{App, CLIENT, ConnectionConfig, Messages, SERVER, World, WorldConfig};

use taut_path::units::{Rate, Time};

/// The first band of `pfifo_fast`.
pub(crate) const FIRST_BAND_PRIORITY: u8 = 6;

/// Payload of a full segment.
pub(crate) const MSS_BYTES: u32 = 1_448;

/// Link time of a full frame, in bytes: preamble, check sequence and gap are 24.
const FRAME_TIME_BYTES: f64 = (MSS_BYTES + HEADER_BYTES as u32 + 24) as f64;

/// Maximum whole segments of a GSO packet within 64 KB.
pub(crate) const GSO_PACKET_BYTES: u32 = 45 * MSS_BYTES;

/// Maximum of Linux's autotuned socket buffers: `tcp_wmem` and `tcp_rmem`.
pub(crate) const SEND_BUFFER_BYTES: u32 = 4 << 20;
const RECEIVE_BUFFER_BYTES: u32 = 6 << 20;

/// One-way delay of a local network.
pub(crate) const DELAY_NS: u64 = 10_000;

/// Streams start uniformly within this time.
pub(crate) const START_NS: u64 = 100_000_000;

/// A saturating application that writes 64 KB at a time.
pub(crate) const BULK: App = App::Bulk {
    write_bytes: 64 << 10,
    buffer_bytes: SEND_BUFFER_BYTES,
};

/// Returns two hosts with the delay of a local network, without queues.
pub(crate) const fn hosts(nic: NicConfig, record_from_ns: u64) -> WorldConfig {
    WorldConfig {
        nic,
        restart_slots: None,
        delay_ns: DELAY_NS,
        record_from_ns,
        late_segmentation: LateSegmentation::Off,
    }
}

/// Creates a world; both hosts have a queue with `limit` and with the results of `discipline` and
/// `probe`.
pub(crate) fn world<P: Probe>(
    config: &WorldConfig,
    limit: &AnyLimit,
    discipline: impl Fn() -> Box<dyn Qdisc + Send>,
    mut probe: impl FnMut(usize) -> P,
) -> Result<World<P>, TestbedError> {
    World::new(config, |host| (discipline(), limit.clone(), probe(host)))
}

/// Returns a function that creates `pfifo_fast` with this many packets in each band.
pub(crate) fn bands_of(packets: u32) -> impl Fn() -> Box<dyn Qdisc + Send> {
    move || Box::new(PfifoFast::new(packets, BandLimit::Each))
}

/// The card of the published experiments, on an Ethernet link.
pub(crate) const fn card(rate: Rate, slots: u32, coalesce: Time, seed: u64) -> NicConfig {
    NicConfig {
        framing: Framing::ETHERNET,
        rule: DescriptorRule::E1000,
        interrupt: InterruptRule::every(coalesce.0),
        segments_apart: true,
        seed,
        ..NicConfig::plain(rate.0, slots)
    }
}

/// Returns Linux's rule, or no limit.
pub(crate) fn dql_or_off(limited: bool) -> AnyLimit {
    if limited {
        AnyLimit::dql()
    } else {
        AnyLimit::off()
    }
}

/// Returns a stream of low priority.
pub(crate) fn stream(gso_size: GsoSize) -> ConnectionConfig {
    ConnectionConfig {
        tcp: TcpConfig {
            gso_size,
            receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
            ..TcpConfig::default()
        },
        header_bytes: HEADER_BYTES,
        priority: 0,
    }
}

/// Returns the same stream in the first band.
pub(crate) const fn first_band(stream: ConnectionConfig) -> ConnectionConfig {
    ConnectionConfig {
        priority: FIRST_BAND_PRIORITY,
        ..stream
    }
}

/// Returns a client and a server with messages of this size; each has a think time of `think_ns`.
pub(crate) const fn request_response(bytes: u32, think_ns: u64) -> (App, App) {
    let messages = Messages {
        request_bytes: bytes,
        response_bytes: bytes,
        think_ns,
    };
    (App::Client(messages), App::Server(messages))
}

/// Returns the think time of one host, if both hosts and the link between them take `hosts`.
pub(crate) fn think_ns(host_latency: Time) -> u64 {
    (host_latency.0 / 2).saturating_sub(DELAY_NS)
}

/// Returns the maximum payload that a link of this rate carries, in bit/s.
pub(crate) fn max_payload_bits_per_s(rate: Rate) -> f64 {
    rate.0 as f64 * f64::from(MSS_BYTES) / FRAME_TIME_BYTES
}

/// Totals of both hosts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    /// Packets that the disciplines dropped.
    pub drops: u64,
    /// Packets that they marked.
    pub marks: u64,
    /// Packets that the senders sent again.
    pub retransmits: u64,
    /// Payload bytes that arrived at the server, including those out of order.
    pub arrived_bytes: u64,
}

impl Done {
    /// Returns the totals of a world with this number of connections.
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

    /// Returns the difference to an earlier state.
    pub const fn since(self, before: Self) -> Self {
        Self {
            drops: self.drops - before.drops,
            marks: self.marks - before.marks,
            retransmits: self.retransmits - before.retransmits,
            arrived_bytes: self.arrived_bytes - before.arrived_bytes,
        }
    }
}
