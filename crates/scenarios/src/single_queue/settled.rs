//! The converged limit, compared with the law and with published results (E4).

use taut_sim::single_queue_bench::{Observed, SingleQueueConfig};

use super::{SingleQueueSettings, Traffic};
use crate::one_queue::law_bytes;
use crate::prelude::*;

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
        let mut found = Results::row(json!({
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
        }));
        let mut compare = |what: &str, value| {
            found.compare(format!("E4, {}, {what}", traffic.name), value);
        };
        compare("in flight, bytes", mean_bytes as f64);
        compare("in flight, packets", packets(mean_bytes));
        compare("rate, kpps", kpps);
        found
    }
}
