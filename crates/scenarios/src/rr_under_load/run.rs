//! Runs one case.

use taut_measure::meter::{Meter, Since};
use taut_path::{Probe, qdisc};
use taut_report::number::{one_decimal, per_second};
use taut_sim::tcp::GsoSize;
use taut_sim::world::{App, CLIENT, SERVER, World, WorldConfig};

use super::case::Case;
use super::row::Row;
use super::Settings;
use crate::error::ScenarioError;
use crate::two_hosts::{
    BULK, Done, GSO_PACKET_BYTES, START_NS, card, first_band, hosts, request_response, stream,
    think_ns, world,
};

impl Settings {
    /// Runs one case of valid settings.
    ///
    /// # Errors
    /// If a setting is invalid, or a queue becomes faulty.
    pub fn run_case(&self, case: &Case, seed: u64) -> Result<Row, ScenarioError> {
        let meter = |_| Meter::new(Since(self.warm_up.0), 0, self.end_ns());
        let mut world = self.world(case, seed, meter)?;
        world.run_until(self.warm_up.0)?;
        let before = world.arrived_bytes(SERVER);
        world.run_until(self.end_ns())?;
        let done = Done::of(&world, self.streams + 1);
        let meter = world.probe(CLIENT);
        let latency_ns = world.latency_ns().clone();
        let delivered_bits = (done.arrived_bytes - before) * 8;
        Ok(Row {
            limit: case.limit.clone(),
            bql: case.bql(),
            tso: case.tso,
            late_segmentation: case.late_segmentation,
            inflight_bytes: meter.in_flight_bytes(),
            backlog_packets: meter.backlog_packets(),
            limit_bytes_p50: case.limits_bytes().then_some(meter.limit_p50()),
            rr_tps: one_decimal(per_second(latency_ns.len(), self.duration.0)),
            latency_ns,
            goodput_bps: per_second(delivered_bits, self.duration.0) as u64,
            cpu_percent: None,
            drops: done.drops,
            marks: done.marks,
            retransmits: done.retransmits,
            stalls: None,
            timer_lateness_us: None,
            curve: meter.curve(),
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
        let hosts = WorldConfig {
            late_segmentation: case.late_segmentation,
            ..hosts(card, self.warm_up.0)
        };
        // The same text was parsed above.
        let discipline = || by_name().expect("the same text");
        let mut world = world(&hosts, &case.limit, discipline, probe)?;
        let mut bulk = stream(if case.tso {
            GsoSize::Fixed(GSO_PACKET_BYTES)
        } else {
            GsoSize::Off
        });
        bulk.tcp.ecn = qdisc::marks_ecn(&self.qdisc);
        let streams = self.streams;
        for stream in 0..streams {
            let start_ns = START_NS * u64::from(stream) / u64::from(streams);
            world.connect(&bulk, BULK, App::Sink, start_ns);
        }
        // A byte in each direction, after the start of the streams.
        let (client, server) = request_response(1, think_ns(self.host_latency));
        world.connect(&first_band(bulk), client, server, START_NS);
        Ok(world)
    }
}
