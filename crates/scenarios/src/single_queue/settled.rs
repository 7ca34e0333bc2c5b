//! The converged limit, compared with the law and with published results (E4).

use taut_sim::single_queue_bench::{Observed, SingleQueueConfig};

use super::{SingleQueueSettings, Traffic};
use crate::one_queue::law_bytes;
use crate::prelude::*;
use taut_report::document::Figure;

impl SingleQueueSettings {
    /// Returns the row of `traffic`.
    pub(super) fn settled(
        &self,
        traffic: &Traffic,
        bench: &SingleQueueConfig,
        seen: &Observed,
    ) -> Results {
        let object = f64::from(bench.object_bytes[0]);
        let packets = |bytes: u64| bytes as f64 / object;
        let (in_flight, mean_bytes) = (seen.in_flight_bytes, seen.in_flight_mean_bytes);
        let kpps = seen.wire.packets as f64 * 1e6 / self.duration_of(traffic).0 as f64;
        let found = [
            ("in flight", mean_bytes as f64, "bytes"),
            ("in flight", packets(mean_bytes), "packets"),
            ("rate", kpps, "kpps"),
        ];
        let figures = found
            .into_iter()
            .zip(traffic.published.into_iter().flatten());
        let figures = figures.map(|((what, value, unit), published)| {
            let id = format!("E4, {}, {what}, {unit}", traffic.name);
            Figure::new(id, &[published], value, unit, &["coalesce"])
        });
        let row = json!({
            "packets": traffic.name,
            "limit_bytes": seen.limit_bytes,
            "law_bytes": law_bytes(bench, self.interval_of(traffic).0),
            "in_flight_mean_bytes": mean_bytes,
            "in_flight_p90_bytes": in_flight.p90,
            "in_flight_max_bytes": in_flight.max,
            "in_flight_mean_packets": packets(mean_bytes),
            "in_flight_p90_packets": packets(in_flight.p90),
            "in_flight_max_packets": packets(in_flight.max),
            "rate_kpps": kpps,
            "utilisation": seen.utilisation,
            "starved_batches": seen.starved,
        });
        Results {
            figures: figures.collect(),
            ..Results::row(row)
        }
    }
}
