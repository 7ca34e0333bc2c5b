//! E2: many request/response streams of one size on one link.
//!
//! Card and direction were not published. Half of the streams are opened from each end: two full
//! queues in one loop share what goes round in any proportion, so that the bytes in one of them say
//! nothing if all requests go the same way. The cadence is this card's own constant, and a receiver
//! merges the segments that one interrupt brings into one acknowledgement.

use serde::{Deserialize, Serialize};
use serde_json::json;
use taut_path::qdisc::{BandLimit, PfifoFast};
use taut_path::{AnyLimit, Probe};

use super::quantity::{Rate, Size, Time, check};
use super::registry::{Findings, Progress, Scenario, ScenarioError};
use super::rr_under_load::{
    DELAY_NS, HEADER_BYTES, RECEIVE_BUFFER_BYTES, SUPER_PACKET_BYTES, card,
};
use super::single_queue::{check_cadence, check_duration, check_rate, check_ring};
use super::tracing::TraceRow;
use crate::results::Figure;
use taut_sim::meter::{Meter, Since};
use taut_sim::nic::DescriptorRule;
use taut_sim::tcp::{SuperPacket, TcpConfig};
use taut_sim::trace::{Recorder, Tracer};
use taut_sim::world::{App, CLIENT, ConnectionConfig, HostCost, World, WorldConfig};

/// What is run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `rr-sizes`.
    pub scenario: String,
    /// Streams, each with one request outstanding.
    pub streams: u32,
    /// Bytes of a request, and of its response; a row with and one without the limit for each.
    pub sizes: Vec<Size>,
    /// Link rate.
    pub rate: Rate,
    /// Descriptors of the ring.
    pub ring: u32,
    /// From interrupt to interrupt.
    pub cadence: Time,
    /// Time of a transaction that is not spent in queues and on the wire.
    pub hosts: Time,
    /// What is not measured at the start.
    pub warm_up: Time,
    /// What is measured.
    pub duration: Time,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scenario: Self::NAME.to_owned(),
            streams: 200,
            sizes: [140_000, 14_000, 1_400, 140, 1].map(Size).to_vec(),
            rate: Rate(1_000_000_000),
            ring: 1_024,
            cadence: Time::us(100),
            hosts: Time::us(590),
            warm_up: Time::ms(1_500),
            duration: Time::ms(1_000),
        }
    }
}

/// Published of a size: transactions/s, and bytes in the device queue (from, to), first with the
/// limit and then without.
type Published = (u64, [(f64, [f64; 2]); 2]);

const PUBLISHED: [Published; 5] = [
    (
        140_000,
        [(856.0, [80e3, 215e3]), (854.0, [2_700e3, 2_930e3])],
    ),
    (
        14_000,
        [(8_500.0, [25e3, 55e3]), (8_523.0, [1_500e3, 1_622e3])],
    ),
    (1_400, [(86_582.0, [20e3, 38e3]), (85_738.0, [29e3, 117e3])]),
    (140, [(320_540.0, [1e3, 10e3]), (323_158.0, [1e3, 13e3])]),
    (1, [(338_811.0, [0.0, 3e3]), (339_947.0, [0.0, 3e3])]),
];

/// Packets that a discipline holds: more than all streams together can have under way.
const BACKLOG_PACKETS: u32 = 100_000;

/// What one row found.
struct Seen {
    tps: f64,
    in_flight_mean_bytes: u64,
    in_flight_p10_bytes: u64,
    in_flight_p90_bytes: u64,
    goodput_bits_per_s: f64,
    latency_p50_us: u64,
}

impl Settings {
    fn row(&self, size: Size, limit: &AnyLimit, seed: u64) -> Result<Seen, ScenarioError> {
        let meter = |_| Meter::new(Since(self.warm_up.0), 0, self.end_ns());
        let mut world = self.world(size, limit, meter, seed)?;
        world.run_until(self.end_ns())?;
        let latency_ns = world.transactions().latency_ns();
        let meter = world.probe(CLIENT);
        let in_flight = meter.in_flight_bytes();
        let tps = latency_ns.len() as f64 * 1e9 / self.duration.0 as f64;
        Ok(Seen {
            tps,
            in_flight_mean_bytes: meter.in_flight_mean_bytes(),
            in_flight_p10_bytes: in_flight.p10,
            in_flight_p90_bytes: in_flight.p90,
            goodput_bits_per_s: tps * size.0 as f64 * 8.0,
            latency_p50_us: latency_ns.value_at_quantile(0.5) / 1_000,
        })
    }

    fn end_ns(&self) -> u64 {
        self.warm_up.0 + self.duration.0
    }

    fn traced(
        &self,
        size: Size,
        limit: &AnyLimit,
        seed: u64,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), ScenarioError> {
        let mut world = self.world(size, limit, Tracer::of_client(recorder), seed)?;
        world.run_until(self.end_ns())?;
        Ok(())
    }

    fn world<P: Probe>(
        &self,
        size: Size,
        limit: &AnyLimit,
        mut probe: impl FnMut(usize) -> P,
        seed: u64,
    ) -> Result<World<P>, ScenarioError> {
        let config = WorldConfig {
            nic: card(self.rate.0, self.ring, self.cadence.0, seed),
            restart_slots: None,
            delay_ns: DELAY_NS,
            cost: HostCost::default(),
            record_from_ns: self.warm_up.0,
        };
        let parts = |host| {
            let discipline = PfifoFast::new(BACKLOG_PACKETS, BandLimit::Each);
            (Box::new(discipline) as _, limit.clone(), probe(host))
        };
        let mut world = World::new(&config, parts)?;
        self.connect(&mut world, size);
        Ok(world)
    }

    fn connect<P: Probe>(&self, world: &mut World<P>, size: Size) {
        let mut tcp = TcpConfig {
            super_packet: SuperPacket::Fixed(SUPER_PACKET_BYTES),
            receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
            ..TcpConfig::default()
        };
        if size.0 > u64::from(tcp.mss_bytes) {
            // A receiver that merges segments acknowledges what one interrupt brought once. An
            // acknowledgement for every second segment would take most of the descriptors: two
            // each, where six carry a whole message of 14,000 bytes.
            tcp.delayed_ack_segments = SUPER_PACKET_BYTES / tcp.mss_bytes;
            tcp.delayed_ack_ns = self.cadence.0;
        }
        let stream = ConnectionConfig {
            tcp,
            header_bytes: HEADER_BYTES,
            priority: 0,
        };
        let message_bytes = size.0 as u32;
        let think_ns = (self.hosts.0 / 2).saturating_sub(DELAY_NS);
        let (request_bytes, response_bytes) = (message_bytes, message_bytes);
        for number in 0..self.streams {
            let start_ns =
                self.spread_ns(size).saturating_mul(number.into()) / u64::from(self.streams);
            let client = App::Client {
                request_bytes,
                response_bytes,
                think_ns,
            };
            let server = App::Server {
                request_bytes,
                response_bytes,
                think_ns,
            };
            // Two queues in one loop, both of them full, share what goes round in any proportion
            // for ever: the start decides. Not all requests go the same way, so it is the half.
            if number % 2 == 0 {
                world.connect(&stream, client, server, start_ns);
            } else {
                world.connect(&stream, server, client, start_ns);
            }
        }
    }

    /// The streams start evenly within the time that the link takes for a message of each, or that
    /// the hosts take if that is longer. All at once, requests would go in one direction while the
    /// other is idle, and responses after them, for ever.
    fn spread_ns(&self, size: Size) -> u64 {
        let bits = u64::from(self.streams) * size.0 * 8;
        let link_ns = u128::from(bits) * 1_000_000_000 / u128::from(self.rate.0.max(1));
        u64::try_from(link_ns).unwrap_or(u64::MAX).max(self.hosts.0)
    }
}

fn figures(size: Size, limited: bool, seen: &Seen) -> Vec<Figure> {
    let Some((_, published)) = PUBLISHED.iter().find(|(published, _)| *published == size.0) else {
        return Vec::new();
    };
    let (tps, bytes) = published[usize::from(!limited)];
    let case = if limited { "limit on" } else { "limit off" };
    let figure = |what, published, value, unit| Figure {
        id: format!("E2, {}, {case}, {what}", size.0),
        published,
        value,
        unit,
        constants: vec!["cadence", "hosts", "direction"],
    };
    vec![
        figure(
            "in flight",
            bytes.to_vec(),
            seen.in_flight_mean_bytes as f64,
            "bytes",
        ),
        figure("rate", vec![tps], seen.tps, "transactions/s"),
    ]
}

impl Scenario for Settings {
    const NAME: &'static str = "rr-sizes";
    const ABOUT: &'static str = "many request/response streams of one size on one link (E2)";
    const HAS_FIGURES: bool = true;
    const REMARK: &'static str = "Outside: the bytes of the largest size without a limit. The ring \
        is full of them as published, but here a message is cut into two super-packets of 45 \
        segments and a rest of 7, and into smaller ones while a window is small; a third of a full \
        ring is descriptors of small objects and acknowledgements. How the published host cut its \
        messages is not known. The published rates of 14000 and 1400 are up to 4 % above what \
        1 Gbit/s Ethernet carries with 66 bytes of headers.";

    fn validate(&self) -> Result<(), String> {
        check("streams", self.streams, 1, 10_000)?;
        check("number of sizes", self.sizes.len(), 1, 20)?;
        for size in &self.sizes {
            check("sizes", *size, Size(1), Size(10_000_000))?;
        }
        check_rate("rate", self.rate)?;
        check_ring("ring", self.ring)?;
        check(
            "ring",
            self.ring,
            DescriptorRule::E1000.restart_slots(self.ring),
            u32::MAX,
        )?;
        check("hosts", self.hosts, Time(0), Time::ms(10_000))?;
        check_duration("warm_up", self.warm_up)?;
        check_duration("duration", self.duration)?;
        check_cadence("cadence", self.cadence, self.duration)
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let mut rows = Vec::new();
        for &size in &self.sizes {
            let on = move |to: &mut Recorder<'_>| self.traced(size, &AnyLimit::dql(), seed, to);
            let off = move |to: &mut Recorder<'_>| self.traced(size, &AnyLimit::off(), seed, to);
            let bytes = size.0;
            rows.push(TraceRow::new(format!("{bytes}, limit on"), "dql", on));
            rows.push(TraceRow::new(format!("{bytes}, limit off"), "off", off));
        }
        rows
    }

    fn measure(
        &self,
        seed: u64,
        progress: Progress,
        found: &Findings,
    ) -> Result<(), ScenarioError> {
        let rows = 2 * self.sizes.len() as u64;
        let mut done = 0;
        for &size in &self.sizes {
            for limited in [true, false] {
                progress(&size.0.to_string(), done, rows);
                done += 1;
                let limit = if limited {
                    AnyLimit::dql()
                } else {
                    AnyLimit::off()
                };
                let seen = self.row(size, &limit, seed)?;
                found.row(json!({
                    "size_bytes": size.0,
                    "limit": limit.to_string(),
                    "in_flight_mean_bytes": seen.in_flight_mean_bytes,
                    "in_flight_p10_bytes": seen.in_flight_p10_bytes,
                    "in_flight_p90_bytes": seen.in_flight_p90_bytes,
                    "rate_tps": seen.tps,
                    "latency_p50_us": seen.latency_p50_us,
                    "goodput_bits_per_s": seen.goodput_bits_per_s,
                }));
                found.figures(figures(size, limited, &seen));
            }
        }
        progress("done", rows, rows);
        Ok(())
    }
}
