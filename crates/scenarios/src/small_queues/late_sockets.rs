//! An application that serves many sockets and refills each late: the loss of throughput with small
//! queues, and the required socket buffers.

use taut_path::AnyLimit;

use super::SmallQueuesSettings;
use crate::budget::Budget;
use crate::prelude::*;
use crate::two_hosts::{
    GSO_PACKET_BYTES, MSS_BYTES, bands_of, card, hosts, max_payload_bits_per_s, stream, world,
};
use taut_sim::tcp::GsoSize;
use taut_sim::world::{App, CLIENT, SERVER, SmallQueues, World};

/// Minimum of a buffer: two segments. With less, packets are small and the link carries headers.
const MIN_BUFFER_BYTES: u64 = 2 * MSS_BYTES as u64;

/// A row.
pub struct LateSockets {
    rate: Rate,
    pub(super) sockets: u32,
    period_ns: u64,
    /// Bytes that the socket's share of the link sends in a period.
    needed_bytes: u64,
    buffer_bytes: u64,
    budget: Budget,
}

impl SmallQueuesSettings {
    /// Returns each number of sockets with each period and buffer.
    pub(super) fn late_sockets(&self) -> Vec<LateSockets> {
        let mut cases = Vec::new();
        for &rate in &self.rates {
            for &sockets in &self.sockets {
                let visits_ns = self.visit.0.saturating_mul(sockets.into());
                let periods = self.periods.iter().filter(|period| period.0 >= visits_ns);
                for &Time(period_ns) in periods {
                    self.push_buffers(&mut cases, (rate, sockets, period_ns));
                }
            }
        }
        cases
    }

    /// Adds each buffer with each budget, and the largest without a budget, for comparison.
    fn push_buffers(&self, cases: &mut Vec<LateSockets>, of: (Rate, u32, u64)) {
        let (rate, sockets, period_ns) = of;
        let share = max_payload_bits_per_s(rate) / 8.0 / f64::from(sockets);
        let needed_bytes = (share * period_ns as f64 / 1e9) as u64;
        let case = |percent: u32, budget| LateSockets {
            rate,
            sockets,
            period_ns,
            needed_bytes,
            buffer_bytes: (needed_bytes * u64::from(percent) / 100).max(MIN_BUFFER_BYTES),
            budget,
        };
        for &budget in &self.budgets {
            let percents = self.buffer_percents.iter();
            cases.extend(percents.map(|&percent| case(percent, budget)));
        }
        let largest = self.buffer_percents.iter().max().copied();
        cases.push(case(largest.unwrap_or(100), Budget::None));
    }

    pub(super) fn late_row(&self, case: &LateSockets, seed: u64) -> Result<Value, ScenarioError> {
        let mut world = self.late_world(case, seed)?;
        world.run_until(self.warm_up.0)?;
        let before = world.arrived_bytes(SERVER);
        world.run_until(self.warm_up.0 + self.duration.0)?;
        let delivered = world.arrived_bytes(SERVER) - before;
        let throughput = delivered as f64 * 8e9 / self.duration.0 as f64;
        let written = f64::from(case.sockets) * case.buffer_bytes as f64;
        let max_bits_per_s = max_payload_bits_per_s(case.rate);
        let closed_form = written * 8e9 / case.period_ns as f64 / max_bits_per_s;
        let round_trips_ns: u64 = (0..case.sockets)
            .map(|socket| world.report(socket, CLIENT).srtt_ns)
            .sum();
        let totals = world.small_queue_totals(CLIENT);
        Ok(json!({
            "sockets": case.sockets,
            "period_us": case.period_ns as f64 / 1e3,
            "needed_bytes": case.needed_bytes,
            "buffer_bytes": case.buffer_bytes,
            "budget": case.budget.to_string(),
            "throughput_bits_per_s": throughput,
            "link_share": throughput / max_bits_per_s,
            "closed_form_share": closed_form.min(1.0),
            "round_trip_mean_us": round_trips_ns as f64 / f64::from(case.sockets) / 1e3,
            "throttled": totals.throttled,
            "deferred": totals.deferred,
            "left_to_owner": totals.deferred_to_owner,
            "drops": world.dropped_packets(CLIENT),
        }))
    }

    fn late_world(&self, case: &LateSockets, seed: u64) -> Result<World<()>, ScenarioError> {
        let hosts = hosts(card(case.rate, self.ring, self.coalesce, seed), 0);
        let discipline = bands_of(self.backlog_packets);
        let mut world = world(&hosts, &AnyLimit::dql(), discipline, |_| ())?;
        let small_queues = SmallQueues {
            settings: case.budget.settings(),
            connections: case.sockets,
            deferred_delay_ns: self.deferred.0,
            hold_ns: self.visit.0,
            orphans: false,
        };
        world.use_small_queues(&small_queues)?;
        let stream = stream(GsoSize::Fixed(GSO_PACKET_BYTES));
        let visitor = App::Visitor {
            period_ns: case.period_ns,
            // The receiver never accepts more than that at once.
            buffer_bytes: case.buffer_bytes.try_into().unwrap_or(u32::MAX),
        };
        for socket in 0..case.sockets {
            // Staggered uniformly within the period.
            let start_ns = case.period_ns * u64::from(socket) / u64::from(case.sockets);
            world.connect(&stream, visitor, App::Sink, start_ns);
        }
        Ok(world)
    }
}
