//! Runs one case.

use hdrhistogram::Histogram;
use taut_measure::meter::{Curve, Meter, Quantiles, Since};
use taut_path::{Probe, qdisc};
use taut_sim::tcp::GsoSize;
use taut_sim::world::{CLIENT, SERVER, World};

use super::case::Case;
use super::settings::Settings;
use crate::error::ScenarioError;
use crate::two_hosts::{
    Done, GSO_PACKET_BYTES, TwoHosts, card, connect_bulk_and_requests, first_band, stream, think_ns,
};

/// Results of one case.
#[derive(Debug)]
pub struct Outcome {
    /// Bytes in the bulk senders' ring, over time.
    pub in_flight_bytes: Quantiles,
    /// Packets queued in the bulk senders' discipline, over time.
    pub backlog_packets: Quantiles,
    /// Median of the limit over time, in the limit's units.
    pub limit_p50: u64,
    /// Both over time, from the start.
    pub curve: Curve,
    /// Latencies of the transactions, in ns.
    pub latency_ns: Histogram<u64>,
    /// Payload bytes that arrived for the bulk streams, including those out of order.
    pub delivered_bytes: u64,
    /// Packets that the disciplines dropped in both directions, over the whole run.
    pub drops: u64,
    /// Packets that the disciplines marked in both directions, over the whole run.
    pub marks: u64,
    /// Packets that the senders sent again in both directions, over the whole run.
    pub retransmits: u64,
}

impl Settings {
    /// Runs one case of valid settings.
    ///
    /// # Errors
    /// If a setting is invalid, or a queue becomes faulty.
    pub fn run_case(&self, case: &Case, seed: u64) -> Result<Outcome, ScenarioError> {
        let meter = |_| Meter::new(Since(self.warm_up.0), 0, self.end_ns());
        let mut world = self.world(case, seed, meter)?;
        world.run_until(self.warm_up.0)?;
        let before = world.arrived_bytes(SERVER);
        world.run_until(self.end_ns())?;
        let done = Done::of(&world, self.streams + 1);
        let meter = world.probe(CLIENT);
        Ok(Outcome {
            in_flight_bytes: meter.in_flight_bytes(),
            backlog_packets: meter.backlog_packets(),
            limit_p50: meter.limit_p50(),
            curve: meter.curve(),
            latency_ns: world.transactions().latency_ns().clone(),
            delivered_bytes: done.arrived_bytes - before,
            drops: done.drops,
            marks: done.marks,
            retransmits: done.retransmits,
        })
    }

    pub(super) fn world<P: Probe>(
        &self,
        case: &Case,
        seed: u64,
        probe: impl FnMut(usize) -> P,
    ) -> Result<World<P>, ScenarioError> {
        let by_name = || qdisc::by_name(&self.qdisc);
        by_name().map_err(|error| ScenarioError::Setting(error.to_string()))?;
        let card = card(self.rate, self.ring, self.coalesce, seed);
        let hosts = TwoHosts {
            late_segmentation: case.late_segmentation,
            ..TwoHosts::new(card, self.warm_up.0)
        };
        // The same text was parsed above.
        let discipline = || by_name().expect("the same text");
        let mut world = hosts.world(&case.limit, discipline, probe)?;
        let mut bulk = stream(if case.tso {
            GsoSize::Fixed(GSO_PACKET_BYTES)
        } else {
            GsoSize::Off
        });
        bulk.tcp.ecn = qdisc::marks_ecn(&self.qdisc);
        let (requests, think_ns) = (first_band(bulk), think_ns(self.host_latency));
        connect_bulk_and_requests(&mut world, self.streams, &bulk, &requests, think_ns);
        Ok(world)
    }
}
