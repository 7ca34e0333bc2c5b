//! E7: bulk streams and one request/response flow in one shared CoDel, with and without the limit,
//! with drops and with marks, with a correct kernel and with that of 2012.

mod codel_2012;

use serde::{Deserialize, Serialize};
use taut_path::Qdisc;
use taut_path::qdisc::by_name;

use crate::budget::Budget;
use crate::on_off::on_off;
use crate::prelude::*;
use crate::rr_under_load::charts::distribution;
use crate::two_hosts::{
    BULK, Done, START_NS, card, dql_or_off, hosts, request_response, stream, think_ns, world,
};
use codel_2012::Codel2012;
use taut_measure::meter::{Meter, Since};
use taut_sim::nic::{DescriptorRule, NicConfig};
use taut_sim::rng::Rng;
use taut_sim::tcp::{GsoSize, TcpConfig};
use taut_sim::world::{App, CLIENT, SmallQueues, World};

settings! {
    CodelUnderLoadSettings, "codel-under-load" {
        /// Bulk streams.
        streams: u32 => validation::within(1..=10_000),
        /// Disciplines in `tc` syntax, without `ecn` and `noecn`.
        disciplines: Vec<String> => validation::each(1..=20, discipline),
        /// Implementation of TCP and CoDel; that of 2012 runs `codel` only.
        kernels: Vec<Kernel> => validation::each(1..=2, validation::any),
        /// Link rate.
        rate: Rate => validation::rate,
        /// Descriptors of the ring; 18 for a GSO packet of 64 KB.
        ring: u32 => validation::card_ring,
        /// Interrupt interval.
        coalesce: Time where validation::up_to(*duration),
        /// Time of a transaction outside of queues and the wire.
        host_latency: Time => validation::within(Time(0)..=Time::ms(10_000)),
        /// Payload of the largest GSO packet.
        gso_packet: Size => validation::size,
        /// Memory budget of each socket (small queues); 0 disables it.
        budget: Size => validation::within(Size(0)..=Size(1 << 30)),
        /// Receive buffer.
        receive_buffer: Size => validation::within(Size(1)..=Size(1 << 30)),
        /// Maximum segments that an acknowledgement counts for when a window grows.
        growth_segments: u32 => validation::within(1..=1_000),
        /// Warm-up.
        warm_up: Time => validation::duration,
        /// Measured time.
        duration: Time => validation::duration,
    }
}

/// Implementation of TCP and CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum Kernel {
    /// As the RFCs specify.
    #[serde(rename = "correct")]
    Correct,
    /// With the known defects of spring 2012. The dates of their fixes (July to September 2012) are
    /// not confirmed.
    #[serde(rename = "2012")]
    Of2012,
}

impl Kernel {
    /// Returns what the results claim about the published ones.
    const fn claim(self) -> &'static str {
        match self {
            Self::Correct => "prediction",
            Self::Of2012 => "reconstruction",
        }
    }

    fn tcp(self, tcp: TcpConfig, growth_segments: u32) -> TcpConfig {
        TcpConfig {
            receive_aggregation: true,
            growth_segments: Some(growth_segments),
            // A single marked segment waited for a delayed acknowledgement.
            marks_at_once: self == Self::Correct,
            mark_collapses: self == Self::Of2012,
            ..tcp
        }
    }

    /// Returns the discipline of this `tc` syntax, which was validated.
    fn discipline(self, spelled: &str, ecn: bool) -> Box<dyn Qdisc + Send> {
        match self {
            Self::Correct => by_name(spelled).expect("the settings were validated"),
            Self::Of2012 => Box::new(Codel2012::new(ecn)),
        }
    }
}

/// A row.
pub struct CodelUnderLoadCase {
    kernel: Kernel,
    discipline: String,
    limited: bool,
    ecn: bool,
}

impl CodelUnderLoadCase {
    fn signal(&self) -> &'static str {
        if self.ecn { "marks" } else { "drops" }
    }

    fn name(&self) -> String {
        let (limit, signal) = (on_off(self.limited), self.signal());
        let of = match self.kernel {
            Kernel::Correct => "",
            Kernel::Of2012 => " of 2012",
        };
        format!("{}{of}, limit {limit}, {signal}", self.discipline)
    }
}

/// Checks a discipline with drops and with marks.
#[allow(clippy::ptr_arg, reason = "the type of an element")]
fn discipline(key: &str, name: &String) -> Result<(), String> {
    let both = [false, true].map(|ecn| spelled(name, ecn));
    both.iter()
        .try_for_each(|spelled| validation::discipline(key, spelled))
}

fn spelled(discipline: &str, ecn: bool) -> String {
    let signal = if ecn { "ecn" } else { "noecn" };
    format!("{discipline} {signal}")
}

impl CodelUnderLoadSettings {
    /// Returns the number of connections; the last is the request/response flow.
    fn connections(&self) -> u32 {
        self.streams + 1
    }

    fn end_ns(&self) -> u64 {
        self.warm_up.0 + self.duration.0
    }

    fn world(
        &self,
        case: &CodelUnderLoadCase,
        seed: u64,
    ) -> Result<World<Meter<Since>>, ScenarioError> {
        let spelled = spelled(&case.discipline, case.ecn);
        let discipline = || case.kernel.discipline(&spelled, case.ecn);
        let meter = |_| Meter::new(Since(self.warm_up.0), 0, self.end_ns());
        let card = NicConfig {
            rule: DescriptorRule::WholePages,
            ..card(self.rate, self.ring, self.coalesce, seed)
        };
        let hosts = hosts(card, self.warm_up.0);
        let mut world = world(&hosts, &dql_or_off(case.limited), discipline, meter)?;
        if self.budget.0 > 0 {
            world.use_small_queues(&self.small_queues())?;
        }
        self.connect(&mut world, case, seed);
        Ok(world)
    }

    fn small_queues(&self) -> SmallQueues {
        SmallQueues {
            settings: Budget::Bytes(self.budget.0 as u32).settings(),
            connections: self.connections(),
            deferred_delay_ns: 0,
            hold_ns: 0,
            orphans: false,
        }
    }

    /// Connects streams that start at random, and then the request/response flow.
    fn connect(&self, world: &mut World<Meter<Since>>, case: &CodelUnderLoadCase, seed: u64) {
        let mut stream = stream(GsoSize::Fixed(self.gso_packet.0 as u32));
        stream.tcp.ecn = case.ecn;
        stream.tcp.receive_buffer_bytes = self.receive_buffer.0 as u32;
        stream.tcp = case.kernel.tcp(stream.tcp, self.growth_segments);
        let mut rng = Rng::new(seed);
        for _ in 0..self.streams {
            world.connect(&stream, BULK, App::Sink, rng.bits() % START_NS);
        }
        let (client, server) = request_response(1, think_ns(self.host_latency));
        world.connect(&stream, client, server, START_NS);
    }

    fn row(&self, case: &CodelUnderLoadCase, world: &World<Meter<Since>>, done: Done) -> Value {
        let latency_ns = world.latency_ns();
        let latency_us = |quantile| latency_ns.value_at_quantile(quantile) as f64 / 1e3;
        let meter = world.probe(CLIENT);
        json!({
            "kernel": case.kernel,
            "discipline": case.discipline,
            "limit": dql_or_off(case.limited).to_string(),
            "signal": case.signal(),
            "rate_tps": per_second(latency_ns.len(), self.duration.0),
            "waiting_mean_packets": meter.backlog_packets().sum() as f64 / self.duration.0 as f64,
            "in_flight_mean_bytes": meter.in_flight_bytes().mean(),
            "in_flight_p10_bytes": meter.in_flight_bytes().quantiles().p10,
            "latency_p50_us": latency_us(0.5),
            "latency_p99_us": latency_us(0.99),
            "latency_max_us": latency_us(1.0),
            "dropped_packets": done.drops,
            "marked_packets": done.marks,
            "retransmissions": done.retransmits,
            "goodput_bits_per_s": per_second(done.arrived_bytes * 8, self.duration.0),
        })
    }
}

impl Scenario for CodelUnderLoadSettings {
    type Case = CodelUnderLoadCase;

    fn cases(&self) -> Cases<Self> {
        let mut cases = Vec::new();
        for &kernel in &self.kernels {
            let has = |name: &&String| kernel == Kernel::Correct || *name == "codel";
            for discipline in self.disciplines.iter().filter(has) {
                for (limited, ecn) in [(false, false), (false, true), (true, false), (true, true)] {
                    let case = CodelUnderLoadCase {
                        kernel,
                        discipline: discipline.clone(),
                        limited,
                        ecn,
                    };
                    cases.push((case.name(), case));
                }
            }
        }
        Ok(cases)
    }

    fn run(&self, case: &CodelUnderLoadCase, seed: u64) -> Result<Results, ScenarioError> {
        let mut world = self.world(case, seed)?;
        world.run_until(self.warm_up.0)?;
        let before = Done::of(&world, self.connections());
        world.run_until(self.end_ns())?;
        let done = Done::of(&world, self.connections()).since(before);
        let row = self.row(case, &world, done);
        let value = |key: &str| row[key].as_f64().unwrap_or(0.0);
        let (tps, packets) = (value("rate_tps"), value("waiting_mean_packets"));
        let mut found = Results {
            series: vec![distribution(case.name(), &world.latency_ns())],
            ..Results::row(row)
        };
        let (claim, name) = (case.kernel.claim(), case.name());
        found.compare(format!("E7, {claim}, {name}, rate"), tps);
        found.compare(format!("E7, {claim}, {name}, in the discipline"), packets);
        Ok(found)
    }
}
