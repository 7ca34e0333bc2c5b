//! One TCP stream that saturates a link.

use taut_path::{AnyLimit, Event, Probe};
use taut_sim::nic::NicConfig;
use taut_sim::tcp::GsoSize;
use taut_sim::time_series::TimeSeriesRecorder;
use taut_sim::world::{App, CLIENT};

use super::over_time::QueueHistory;
use crate::error::ScenarioError;
use crate::two_hosts::{BULK, bands_of, hosts, stream, world};

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

/// Runs one stream until `end_ns`.
pub(super) fn run(
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
