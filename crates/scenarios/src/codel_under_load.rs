//! E7: bulk streams against one request/response in one shared CoDel, with and without the limit,
//! with drops and with marks.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use taut_path::qdisc::by_name;
use taut_path::{AnyLimit, Event, Probe};

use super::quantity::{Rate, Size, Time, check};
use super::registry::{Findings, Progress, Scenario, ScenarioError};
use super::rr_under_load::{
    DELAY_NS, HEADER_BYTES, RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES, WRITE_BYTES, card, per_second,
};
use super::single_queue::{check_cadence, check_duration, check_rate, check_ring, check_size};
use crate::results::{Figure, Series};
use taut_sim::meter::{Meter, Since};
use taut_sim::nic::DescriptorRule;
use taut_sim::tcp::{SuperPacket, TcpConfig};
use taut_sim::world::{App, CLIENT, ConnectionConfig, HostCost, SERVER, World, WorldConfig};

/// What is run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `codel-under-load`.
    pub scenario: String,
    /// Bulk streams.
    pub streams: u32,
    /// Disciplines as `tc` spells them, without `ecn` and `noecn`.
    pub disciplines: Vec<String>,
    /// Link rate.
    pub rate: Rate,
    /// Descriptors of the ring.
    pub ring: u32,
    /// From interrupt to interrupt.
    pub cadence: Time,
    /// Time of a transaction that is not spent in queues and on the wire.
    pub hosts: Time,
    /// Payload of the largest super-packet.
    pub super_packet: Size,
    /// What is not measured at the start.
    pub warm_up: Time,
    /// What is measured.
    pub duration: Time,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scenario: Self::NAME.to_owned(),
            streams: 128,
            disciplines: ["codel", "fq_codel"].map(str::to_owned).to_vec(),
            rate: Rate(10_000_000_000),
            ring: 4_078,
            cadence: Time::us(50),
            hosts: Time::us(550),
            super_packet: Size(45 * 1_448),
            warm_up: Time::ms(6_000),
            duration: Time::ms(1_500),
        }
    }
}

/// The bulk streams start evenly within this time.
const START_NS: u64 = 100_000_000;

/// Points of a latency distribution.
const CDF_POINTS: u32 = 200;

/// Published of CoDel: limit, marks, transactions/s, packets in the discipline. Without the limit,
/// drops and marks gave the same.
const PUBLISHED: [(bool, bool, f64, f64); 4] = [
    (false, false, 94.0, 28.0),
    (false, true, 94.0, 28.0),
    (true, false, 140.0, 113.0),
    (true, true, 749.0, 82.0),
];

/// One row.
struct Case<'a> {
    discipline: &'a str,
    limited: bool,
    ecn: bool,
}

impl Case<'_> {
    fn spelled(&self) -> String {
        let signal = if self.ecn { "ecn" } else { "noecn" };
        format!("{} {signal}", self.discipline)
    }

    fn limit(&self) -> AnyLimit {
        if self.limited {
            AnyLimit::dql()
        } else {
            AnyLimit::off()
        }
    }

    fn name(&self) -> String {
        let limit = if self.limited { "on" } else { "off" };
        let signal = if self.ecn { "marks" } else { "drops" };
        format!("{}, limit {limit}, {signal}", self.discipline)
    }
}

/// A meter that also counts what waits in the discipline.
struct Waiting {
    meter: Meter<Since>,
    from_ns: u64,
    packets: u64,
    since_ns: u64,
    packet_ns: u128,
}

impl Waiting {
    fn change(&mut self, by: i64, now_ns: u64) {
        let held_ns = now_ns.saturating_sub(self.since_ns.max(self.from_ns));
        self.packet_ns += u128::from(self.packets) * u128::from(held_ns);
        self.packets = self.packets.saturating_add_signed(by);
        self.since_ns = now_ns;
    }
}

impl Probe for Waiting {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Enqueued(_) | Event::HandedBack(_) => self.change(1, now_ns),
            // No super-packet is too large for a limit: what is dropped waited in the discipline.
            Event::Dequeued(_) | Event::Dropped(..) => self.change(-1, now_ns),
            event => self.meter.event(now_ns, event),
        }
    }
}

/// What is counted over the measured time only.
struct Counted {
    drops: u64,
    marks: u64,
    retransmissions: u64,
    arrived_bytes: u64,
}

impl Settings {
    fn cases(&self) -> Vec<Case<'_>> {
        let mut cases = Vec::new();
        for discipline in &self.disciplines {
            for (limited, ecn) in [(false, false), (false, true), (true, false), (true, true)] {
                cases.push(Case {
                    discipline,
                    limited,
                    ecn,
                });
            }
        }
        cases
    }

    fn end_ns(&self) -> u64 {
        self.warm_up.0 + self.duration.0
    }

    fn run_case(&self, case: &Case, seed: u64, found: &Findings) -> Result<(), ScenarioError> {
        let mut world = self.world(case, seed)?;
        world.run_until(self.warm_up.0)?;
        let before = self.counted(&world);
        world.run_until(self.end_ns())?;
        let after = self.counted(&world);
        let row = self.row(case, &world, &before, &after);
        found.figures(figures(case, Some(&row)));
        found.row(row);
        let latency_ns = world.transactions().latency_ns();
        let points = (0..=CDF_POINTS).map(|point| {
            let share = f64::from(point) / f64::from(CDF_POINTS);
            (latency_ns.value_at_quantile(share), share)
        });
        found.series([Series {
            row: case.name(),
            name: "latency at most",
            unit: "share of transactions",
            points: points.collect(),
        }]);
        Ok(())
    }

    fn world(&self, case: &Case, seed: u64) -> Result<World<Waiting>, ScenarioError> {
        let config = WorldConfig {
            nic: card(self.rate.0, self.ring, self.cadence.0, seed),
            restart_slots: None,
            delay_ns: DELAY_NS,
            cost: HostCost::default(),
            record_from_ns: self.warm_up.0,
        };
        let spelled = case.spelled();
        let parts = |_| {
            let watch = Waiting {
                meter: Meter::new(Since(self.warm_up.0), 0, self.end_ns()),
                from_ns: self.warm_up.0,
                packets: 0,
                since_ns: 0,
                packet_ns: 0,
            };
            let discipline = by_name(&spelled).expect("the settings were looked at");
            (discipline as _, case.limit(), watch)
        };
        let mut world = World::new(&config, parts)?;
        self.connect(&mut world, case.ecn);
        Ok(world)
    }

    fn connect(&self, world: &mut World<Waiting>, ecn: bool) {
        let connection = ConnectionConfig {
            tcp: TcpConfig {
                ecn,
                super_packet: SuperPacket::Fixed(self.super_packet.0 as u32),
                receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
                ..TcpConfig::default()
            },
            header_bytes: HEADER_BYTES,
            priority: 0,
        };
        let sender = App::Bulk {
            write_bytes: WRITE_BYTES,
            buffer_bytes: SEND_BUFFER_BYTES,
        };
        for stream in 0..self.streams {
            let start_ns = START_NS * u64::from(stream) / u64::from(self.streams);
            world.connect(&connection, sender, App::Sink, start_ns);
        }
        let think_ns = (self.hosts.0 / 2).saturating_sub(DELAY_NS);
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
        world.connect(&connection, client, server, START_NS);
    }

    fn counted(&self, world: &World<Waiting>) -> Counted {
        let both = |of: &dyn Fn(usize) -> u64| of(CLIENT) + of(SERVER);
        // The last connection is the request/response.
        let ends = (0..=self.streams).flat_map(|number| [(number, CLIENT), (number, SERVER)]);
        Counted {
            drops: both(&|host| world.dropped_packets(host)),
            marks: both(&|host| world.marked_packets(host)),
            retransmissions: ends
                .map(|(number, host)| world.report(number, host).tcp.retransmissions)
                .sum(),
            arrived_bytes: world.arrived_bytes(SERVER),
        }
    }

    fn row(&self, case: &Case, world: &World<Waiting>, before: &Counted, after: &Counted) -> Value {
        let latency_ns = world.transactions().latency_ns();
        let latency_us = |quantile| latency_ns.value_at_quantile(quantile) as f64 / 1e3;
        let watch = world.probe(CLIENT);
        let arrived_bytes = after.arrived_bytes - before.arrived_bytes;
        json!({
            "discipline": case.discipline,
            "limit": case.limit().to_string(),
            "signal": if case.ecn { "marks" } else { "drops" },
            "rate_tps": per_second(latency_ns.len(), self.duration.0),
            "waiting_mean_packets": watch.packet_ns as f64 / self.duration.0 as f64,
            "in_flight_mean_bytes": watch.meter.in_flight_mean_bytes(),
            "in_flight_p10_bytes": watch.meter.in_flight_bytes().p10,
            "latency_p50_us": latency_us(0.5),
            "latency_p99_us": latency_us(0.99),
            "latency_max_us": latency_us(1.0),
            "dropped_packets": after.drops - before.drops,
            "marked_packets": after.marks - before.marks,
            "retransmissions": after.retransmissions - before.retransmissions,
            "goodput_bits_per_s": per_second(arrived_bytes * 8, self.duration.0),
        })
    }
}

fn figures(case: &Case, row: Option<&Value>) -> Vec<Figure> {
    let published = PUBLISHED
        .iter()
        .find(|&&(limited, ecn, ..)| (limited, ecn) == (case.limited, case.ecn));
    let (Some(&(_, _, tps, packets)), Some(row), "codel") = (published, row, case.discipline)
    else {
        return Vec::new();
    };
    let figure = |what, published, key: &str, unit| Figure {
        id: format!("E7, {}, {what}", case.name()),
        published: vec![published],
        value: row[key].as_f64().unwrap_or(0.0),
        unit,
        constants: vec!["rate", "cadence", "hosts"],
    };
    vec![
        figure("rate", tps, "rate_tps", "transactions/s"),
        figure(
            "in the discipline",
            packets,
            "waiting_mean_packets",
            "packets",
        ),
    ]
}

impl Scenario for Settings {
    const NAME: &'static str = "codel-under-load";
    const ABOUT: &'static str =
        "bulk streams and a request/response in one CoDel, with drops and with marks (E7)";
    const HAS_FIGURES: bool = true;

    const REMARK: &'static str = "Outside: everything but the order of the rates. CoDel holds what waits near its target of \
        5 ms here, with and without the limit, and the ring adds its own 11 ms without. The \
        published rates with marks, and without the limit, leave room for less than that in ring \
        and discipline together. The link, the sizes of the super-packets and what held the \
        streams back above the discipline are not published.";

    fn validate(&self) -> Result<(), String> {
        check("streams", self.streams, 1, 10_000)?;
        check("disciplines, their number", self.disciplines.len(), 1, 20)?;
        for case in self.cases() {
            by_name(&case.spelled())
                .map_err(|error| format!("disciplines: {:?}: {error}", case.spelled()))?;
        }
        check_rate("rate", self.rate)?;
        check_ring("ring", self.ring)?;
        let least = DescriptorRule::E1000.restart_slots(self.ring);
        check("ring", self.ring, least, u32::MAX)?;
        check("hosts", self.hosts, Time(0), Time::ms(10_000))?;
        check_size("super_packet", self.super_packet)?;
        check_duration("warm_up", self.warm_up)?;
        check_duration("duration", self.duration)?;
        check_cadence("cadence", self.cadence, self.duration)
    }

    fn measure(
        &self,
        seed: u64,
        progress: Progress,
        found: &Findings,
    ) -> Result<(), ScenarioError> {
        let cases = self.cases();
        for (done, case) in cases.iter().enumerate() {
            progress(&case.name(), done as u64, cases.len() as u64);
            self.run_case(case, seed, found)?;
        }
        progress("done", cases.len() as u64, cases.len() as u64);
        Ok(())
    }
}
