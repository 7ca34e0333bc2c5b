//! E2: many request/response streams of one size on one link.
//!
//! Card and direction were not published. Half of the streams are opened from each end. Two full
//! queues in one loop share the circulating data in any proportion, so the bytes in one of them
//! would be meaningless if all requests had one direction. The interrupt interval is that of this
//! card, and a receiver merges the segments of one interrupt into one acknowledgement.

use std::ops::RangeInclusive;

use taut_path::Probe;

use crate::on_off::on_off;
use crate::prelude::*;
use crate::two_hosts::{
    GSO_PACKET_BYTES, bands_of, card, dql_or_off, hosts, request_response, stream, think_ns, world,
};
use taut_measure::meter::{Meter, Since};
use taut_sim::nic::link_ns;
use taut_sim::tcp::GsoSize;
use taut_sim::world::{CLIENT, World};

const SIZES: RangeInclusive<Size> = Size(1)..=Size(10_000_000);

settings! {
    RrSizesSettings, "rr-sizes" {
        /// Streams, each with one request outstanding.
        streams: u32 => validation::within(1..=10_000),
        /// Bytes of a request, and of its response; each with a row with the limit and one without.
        sizes: Vec<Size> => validation::each(1..=20, validation::within(SIZES)),
        /// Link rate.
        rate: Rate => validation::rate,
        /// Descriptors of the ring.
        ring: u32 => validation::card_ring,
        /// Interrupt interval.
        coalesce: Time where validation::up_to(*duration),
        /// Time of a transaction outside of queues and the wire.
        host_latency: Time => validation::within(Time(0)..=Time::ms(10_000)),
        /// Warm-up.
        warm_up: Time => validation::duration,
        /// Measured time.
        duration: Time => validation::duration,
    }
}

/// Capacity of a discipline, in packets: more than all streams can have in flight.
const BACKLOG_PACKETS: u32 = 100_000;

/// Messages of one size, with or without the limit.
#[derive(Clone, Copy)]
pub struct RrSizesCase {
    size: Size,
    limited: bool,
}

impl RrSizesCase {
    fn name(&self) -> String {
        format!("{}, limit {}", self.size.0, on_off(self.limited))
    }
}

impl RrSizesSettings {
    fn end_ns(&self) -> u64 {
        self.warm_up.0 + self.duration.0
    }

    fn world<P: Probe>(
        &self,
        case: &RrSizesCase,
        seed: u64,
        probe: impl FnMut(usize) -> P,
    ) -> Result<World<P>, ScenarioError> {
        let card = card(self.rate, self.ring, self.coalesce, seed);
        let hosts = hosts(card, self.warm_up.0);
        let mut world = world(
            &hosts,
            &dql_or_off(case.limited),
            bands_of(BACKLOG_PACKETS),
            probe,
        )?;
        self.connect(&mut world, case.size);
        Ok(world)
    }

    fn connect<P: Probe>(&self, world: &mut World<P>, size: Size) {
        let mut stream = stream(GsoSize::Fixed(GSO_PACKET_BYTES));
        let tcp = &mut stream.tcp;
        if size.0 > u64::from(tcp.mss_bytes) {
            // A receiver that merges segments sends one acknowledgement per interrupt. An
            // acknowledgement for every second segment would take most of the descriptors: two
            // each, where six carry a whole message of 14,000 bytes.
            tcp.delayed_ack_segments = GSO_PACKET_BYTES / tcp.mss_bytes;
            tcp.delayed_ack_ns = self.coalesce.0;
        }
        let (client, server) = request_response(size.0 as u32, think_ns(self.host_latency));
        for number in 0..self.streams {
            let start_ns =
                self.spread_ns(size).saturating_mul(number.into()) / u64::from(self.streams);
            // Two full queues in one loop share the circulating data in any proportion, which the
            // start determines. Requests in both directions make it half.
            if number % 2 == 0 {
                world.connect(&stream, client, server, start_ns);
            } else {
                world.connect(&stream, server, client, start_ns);
            }
        }
    }

    /// Returns the time within which the streams start uniformly, in ns: the link time of one
    /// message of each stream, or the hosts' time if that is longer. With simultaneous starts,
    /// requests would use one direction while the other is idle, and then responses the other,
    /// forever.
    fn spread_ns(&self, size: Size) -> u64 {
        link_ns(u64::from(self.streams) * size.0, self.rate.0).max(self.host_latency.0)
    }
}

impl Scenario for RrSizesSettings {
    type Case = RrSizesCase;

    fn cases(&self) -> Cases<Self> {
        let both = |&size: &Size| [true, false].map(|limited| RrSizesCase { size, limited });
        let cases = self.sizes.iter().flat_map(both);
        Ok(cases.map(|case| (case.name(), case)).collect())
    }

    fn run(&self, case: &RrSizesCase, seed: u64) -> Result<Results, ScenarioError> {
        let meter = |_| Meter::new(Since(self.warm_up.0), 0, self.end_ns());
        let mut world = self.world(case, seed, meter)?;
        world.run_until(self.end_ns())?;
        let latency_ns = world.latency_ns();
        let in_flight = world.probe(CLIENT).in_flight_bytes();
        let (mean_bytes, in_flight) = (in_flight.mean(), in_flight.quantiles());
        let tps = per_second(latency_ns.len(), self.duration.0);
        let mut found = Results::row(json!({
            "size_bytes": case.size.0,
            "limit": dql_or_off(case.limited).to_string(),
            "in_flight_mean_bytes": mean_bytes,
            "in_flight_p10_bytes": in_flight.p10,
            "in_flight_p90_bytes": in_flight.p90,
            "rate_tps": tps,
            "latency_p50_us": latency_ns.value_at_quantile(0.5) / 1_000,
            "goodput_bits_per_s": tps * case.size.0 as f64 * 8.0,
        }));
        found.compare(format!("E2, {}, in flight", case.name()), mean_bytes as f64);
        found.compare(format!("E2, {}, rate", case.name()), tps);
        Ok(found)
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let row = |(name, case): (String, RrSizesCase)| {
            let names = (name, dql_or_off(case.limited).to_string());
            TraceRow::two_hosts(names, self.rate, self.end_ns(), move |probe| {
                self.world(&case, seed, probe)
            })
        };
        self.cases().into_iter().flatten().map(row).collect()
    }
}
