//! Hosts at a row of switches: what a dumbbell and a chain have in common.

use taut_measure::meter::{Meter, Since};
use taut_path::AnyLimit;
use taut_path::qdisc::{Fifo, by_name};
use taut_sim::nic::{DescriptorRule, NicConfig};
use taut_sim::tcp::{SuperPacket, TcpConfig};
use taut_sim::world::network::{Network, NetworkConfig, Side, Trunk, TrunkReport};
use taut_sim::world::{App, CLIENT, ConnectionConfig, HostCost, SERVER, WorldConfig};

use serde_json::{Value, json};

use crate::allowed::{self, Verdict};
use crate::error::ScenarioError;
use crate::two_hosts::{BULK, START_NS, card, request_response, stream};
use taut_path::units::{Rate, Time};
use taut_report::number::per_second;

/// So that none of a host's own packets is lost there.
const HOST_QUEUE_PACKETS: u32 = 100_000;
/// Of a host's card: more is in its discipline.
const HOST_RING: u32 = 256;

/// `settings!` of a row of switches: those that all have, around those that one has, in front and in the middle.
macro_rules! switch_settings {
    ($name:literal { $($first:tt)* } { $($middle:tt)* }) => {
        settings! {
            $name {
                $($first)*
                /// Bulk streams of each pair of hosts.
                streams: u32 => allowed::within(1..=1_000),
                /// Of each trunk.
                rate: Rate => allowed::within(allowed::RATES),
                /// Of each host's link.
                host_rate: Rate where allowed::within(*rate..=*allowed::RATES.end()),
                $($middle)*
                /// Explicit congestion notification.
                ecn: bool,
                /// Descriptors at each end of a trunk.
                ring: u32 => allowed::ring,
                /// From interrupt to interrupt.
                cadence: Time => allowed::within(Time(0)..=*allowed::CADENCES.end()),
                /// The disciplines, as `tc` spells them.
                qdiscs: Vec<String> => $crate::switches::disciplines,
                /// Each of them with each of these limits.
                #[serde(with = "crate::serde_text::as_texts")]
                limits: Vec<taut_path::AnyLimit> => allowed::limits(1),
                /// What is not measured at the start of each row.
                warm_up: Time => allowed::within(allowed::WARM_UPS),
                /// What is measured of each row.
                duration: Time => allowed::within(allowed::DURATIONS),
            }
        }

        impl Settings {
            fn row_of(&self, switches: usize, trunk_delay_ns: u64, seed: u64) -> $crate::switches::SwitchRow {
                $crate::switches::SwitchRow {
                    switches,
                    trunk_delay_ns,
                    rate: self.rate,
                    host_rate: self.host_rate,
                    ring: self.ring,
                    cadence: self.cadence,
                    ecn: self.ecn,
                    warm_up: self.warm_up,
                    duration: self.duration,
                    seed,
                }
            }
        }
    };
}

pub(crate) use switch_settings;

/// A row of switches, before there are hosts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SwitchRow {
    pub switches: usize,
    /// Of each trunk.
    pub rate: Rate,
    /// Of each host's link.
    pub host_rate: Rate,
    /// Descriptors at each end of each trunk.
    pub ring: u32,
    pub cadence: Time,
    pub trunk_delay_ns: u64,
    pub ecn: bool,
    pub warm_up: Time,
    pub duration: Time,
    pub seed: u64,
}

/// A discipline and a limit, at every trunk.
#[derive(Debug, Clone)]
pub struct Case {
    /// As `tc` spells it.
    pub qdisc: String,
    /// What holds the queue back.
    pub limit: AnyLimit,
}

impl Case {
    /// Each discipline with each limit.
    pub(crate) fn all(qdiscs: &[String], limits: &[AnyLimit]) -> Vec<Self> {
        let each = |qdisc: &String| {
            let qdisc = qdisc.clone();
            limits.iter().cloned().map(move |limit| Self {
                qdisc: qdisc.clone(),
                limit,
            })
        };
        qdiscs.iter().flat_map(each).collect()
    }

    /// What it is called while it is being run.
    pub(crate) fn name(&self) -> String {
        format!("{}, {}", self.qdisc, self.limit)
    }
}

/// Disciplines as `tc` spells them.
pub(crate) fn disciplines(key: &str, spelled: &[String]) -> Verdict {
    allowed::each(1..=20, |key, one: &String| {
        let found = by_name(one).map(drop);
        found.map_err(|error| format!("{key} has {one:?}: {error}"))
    })(key, spelled)
}

/// Switches whose queues are measured.
pub(crate) type Switches = Network<Meter<Since>>;

/// Hosts, and bulk streams between the two of each pair.
pub(crate) struct Pairs {
    network: Switches,
    config: ConnectionConfig,
    /// The streams of each pair.
    streams: Vec<Vec<u32>>,
}

/// What was there in the measured time.
pub(crate) struct Ran {
    pub network: Switches,
    /// What each pair received, in bit/s.
    pub pairs_bps: Vec<f64>,
    pub retransmits: u64,
}

impl SwitchRow {
    /// The switches, with the queues of `case` at both ends of each trunk.
    pub fn pairs(&self, case: &Case) -> Result<Pairs, ScenarioError> {
        let config = NetworkConfig {
            host: WorldConfig {
                nic: self.nic(self.host_rate, HOST_RING),
                restart_slots: None,
                delay_ns: 0,
                cost: HostCost::default(),
                record_from_ns: self.warm_up.0,
            },
            trunk: self.nic(self.rate, self.ring),
            trunk_delay_ns: self.trunk_delay_ns,
        };
        let end_ns = self.warm_up.0 + self.duration.0;
        let parts = |_| {
            let discipline = by_name(&case.qdisc).expect("the settings were looked at");
            let meter = Meter::new(Since(self.warm_up.0), 0, end_ns);
            (discipline, case.limit.clone(), meter)
        };
        let plain = stream(SuperPacket::Off);
        Ok(Pairs {
            network: Network::new(&config, self.switches, parts)?,
            config: ConnectionConfig {
                tcp: TcpConfig {
                    ecn: self.ecn,
                    ..plain.tcp
                },
                ..plain
            },
            streams: Vec::new(),
        })
    }

    /// Runs them.
    pub fn run(&self, pairs: Pairs) -> Result<Ran, ScenarioError> {
        let Pairs {
            mut network,
            streams,
            ..
        } = pairs;
        network.run_until(self.warm_up.0)?;
        let before = received_bytes(&network, &streams);
        network.run_until(self.warm_up.0 + self.duration.0)?;
        let after = received_bytes(&network, &streams);
        let bits_per_s =
            |(after, before): (u64, u64)| per_second((after - before) * 8, self.duration.0);
        let sent = |&stream: &u32| network.report(stream, CLIENT);
        let reports = streams.iter().flatten().filter_map(sent);
        Ok(Ran {
            retransmits: reports.map(|it| it.tcp.retransmissions).sum(),
            pairs_bps: after.into_iter().zip(before).map(bits_per_s).collect(),
            network,
        })
    }

    fn nic(&self, rate: Rate, slots: u32) -> NicConfig {
        NicConfig {
            rule: DescriptorRule::OnePerPacket,
            ..card(rate, slots, self.cadence, self.seed)
        }
    }
}

fn received_bytes(network: &Switches, pairs: &[Vec<u32>]) -> Vec<u64> {
    let received = |&stream: &u32| network.report(stream, SERVER).map(|it| it.received_bytes);
    let pair = |streams: &Vec<u32>| streams.iter().filter_map(received).sum();
    pairs.iter().map(pair).collect()
}

impl Pairs {
    /// A pair of hosts at two switches, each `delay_ns` away from its own, with bulk streams.
    pub fn add(
        &mut self,
        switches: [usize; 2],
        delay_ns: u64,
        streams: u32,
    ) -> Result<(), ScenarioError> {
        let hosts = self.hosts(switches, delay_ns)?;
        let mut added = Vec::new();
        for stream in 0..streams {
            // Those of all pairs start within the same time, no two at once.
            let part = u64::from(stream) * 64 + self.streams.len() as u64;
            let start_ns = START_NS * part / (u64::from(streams) * 64);
            let apps = [BULK, App::Sink];
            added.push(self.network.connect(&self.config, hosts, apps, start_ns)?);
        }
        self.streams.push(added);
        Ok(())
    }

    /// A pair of hosts of which one asks for a byte and the other answers, again and again.
    pub fn add_requests(
        &mut self,
        switches: [usize; 2],
        delay_ns: u64,
    ) -> Result<(), ScenarioError> {
        let hosts = self.hosts(switches, delay_ns)?;
        let (client, server) = request_response(1, 0);
        let apps = [client, server];
        self.network.connect(&self.config, hosts, apps, START_NS)?;
        Ok(())
    }

    fn hosts(&mut self, switches: [usize; 2], delay_ns: u64) -> Result<[usize; 2], ScenarioError> {
        let mut add = |at| {
            let own = Box::new(Fifo::new(HOST_QUEUE_PACKETS));
            self.network.add_host(at, delay_ns, (own, AnyLimit::dql()))
        };
        Ok([add(switches[0])?, add(switches[1])?])
    }
}

impl Ran {
    /// The sending ends of the trunks from left to right.
    pub fn trunks(&self, switches: usize) -> Vec<TrunkReport> {
        let trunk = |from| Trunk {
            from,
            to: Side::Right,
        };
        let report = |from| self.network.trunk(trunk(from));
        (0..switches - 1).filter_map(report).collect()
    }

    /// The columns that every scenario of this kind has, of the trunk that starts at the first switch.
    pub fn row(&self, case: &Case, switches: usize) -> Value {
        let first = Trunk {
            from: 0,
            to: Side::Right,
        };
        let meter = self.network.probe(first);
        let latency_ns = self.network.transactions().latency_ns();
        let us = |share| latency_ns.value_at_quantile(share) / 1_000;
        let trunks = self.trunks(switches);
        let all = |of: fn(&TrunkReport) -> u64| trunks.iter().map(of).sum::<u64>();
        json!({
            "qdisc": case.qdisc,
            "limit": case.limit.to_string(),
            "request_p50_us": us(0.5),
            "request_p99_us": us(0.99),
            "waiting_p50_packets": meter.map(|it| it.waiting_packets().p50),
            "in_flight_p50_bytes": meter.map(|it| it.in_flight_bytes().p50),
            "drops": all(|it| it.dropped_packets),
            "marks": all(|it| it.marked_packets),
            "retransmits": self.retransmits,
        })
    }
}

/// A column and what it means.
type Column = (&'static str, &'static str);

/// The columns that one scenario of this kind has, and those that every one has.
pub(crate) const fn columns([first, second]: [Column; 2]) -> [Column; 6] {
    [
        first,
        second,
        (
            "request_p50_us",
            "a byte asked and a byte answered across the whole row",
        ),
        (
            "waiting_p50_packets",
            "median over time of what waits in the discipline of the first trunk",
        ),
        (
            "in_flight_p50_bytes",
            "median over time of what is in its ring",
        ),
        ("drops", "at all trunks, from left to right; so are marks"),
    ]
}
