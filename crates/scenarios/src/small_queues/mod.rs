//! E3: data below the socket of one stream, with and without small queues.

mod late_sockets;
mod one_stream;

use taut_path::AnyLimit;

use crate::budget::Budget;

use crate::prelude::*;
use crate::serde_text::as_texts;
use late_sockets::LateSockets;
use one_stream::{OneStream, STREAM, us};

settings! {
    SmallQueuesSettings, "small-queues" {
        /// Link rates of the stream; rows with and without TSO for each.
        rates: Vec<Rate> => validation::each(1..=10, validation::rate),
        /// Budgets below its socket: `none`, `rate` or a size; a row for each.
        #[serde(with = "as_texts")]
        budgets: Vec<Budget> => validation::each(1..=20, validation::any),
        /// Descriptors of its ring.
        ring: u32 => validation::card_ring,
        /// Interrupt interval.
        coalesce: Time where validation::up_to(*duration),
        /// Time from adding a flow to the deferred list to the run of the list.
        deferred: Time => validation::within(Time(0)..=Time::ms(1_000)),
        /// Time from the end of a request of high priority to the next.
        requests_every: Time => validation::within(Time::us(1)..=Time::ms(10_000)),
        /// Warm-up.
        warm_up: Time => validation::duration,
        /// Measured time.
        duration: Time => validation::duration,
        /// Link rates of the search for the knee.
        knee_rates: Vec<Rate> => validation::each(0..=10, validation::rate),
        /// Budgets of the search for the knee.
        #[serde(with = "as_texts")]
        knee_budgets: Vec<Budget> => validation::each(0..=40, validation::any),
        /// Descriptors of the ring in that search.
        knee_ring: u32 => validation::card_ring,
        /// Interrupt intervals of that search; the published results are for the first.
        knee_coalesce: Vec<Time> where validation::each(1..=10, validation::up_to(*knee_duration)),
        /// Warm-up of that search.
        knee_warm_up: Time => validation::duration,
        /// Measured time of that search.
        knee_duration: Time => validation::duration,
        /// Numbers of sockets that an application serves, instead of the other cases; empty for
        /// none.
        sockets: Vec<u32> => validation::each(0..=20, validation::within(1..=20_000)),
        /// Times between two visits of a socket. Periods that are too short to visit all sockets
        /// are skipped.
        periods: Vec<Time> => validation::each(0..=20, validation::within(MIN_PERIOD..=MAX_PERIOD)),
        /// Time for which a visit locks the socket.
        visit: Time => validation::within(Time(0)..=Time::ms(10_000)),
        /// Socket buffers, in percent of the bytes that the socket's share of the link sends in a
        /// period.
        buffer_percents: Vec<u32> => validation::each(0..=20, validation::within(1..=10_000)),
        /// Capacity of the discipline above all sockets, in packets.
        backlog_packets: u32 => validation::within(1..=1_000_000),
    }
}

/// Range of the time between two visits of a socket.
const MIN_PERIOD: Time = Time::us(10);
const MAX_PERIOD: Time = Time::ms(10_000);

/// A run.
pub enum SmallQueuesCase {
    /// One stream.
    Stream(OneStream),
    /// Many sockets.
    LateSockets(LateSockets),
}

const KNEE: &str = "knee";
const ORPHANS: &str = "orphaning driver";

/// The budget with an orphaning driver: the limit of 2012.
const ORPHANED_BUDGET: Budget = Budget::Bytes(taut_path::tsq::LIMIT_2012_BYTES);

impl SmallQueuesSettings {
    fn stream(&self, rate: Rate, tso: bool, budget: Budget) -> OneStream {
        OneStream {
            part: STREAM,
            rate,
            tso,
            budget,
            limit: AnyLimit::dql(),
            orphans: false,
            ring: self.ring,
            coalesce: self.coalesce,
            requests_every_ns: Some(self.requests_every.0),
            warm_up_ns: self.warm_up.0,
            duration_ns: self.duration.0,
        }
    }

    /// Returns each rate with and without GSO packets, under each budget.
    fn streams(&self) -> Vec<OneStream> {
        let mut runs = Vec::new();
        for &rate in &self.rates {
            for tso in [true, false] {
                let budgets = self.budgets.iter();
                runs.extend(budgets.map(|&budget| self.stream(rate, tso, budget)));
            }
        }
        runs
    }

    /// Returns the runs of the stream alone, over rates and budgets.
    fn knee(&self) -> Vec<OneStream> {
        let mut runs = Vec::new();
        for &coalesce in &self.knee_coalesce {
            for &rate in &self.knee_rates {
                runs.extend(self.knee_budgets.iter().map(|&budget| OneStream {
                    part: KNEE,
                    ring: self.knee_ring,
                    coalesce,
                    requests_every_ns: None,
                    warm_up_ns: self.knee_warm_up.0,
                    duration_ns: self.knee_duration.0,
                    ..self.stream(rate, true, budget)
                }));
            }
        }
        runs
    }

    /// Returns an orphaning driver with and without a limit, and one that does not orphan.
    fn orphans(&self) -> [OneStream; 3] {
        let run = |(orphans, limit)| OneStream {
            part: ORPHANS,
            limit,
            orphans,
            ..self.stream(self.rates[0], false, ORPHANED_BUDGET)
        };
        [
            (false, AnyLimit::off()),
            (true, AnyLimit::off()),
            (true, AnyLimit::dql()),
        ]
        .map(run)
    }
}

impl Scenario for SmallQueuesSettings {
    type Case = SmallQueuesCase;

    fn cases(&self) -> Cases<Self> {
        if !self.sockets.is_empty() {
            let named = |case: LateSockets| {
                let name = format!("{} sockets", case.sockets);
                (name, SmallQueuesCase::LateSockets(case))
            };
            return Ok(self.late_sockets().into_iter().map(named).collect());
        }
        let mut streams = self.streams();
        streams.extend(self.knee());
        streams.extend(self.orphans());
        let named = |run: OneStream| {
            let name = format!("{}, {}", run.part, run.budget);
            (name, SmallQueuesCase::Stream(run))
        };
        Ok(streams.into_iter().map(named).collect())
    }

    fn run(&self, case: &SmallQueuesCase, seed: u64) -> Result<Results, ScenarioError> {
        match case {
            SmallQueuesCase::Stream(run) => run.run(self.deferred, seed),
            SmallQueuesCase::LateSockets(case) => Ok(Results::row(self.late_row(case, seed)?)),
        }
    }

    /// Adds the share of the throughput that each budget kept: of the last row of its part without
    /// a budget.
    fn complete(&self, results: &mut Results) {
        let (mut unlimited, mut kept_shares) = ((Value::Null, 0.0), Vec::new());
        for row in results
            .rows
            .iter_mut()
            .filter(|row| row["part"].is_string())
        {
            let throughput = row["throughput_bits_per_s"].as_f64().unwrap_or(0.0);
            if row["budget"] == Budget::None.to_string() {
                unlimited = (row["part"].clone(), throughput);
            }
            let kept = (unlimited.0 == row["part"]).then(|| throughput / unlimited.1);
            row["kept_share"] = kept.into();
            // The published results are for the first interval.
            if row["part"] == KNEE && row["coalesce_us"] == us(self.knee_coalesce[0].0) {
                let rate = Rate(row["rate_bits_per_s"].as_u64().unwrap_or(0));
                let budget = row["budget"].as_str().unwrap_or_default();
                let id = format!("E3, {rate}, {budget}, throughput kept");
                kept_shares.push((id, kept.unwrap_or(0.0)));
            }
        }
        for (id, kept) in kept_shares {
            results.compare(id, kept);
        }
    }
}
