//! `w01-tcp-with-loss`: TCP streams that overrun a short discipline, in the world of two hosts.
//!
//! The traces have a saturating sender. Here data arrives in bursts of GSO packets, and losses
//! reduce it, so a rule must also work with a sender that reacts to the queue.

use hdrhistogram::Histogram;
use taut_path::{Event, Probe};

use super::points::Points;
use super::workload::Workload;
use crate::error::ScenarioError;
use crate::pattern::families::Times;
use crate::two_hosts::{
    BULK, START_NS, bands_of, card, first_band, hosts, request_response, stream, world,
};
use taut_measure::meter::{Meter, Since, histogram_bytes};
use taut_path::units::{Rate, Time};
use taut_sim::HEADER_BYTES;
use taut_sim::bisection::smallest_multiple;
use taut_sim::completion_trace::{SplitMix, TraceReport};
use taut_sim::error::TestbedError;
use taut_sim::nic::{InterruptRule, NicConfig};
use taut_sim::single_queue_bench::Rule;
use taut_sim::tcp::GsoSize;
use taut_sim::time_series::note_change;
use taut_sim::world::{App, CLIENT, World, WorldConfig};

/// Its name.
pub(super) const NAME: &str = "w01-tcp-with-loss";

const RATE: Rate = Rate(1_000_000_000);

/// One-way delay: a round trip of 2 ms holds 250 KB.
const DELAY_NS: u64 = 1_000_000;

const STREAMS: u64 = 20;

/// A hundred packets are at least 200 segments, more than the round trip holds. A stream that
/// halves its window leaves the wire busy, and all streams together still overrun it.
const DISCIPLINE_PACKETS: u32 = 100;

/// The default ring of the card.
const RING_SLOTS: u32 = 256;

/// Interrupt intervals of 50 to 250 us.
const INTERRUPT: InterruptRule = InterruptRule {
    period_ns: 150_000,
    packets: None,
    jitter_ns: 100_000,
    rare_gap: None,
};

/// Maximum wire time of a GSO packet, in bytes.
const LARGEST_BYTES: u64 = 70_000;

/// Interval of the check whether a limit can still be sufficient: short, so that little is run
/// without need.
const CHECK_NS: u64 = 10_000_000;

/// Interval that contains one sample of the ring at a random time, as with the traces.
const SAMPLE_NS: u64 = 100_000;

/// Target utilisation, as that of the traces: a share of the traffic that no limit carries.
const UTILISATION: f64 = 0.999;

/// Step of the optimum: less than a hundredth of it. Closer limits differ by less than one loss.
const STEP_BYTES: u32 = 256;

/// A request or response of 1 byte on the wire, with preamble, check sequence and gap.
const REQUEST_WIRE_BYTES: u64 = HEADER_BYTES as u64 + 1 + 24;

/// A transaction between idle hosts: both directions, and the time of both frames.
const IDLE_LATENCY_NS: u64 = 2 * (DELAY_NS + REQUEST_WIRE_BYTES * 8 * 1_000_000_000 / RATE.0);

/// One seed of the load.
#[derive(Clone, Copy)]
struct SeededLoad {
    seed: u64,
    times: Times,
}

/// One seed, and its run without a limit.
pub(super) struct TcpLoad {
    load: SeededLoad,
    off: TraceReport,
    /// Link time that the wire was busy in that run, in bytes, in the measured time.
    off_wire_bytes: u64,
}

/// Results of a run.
struct TcpRun {
    world: World<Watch>,
    /// Link time that the wire was busy, in bytes, in the measured time.
    wire_bytes: u64,
    /// Samples of the measured time.
    samples: RingSamples,
    /// Samples of the warm-up with a dry wire.
    learning_dry: u64,
}

impl TcpLoad {
    pub fn new(seed: u64, times: Times) -> Result<Self, ScenarioError> {
        let load = SeededLoad { seed, times };
        let ran = load.run(&Rule::off())?;
        Ok(Self {
            load,
            off: ran.seen(1.0),
            off_wire_bytes: ran.wire_bytes,
        })
    }

    /// Returns the carried traffic as a share of that without a limit.
    fn utilisation(&self, wire_bytes: u64) -> f64 {
        wire_bytes as f64 / self.off_wire_bytes.max(1) as f64
    }

    /// Returns `true` if a limit is sufficient. A run ends early once it is not.
    fn is_enough(&self, limit_bytes: u32) -> Result<bool, ScenarioError> {
        let Times { warm_ns, end_ns } = self.load.times;
        let mut world = self.load.world(&Rule::bytes(limit_bytes), |_| ())?;
        world.run_until(warm_ns)?;
        let before_bytes = world.wire(CLIENT).time_bytes;
        let (mut at_ns, mut carried_bytes) = (warm_ns, 0);
        while at_ns < end_ns {
            at_ns = end_ns.min(at_ns + CHECK_NS);
            world.run_until(at_ns)?;
            carried_bytes = world.wire(CLIENT).time_bytes - before_bytes;
            let rest_bytes = RATE.0 / 8 * (end_ns - at_ns) / 1_000_000_000 + LARGEST_BYTES;
            if self.utilisation(carried_bytes + rest_bytes) < UTILISATION {
                return Ok(false);
            }
        }
        Ok(self.utilisation(carried_bytes) >= UTILISATION)
    }
}

impl SeededLoad {
    fn run(&self, rule: &Rule) -> Result<TcpRun, ScenarioError> {
        let mut world = self.world(rule, |_| Watch {
            meter: Meter::new(Since(self.times.warm_ns), 0, self.times.end_ns),
            sent_packets: 0,
            limit_changes: Vec::new(),
        })?;
        let Times { warm_ns, end_ns } = self.times;
        // Sampling times. Any seed works, and a fixed one samples every rule at the same times.
        let mut random = SplitMix::new(1);
        let learning_dry = sample(&mut world, &mut random, 0, warm_ns)?.dry;
        let before_bytes = world.wire(CLIENT).time_bytes;
        let samples = sample(&mut world, &mut random, warm_ns, end_ns)?;
        Ok(TcpRun {
            wire_bytes: world.wire(CLIENT).time_bytes - before_bytes,
            world,
            samples,
            learning_dry,
        })
    }

    fn world<P: Probe>(
        &self,
        rule: &Rule,
        probe: impl FnMut(usize) -> P,
    ) -> Result<World<P>, TestbedError> {
        let mut random = SplitMix::new(self.seed);
        let nic = NicConfig {
            interrupt: INTERRUPT,
            ..card(RATE, RING_SLOTS, Time(0), random.next())
        };
        let hosts = WorldConfig {
            delay_ns: DELAY_NS,
            ..hosts(nic, self.times.warm_ns)
        };
        let discipline = bands_of(DISCIPLINE_PACKETS);
        let mut world = world(&hosts, &rule.limit, discipline, probe)?;
        world.set_coalesce_ns(rule.coalesce_ns);
        let bulk = stream(GsoSize::Auto);
        for _ in 0..STREAMS {
            // Each starts at a random time.
            world.connect(&bulk, BULK, App::Sink, random.next() % START_NS);
        }
        let (client, server) = request_response(1, 0);
        world.connect(&first_band(bulk), client, server, START_NS);
        Ok(world)
    }
}

impl Workload for TcpLoad {
    fn observe(&self, rule: &Rule) -> Result<TraceReport, ScenarioError> {
        let ran = self.load.run(rule)?;
        Ok(ran.seen(self.utilisation(ran.wire_bytes)))
    }

    fn observe_off(&self) -> Result<TraceReport, ScenarioError> {
        Ok(self.off.clone())
    }

    fn smallest_sufficient_limit(&self) -> Result<Option<u32>, ScenarioError> {
        smallest_multiple(STEP_BYTES, |bytes| self.is_enough(bytes))
    }

    fn target_utilisation(&self) -> f64 {
        UTILISATION
    }

    /// Unknown: TCP determines the workload.
    fn need_over_time(&self) -> Points {
        Points::new()
    }

    fn changes_ns(&self) -> &[u64] {
        &[]
    }

    fn end_ns(&self) -> u64 {
        self.load.times.end_ns
    }
}

impl TcpRun {
    fn seen(&self, utilisation: f64) -> TraceReport {
        let (world, samples) = (&self.world, &self.samples);
        let mean = |sum_bytes: u64| sum_bytes as f64 / samples.count.max(1) as f64;
        let delay_ns = |share| {
            let latency_ns = world.latency_ns().value_at_quantile(share);
            latency_ns.saturating_sub(IDLE_LATENCY_NS)
        };
        let watch = world.probe(CLIENT);
        let completions = world.completions(CLIENT);
        TraceReport {
            mean_bytes: mean(samples.unsent_sum_bytes),
            p50_bytes: samples.unsent_bytes.value_at_quantile(0.5),
            p99_bytes: samples.unsent_bytes.value_at_quantile(0.99),
            in_flight_mean_bytes: mean(samples.in_flight_sum_bytes),
            in_flight_p99_bytes: samples.in_flight_bytes.value_at_quantile(0.99),
            utilisation,
            dry_ns: samples.dry * SAMPLE_NS,
            learning_dry_ns: self.learning_dry * SAMPLE_NS,
            urgent_delay_p50_ns: delay_ns(0.5),
            urgent_delay_p99_ns: delay_ns(0.99),
            limit_bytes: watch
                .limit_changes
                .last()
                .map_or(0, |&(_, bytes)| bytes.into()),
            // Samples contain no loss steps.
            losses: Vec::new(),
            limit_changes: watch.limit_changes.clone(),
            sent_packets: watch.sent_packets,
            freed_packets: completions.completed_packets,
            in_ring_packets: world.nic(CLIENT).packets_in_ring() as u64,
        }
    }
}

/// Samples of the bulk senders' ring.
struct RingSamples {
    count: u64,
    /// The wire was idle with packets queued.
    dry: u64,
    unsent_bytes: Histogram<u64>,
    unsent_sum_bytes: u64,
    in_flight_bytes: Histogram<u64>,
    in_flight_sum_bytes: u64,
}

/// Runs `world` from `from_ns` to `until_ns` with one sample per [`SAMPLE_NS`].
fn sample(
    world: &mut World<Watch>,
    random: &mut SplitMix,
    from_ns: u64,
    until_ns: u64,
) -> Result<RingSamples, TestbedError> {
    let mut samples = RingSamples {
        count: 0,
        dry: 0,
        unsent_bytes: histogram_bytes(),
        unsent_sum_bytes: 0,
        in_flight_bytes: histogram_bytes(),
        in_flight_sum_bytes: 0,
    };
    for start_ns in (from_ns..until_ns).step_by(SAMPLE_NS as usize) {
        let at_ns = start_ns + random.next() % SAMPLE_NS;
        if at_ns >= until_ns {
            break;
        }
        world.run_until(at_ns)?;
        let unsent_bytes = world.nic(CLIENT).bytes_to_send();
        let watch = world.probe(CLIENT);
        let in_flight_bytes = watch.meter.in_flight_now_bytes();
        samples.count += 1;
        samples.dry += u64::from(unsent_bytes == 0 && watch.meter.waiting_now_packets() > 0);
        samples.unsent_bytes.saturating_record(unsent_bytes);
        samples.unsent_sum_bytes += unsent_bytes;
        samples.in_flight_bytes.saturating_record(in_flight_bytes);
        samples.in_flight_sum_bytes += in_flight_bytes;
    }
    world.run_until(until_ns)?;
    Ok(samples)
}

/// The probe of a queue: the amount in flight, and the changes of its limit.
struct Watch {
    meter: Meter<Since>,
    sent_packets: u64,
    limit_changes: Vec<(u64, u32)>,
}

impl Probe for Watch {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        self.meter.event(now_ns, event);
        match event {
            Event::Sent(_) => self.sent_packets += 1,
            Event::Limit(limit) => note_change(&mut self.limit_changes, now_ns, limit),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
