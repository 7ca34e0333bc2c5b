//! Ramp-up of the limit (E5).

use taut_path::AnyLimit;
use taut_sim::nic::NicConfig;
use taut_sim::single_queue_bench::Rule;
use taut_sim::tcp::GsoSize;
use taut_sim::time_series::{TimeSeries, TimeSeriesRecorder};
use taut_sim::world::{App, CLIENT};

use super::{SingleQueueSettings, Traffic};
use crate::prelude::*;
use crate::two_hosts::{BULK, bands_of, hosts, stream, world};

fn row(traffic: &str, rule: &str, samples: &TimeSeries, utilisation: f64) -> Value {
    let limit_bytes = samples.limit_bytes.last().map_or(0, |&(_, limit)| limit);
    let steps = || {
        let changes = samples.limit_bytes.windows(2);
        changes.map(|two| (two[0].1, two[1].1))
    };
    let growths = steps().filter(|(before, after)| after > before);
    // Growth from 0 has no factor.
    let factors = growths.clone().filter(|&(before, _)| before > 0);
    let factors = factors.map(|(before, after)| f64::from(after) / f64::from(before));
    json!({
        "traffic": traffic,
        "rule": rule,
        "limit_bytes": limit_bytes,
        "limit_max_bytes": samples.limit_bytes.iter().map(|&(_, limit)| limit).max(),
        "overshoot_bytes": samples.overshoot_bytes,
        "largest_object_bytes": samples.largest_object_bytes,
        "to_90_percent_us": ramp_ns(&samples.limit_bytes).map(|ns| ns as f64 / 1e3),
        "increases": growths.count(),
        "decreases": steps().filter(|(before, after)| after < before).count(),
        "largest_growth_factor": factors.fold(1.0, f64::max),
        "utilisation": utilisation,
    })
}

/// Returns the time at which the limit first reached 90 % of its last value, in ns.
fn ramp_ns(limits: &[(u64, u32)]) -> Option<u64> {
    let enough = 0.9 * f64::from(limits.last()?.1);
    let reached = limits.iter().find(|it| f64::from(it.1) >= enough);
    reached.map(|it| it.0)
}

/// Returns the series of the limit and the bytes in flight, for drawing.
pub(crate) fn series(row: &str, samples: &TimeSeries) -> [Series; 2] {
    let limit = samples.limit_bytes.iter();
    let limit = limit.map(|&(at_ns, bytes)| (at_ns, f64::from(bytes)));
    let in_flight = samples.in_flight.iter().enumerate();
    let in_flight =
        in_flight.map(|(index, step)| (index as u64 * samples.step_ns, step.peak_bytes as f64));
    [
        Series::bytes(row, "limit", limit),
        Series::bytes(row, "in flight", in_flight),
    ]
}

impl SingleQueueSettings {
    /// Returns a row and its curves.
    pub(super) fn over_time(
        &self,
        traffic: &Traffic,
        rule: &Rule,
        samples: &TimeSeries,
        utilisation: f64,
    ) -> Results {
        Results {
            series: series(&self.row_name(traffic, rule), samples).into(),
            ..Results::row(row(&traffic.name, &rule.to_string(), samples, utilisation))
        }
    }
}

/// Capacity of the discipline, in packets: more than the send buffer, so that there are no losses.
const BACKLOG_PACKETS: u32 = 10_000;

/// Runs one TCP stream, which saturates the link, until `end_ns`. Returns the time series of its
/// queue and the utilisation.
pub(super) fn run_tcp_stream(
    card: NicConfig,
    gso_packet: GsoSize,
    rule: &AnyLimit,
    end_ns: u64,
) -> Result<(TimeSeries, f64), ScenarioError> {
    let recorder = |_| TimeSeriesRecorder::new(end_ns);
    let mut world = world(&hosts(card, 0), rule, bands_of(BACKLOG_PACKETS), recorder)?;
    world.connect(&stream(gso_packet), BULK, App::Sink, 0);
    world.run_until(end_ns)?;
    let link_bits = world.wire(CLIENT).time_bytes as f64 * 8.0;
    let utilisation = link_bits * 1e9 / card.rate_bits_per_s as f64 / end_ns as f64;
    Ok((world.probe(CLIENT).series().clone(), utilisation))
}
