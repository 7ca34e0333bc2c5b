//! E1: bulk TCP streams saturate a link while one request/response runs at high priority.

mod case;
mod published;
mod row;
mod settings;

use std::fmt;

use hdrhistogram::Histogram;
use taut_path::qdisc::{self, ParseQdiscError};
use taut_path::{AnyLimit, Probe, Split};

use taut_sim::meter::{Curve, Meter, Quantiles, Since};
use taut_sim::nic::{DescriptorRule, FinishedAt, Framing, InterruptRule, NicConfig};
use taut_sim::tcp::{SuperPacket, TcpConfig};
use taut_sim::trace::{Recorder, Tracer};
use taut_sim::world::{
    App, CLIENT, ConnectionConfig, HostCost, SERVER, World, WorldConfig, WorldError,
};

pub use case::{Case, Only, ParseOnlyError};
pub use published::{Published, figures, is_published};
pub use row::{Latency, Lateness, Row, one_decimal, per_second};
pub use settings::{
    CADENCES, DURATIONS, RATES, RINGS, Ran, STREAMS, Settings, check_cases, check_limits,
};

/// 14 bytes of Ethernet, 20 of IPv4, 32 of TCP with timestamps.
pub(super) const HEADER_BYTES: u16 = 66;

/// The first band of `pfifo_fast`.
pub(super) const FIRST_BAND_PRIORITY: u8 = 6;

/// The least whole number of segments above which a super-packet would not fit in 64 KB.
pub(super) const SUPER_PACKET_BYTES: u32 = 45 * 1448;

/// What Linux tunes a socket's buffers up to: `tcp_wmem` and `tcp_rmem`.
pub(super) const SEND_BUFFER_BYTES: u32 = 4 << 20;
pub(super) const RECEIVE_BUFFER_BYTES: u32 = 6 << 20;

/// One write of a bulk sender.
pub(super) const WRITE_BYTES: u32 = 64 << 10;

/// The time of a transaction that is not spent in the device queue: both hosts' interrupts, stacks
/// and applications. The one constant of the hosts, chosen to meet the four published rates.
pub const HOSTS_NS: u64 = 550_000;

/// One way across a local network. Part of [`HOSTS_NS`].
pub(super) const DELAY_NS: u64 = 10_000;

/// What is not measured at the start: slow start, and the first second of the limit.
pub const WARM_UP_NS: u64 = 2_000_000_000;

/// The bulk streams start evenly within this time.
const START_NS: u64 = 100_000_000;

/// What is run.
#[derive(Debug, Clone)]
pub struct RrUnderLoad<'a> {
    /// Bulk streams.
    pub streams: u32,
    /// Link rate, in bit/s.
    pub rate_bits_per_s: u64,
    /// Descriptors of the ring.
    pub slots: u32,
    /// Time between interrupts, in ns.
    pub cadence_ns: u64,
    /// The discipline, as `tc` spells it.
    pub qdisc: &'a str,
    /// What holds the queues of both hosts back.
    pub limit: AnyLimit,
    /// Whether senders hand down super-packets.
    pub tso: bool,
    /// How those go to the device.
    pub split: Split,
    /// The time of a transaction that is not spent in the device queue, in ns: [`HOSTS_NS`].
    pub hosts_ns: u64,
    /// What is not measured at the start, in ns: [`WARM_UP_NS`].
    pub warm_up_ns: u64,
    /// How long it is measured, in ns.
    pub duration_ns: u64,
    /// Seed of everything drawn at random.
    pub seed: u64,
}

/// What was found.
#[derive(Debug)]
pub struct Outcome {
    /// Bytes in the bulk senders' ring, over time.
    pub in_flight_bytes: Quantiles,
    /// Packets waiting in the bulk senders' discipline, over time.
    pub waiting_packets: Quantiles,
    /// Median of the limit over time, in the limit's units.
    pub limit_p50: u64,
    /// The course of both, from the start.
    pub curve: Curve,
    /// Latencies of the transactions, in ns.
    pub latency_ns: Histogram<u64>,
    /// Payload bytes that arrived for the bulk streams, those out of order included.
    pub delivered_bytes: u64,
    /// Packets that the disciplines dropped, both ways, over all of the time.
    pub drops: u64,
    /// Packets that they marked, likewise.
    pub marks: u64,
    /// Packets that the senders sent again, likewise.
    pub retransmits: u64,
}

/// Why it could not be run to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunError {
    /// The discipline is not understood.
    Qdisc(ParseQdiscError),
    /// A NIC or a queue cannot be made, or a queue went wrong.
    World(WorldError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Qdisc(error) => error.fmt(f),
            Self::World(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<WorldError> for RunError {
    fn from(error: WorldError) -> Self {
        Self::World(error)
    }
}

impl RrUnderLoad<'_> {
    /// Runs it again and records what happens at the bulk senders' queue.
    ///
    /// # Errors
    /// If a setting cannot be, or a queue goes wrong.
    pub fn trace(&self, recorder: &mut Recorder<'_>) -> Result<(), RunError> {
        let mut world = self.world(Tracer::of_client(recorder))?;
        world.run_until(self.end_ns())?;
        Ok(())
    }

    /// Runs it in virtual time.
    ///
    /// # Errors
    /// If a setting cannot be, or a queue goes wrong.
    pub fn run(&self) -> Result<Outcome, RunError> {
        let meter = |_| Meter::new(Since(self.warm_up_ns), 0, self.end_ns());
        let mut world = self.world(meter)?;
        world.run_until(self.warm_up_ns)?;
        let before = world.arrived_bytes(SERVER);
        world.run_until(self.end_ns())?;
        let meter = world.probe(CLIENT);
        Ok(Outcome {
            in_flight_bytes: meter.in_flight_bytes(),
            waiting_packets: meter.waiting_packets(),
            limit_p50: meter.limit_p50(),
            curve: meter.curve().clone(),
            latency_ns: world.transactions().latency_ns().clone(),
            delivered_bytes: world.arrived_bytes(SERVER) - before,
            drops: world.dropped_packets(CLIENT) + world.dropped_packets(SERVER),
            marks: world.marked_packets(CLIENT) + world.marked_packets(SERVER),
            retransmits: self.retransmits(&world),
        })
    }

    /// The bulk streams and the one of requests, both ends.
    fn retransmits(&self, world: &World<Meter<Since>>) -> u64 {
        let both = |connection| {
            let of = |host| world.report(connection, host).tcp.retransmissions;
            of(CLIENT) + of(SERVER)
        };
        (0..=self.streams).map(both).sum()
    }

    /// When it ends, in ns of virtual time: the warm-up is part of it.
    pub const fn end_ns(&self) -> u64 {
        self.warm_up_ns + self.duration_ns
    }

    fn world<P: Probe>(&self, mut probe: impl FnMut(usize) -> P) -> Result<World<P>, RunError> {
        qdisc::by_name(self.qdisc).map_err(RunError::Qdisc)?;
        let config = WorldConfig {
            nic: card(self.rate_bits_per_s, self.slots, self.cadence_ns, self.seed),
            restart_slots: None,
            delay_ns: DELAY_NS,
            cost: HostCost::default(),
            record_from_ns: self.warm_up_ns,
        };
        let parts = |host| {
            // Understood a moment ago.
            let discipline = qdisc::by_name(self.qdisc).expect("the same text");
            (discipline, self.limit.clone(), probe(host))
        };
        let mut world = World::with_split(&config, self.split, parts)?;
        self.connect(&mut world);
        Ok(world)
    }

    fn connect<P: Probe>(&self, world: &mut World<P>) {
        let super_packet = if self.tso {
            SuperPacket::Fixed(SUPER_PACKET_BYTES)
        } else {
            SuperPacket::Off
        };
        let tcp = TcpConfig {
            super_packet,
            receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
            ecn: qdisc::marks(self.qdisc),
            ..TcpConfig::default()
        };
        let bulk = ConnectionConfig {
            tcp,
            header_bytes: HEADER_BYTES,
            priority: 0,
        };
        let sender = App::Bulk {
            write_bytes: WRITE_BYTES,
            buffer_bytes: SEND_BUFFER_BYTES,
        };
        for stream in 0..self.streams {
            let start_ns = START_NS * u64::from(stream) / u64::from(self.streams);
            world.connect(&bulk, sender, App::Sink, start_ns);
        }
        let think_ns = (self.hosts_ns / 2).saturating_sub(DELAY_NS);
        let requests = ConnectionConfig {
            priority: FIRST_BAND_PRIORITY,
            ..bulk
        };
        let client = App::Client {
            request_bytes: 1,
            response_bytes: 1,
            think_ns,
        };
        let server = App::Server {
            request_bytes: 1,
            response_bytes: 1,
            think_ns,
        };
        world.connect(&requests, client, server, START_NS);
    }
}

/// The card of the published experiments, on an Ethernet link.
pub(super) const fn card(
    rate_bits_per_s: u64,
    slots: u32,
    cadence_ns: u64,
    seed: u64,
) -> NicConfig {
    NicConfig {
        rate_bits_per_s,
        framing: Framing::ETHERNET,
        slots,
        rule: DescriptorRule::E1000,
        interrupt: InterruptRule::every(cadence_ns),
        finished_at: FinishedAt::End,
        segments_apart: true,
        seed,
    }
}
