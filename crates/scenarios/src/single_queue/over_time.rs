//! Ramp-up of the limit (E5).

use taut_path::{AnyLimit, Event, Probe};
use taut_sim::nic::NicConfig;
use taut_sim::single_queue_bench::{Observed, Rule, SingleQueueConfig, TimeSeries};
use taut_sim::tcp::GsoSize;
use taut_sim::time_series::TimeSeriesRecorder;
use taut_sim::world::{App, CLIENT};

use super::{SingleQueueSettings, Traffic};
use crate::prelude::*;
use crate::two_hosts::{BULK, bands_of, hosts, stream, world};

/// The limit and the bytes in flight of a queue over time.
pub(super) struct QueueHistory {
    pub samples: TimeSeries,
    pub limit_bytes: u32,
    pub largest_object_bytes: u64,
    pub utilisation: f64,
}

impl QueueHistory {
    pub fn of(bench: &SingleQueueConfig, seen: Observed) -> Self {
        Self {
            samples: seen.series,
            limit_bytes: seen.limit_bytes,
            largest_object_bytes: bench.object_bytes.iter().max().map_or(0, |&it| it.into()),
            utilisation: seen.utilisation,
        }
    }

    fn row(&self, traffic: &str, rule: &str) -> Value {
        let samples = &self.samples;
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
            "limit_bytes": self.limit_bytes,
            "limit_max_bytes": samples.limit_bytes.iter().map(|&(_, limit)| limit).max(),
            "overshoot_bytes": samples.overshoot_bytes,
            "largest_object_bytes": self.largest_object_bytes,
            "to_90_percent_us": self.ramp_ns().map(|ns| ns as f64 / 1e3),
            "increases": growths.count(),
            "decreases": steps().filter(|(before, after)| after < before).count(),
            "largest_growth_factor": factors.fold(1.0, f64::max),
            "utilisation": self.utilisation,
        })
    }

    /// Returns the time at which the limit first reached 90 % of its last value, in ns.
    fn ramp_ns(&self) -> Option<u64> {
        let enough = 0.9 * f64::from(self.limit_bytes);
        let mut changes = self.samples.limit_bytes.iter();
        let reached = changes.find(|&&(_, limit)| f64::from(limit) >= enough);
        reached.map(|&(at_ns, _)| at_ns)
    }
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
    pub(super) fn over_time(&self, traffic: &Traffic, rule: &Rule, seen: &QueueHistory) -> Results {
        Results {
            series: series(&self.row_name(traffic, rule), &seen.samples).into(),
            ..Results::row(seen.row(&traffic.name, &rule.to_string()))
        }
    }
}

/// Capacity of the discipline, in packets: more than the send buffer, so that there are no losses.
const BACKLOG_PACKETS: u32 = 10_000;

/// Records the time series and the largest packet.
struct StreamProbe {
    recorder: TimeSeriesRecorder,
    largest_object_bytes: u64,
}

impl Probe for StreamProbe {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        if let Event::Sent(packet) = event {
            let bytes = u64::from(packet.wire_bytes());
            self.largest_object_bytes = self.largest_object_bytes.max(bytes);
        }
        self.recorder.event(now_ns, event);
    }
}

/// Runs one TCP stream, which saturates the link, until `end_ns`.
pub(super) fn run_tcp_stream(
    card: NicConfig,
    gso_packet: GsoSize,
    rule: &AnyLimit,
    end_ns: u64,
) -> Result<QueueHistory, ScenarioError> {
    let watch = |_| StreamProbe {
        recorder: TimeSeriesRecorder::new(end_ns),
        largest_object_bytes: 0,
    };
    let mut world = world(&hosts(card, 0), rule, bands_of(BACKLOG_PACKETS), watch)?;
    world.connect(&stream(gso_packet), BULK, App::Sink, 0);
    world.run_until(end_ns)?;
    let watch = world.probe(CLIENT);
    let samples = watch.recorder.series().clone();
    let link_bits = world.wire(CLIENT).time_bytes as f64 * 8.0;
    let rate_bits_per_s = card.rate_bits_per_s as f64;
    Ok(QueueHistory {
        limit_bytes: samples.limit_bytes.last().map_or(0, |&(_, limit)| limit),
        largest_object_bytes: watch.largest_object_bytes,
        utilisation: link_bits * 1e9 / rate_bits_per_s / end_ns as f64,
        samples,
    })
}
