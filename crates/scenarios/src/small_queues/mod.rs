//! E3: data below the socket of one stream, with and without small queues.

mod late_sockets;
mod one_stream;

use serde_json::Value;
use taut_path::AnyLimit;

use crate::budget::Budget;

use crate::prelude::*;
use crate::serde_text::as_texts;
use late_sockets::LateSockets;
use one_stream::{OneStream, StreamReport};

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

/// The outcome of a run.
pub enum SmallQueuesOutcome {
    /// One stream.
    Stream(StreamReport),
    /// Many sockets: a row.
    LateSockets(Value),
}

const STREAM: &str = "stream";
const KNEE: &str = "knee";
const ORPHANS: &str = "orphaning driver";

/// The budget with an orphaning driver: the limit of 2012.
const ORPHANED_BUDGET: Budget = Budget::Bytes(taut_path::tsq::LIMIT_2012_BYTES);

impl SmallQueuesSettings {
    fn stream(&self, rate: Rate, tso: bool, budget: Budget, seed: u64) -> OneStream {
        OneStream {
            part: STREAM,
            rate,
            tso,
            budget,
            limit: AnyLimit::dql(),
            orphans: false,
            ring: self.ring,
            coalesce: self.coalesce,
            deferred_ns: self.deferred.0,
            requests_every_ns: Some(self.requests_every.0),
            warm_up_ns: self.warm_up.0,
            duration_ns: self.duration.0,
            seed,
        }
    }

    /// Returns each rate with and without GSO packets, under each budget.
    fn streams(&self, seed: u64) -> Vec<OneStream> {
        let mut runs = Vec::new();
        for &rate in &self.rates {
            for tso in [true, false] {
                let budgets = self.budgets.iter();
                runs.extend(budgets.map(|&budget| self.stream(rate, tso, budget, seed)));
            }
        }
        runs
    }

    /// Returns the runs of the stream alone, over rates and budgets.
    fn knee(&self, seed: u64) -> Vec<OneStream> {
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
                    ..self.stream(rate, true, budget, seed)
                }));
            }
        }
        runs
    }

    /// Returns an orphaning driver with and without a limit, and one that does not orphan.
    fn orphans(&self, seed: u64) -> [OneStream; 3] {
        let run = |(orphans, limit)| OneStream {
            part: ORPHANS,
            limit,
            orphans,
            ..self.stream(self.rates[0], false, ORPHANED_BUDGET, seed)
        };
        [
            (false, AnyLimit::off()),
            (true, AnyLimit::off()),
            (true, AnyLimit::dql()),
        ]
        .map(run)
    }
}

/// Compares a row with published results, if there are any. `kept` is the share of the throughput
/// without a budget.
fn figure(run: &OneStream, seen: &StreamReport, kept: f64) -> Option<Figure> {
    let kib = |kib: u32| Budget::Bytes(kib << 10);
    let buffering_ms = seen.backlog_p90_ns as f64 / 1e6;
    let value = |key: &str| seen.row[key].as_f64().unwrap_or_default();
    let mbit = run.rate.0 / 1_000_000;
    let budget = run.budget;
    let (id, published, value, unit): (_, &[f64], _, _) = match (run.part, mbit, run.tso) {
        (STREAM, 1_000, false) if budget == kib(128) => {
            ("1gbit, 128k, buffering", &[0.0, 1.0], buffering_ms, "ms")
        }
        (STREAM, 100, false) if budget == kib(128) => {
            ("100mbit, 128k, buffering", &[0.0, 8.0], buffering_ms, "ms")
        }
        (STREAM, 100, false) if budget == Budget::None => {
            ("100mbit, none, buffering", &[130.0], buffering_ms, "ms")
        }
        (STREAM, 1_000, true) if budget == Budget::None => {
            let bytes = value("backlog_p90_bytes");
            ("1gbit, none, backlog", &[3e6], bytes, "bytes")
        }
        (STREAM, 1_000, true) if budget == Budget::Bytes(40_000) => {
            let bytes = value("packet_mean_bytes");
            ("1gbit, 40000, GSO packet", &[20e3], bytes, "bytes")
        }
        (KNEE, 10_000, _) if budget == kib(64) => {
            ("10gbit, 64k, throughput kept", &[1.0], kept, "")
        }
        (KNEE, 20_000, _) if budget == kib(128) => {
            ("20gbit, 128k, throughput kept", &[1.0], kept, "")
        }
        _ => return None,
    };
    let coalesce = match run.part {
        KNEE => "knee_coalesce",
        _ => "coalesce",
    };
    let id = format!("E3, {id}");
    Some(Figure::new(id, published, value, unit, &[coalesce]))
}

impl Scenario for SmallQueuesSettings {
    type Case = SmallQueuesCase;
    type Outcome = SmallQueuesOutcome;

    fn cases(&self, seed: u64) -> Cases<Self> {
        if !self.sockets.is_empty() {
            let named = |case: LateSockets| {
                let name = format!("{} sockets", case.sockets);
                (name, SmallQueuesCase::LateSockets(case))
            };
            return Ok(self.late_sockets().into_iter().map(named).collect());
        }
        let mut streams = self.streams(seed);
        streams.extend(self.knee(seed));
        streams.extend(self.orphans(seed));
        let named = |run: OneStream| {
            let name = format!("{}, {}", run.part, run.budget);
            (name, SmallQueuesCase::Stream(run))
        };
        Ok(streams.into_iter().map(named).collect())
    }

    fn run(&self, case: &SmallQueuesCase, seed: u64) -> Result<SmallQueuesOutcome, ScenarioError> {
        Ok(match case {
            SmallQueuesCase::Stream(run) => SmallQueuesOutcome::Stream(run.run()?),
            SmallQueuesCase::LateSockets(case) => {
                SmallQueuesOutcome::LateSockets(self.late_row(case, seed)?)
            }
        })
    }

    fn results(&self, ran: &[(&SmallQueuesCase, &SmallQueuesOutcome)]) -> Results {
        let mut found = Results::default();
        // The part and the throughput of the last row without a budget, the reference of the
        // following ones.
        let mut unlimited = ("", 0.0);
        for it in ran {
            match it {
                (SmallQueuesCase::Stream(run), SmallQueuesOutcome::Stream(seen)) => {
                    let throughput = seen.row["throughput_bits_per_s"].as_f64().unwrap_or(0.0);
                    if run.budget == Budget::None {
                        unlimited = (run.part, throughput);
                    }
                    let kept = (unlimited.0 == run.part).then(|| throughput / unlimited.1);
                    self.push_stream(&mut found, run, (seen, kept));
                }
                (_, SmallQueuesOutcome::LateSockets(row)) => found.rows.push(row.clone()),
                (SmallQueuesCase::LateSockets(_), SmallQueuesOutcome::Stream(_)) => {}
            }
        }
        found
    }
}

impl SmallQueuesSettings {
    /// Adds the row of a stream, its comparison, and the data below its socket over the measured
    /// time.
    fn push_stream(
        &self,
        found: &mut Results,
        run: &OneStream,
        (seen, kept): (&StreamReport, Option<f64>),
    ) {
        if run.part != KNEE || run.coalesce == self.knee_coalesce[0] {
            found.figures.extend(figure(run, seen, kept.unwrap_or(0.0)));
        }
        let mut row = seen.row.clone();
        row["kept_share"] = kept.into();
        found.rows.push(row);
        if run.part == STREAM {
            let tso = if run.tso { "TSO" } else { "no TSO" };
            let mbit = run.rate.0 / 1_000_000;
            let row = format!("{mbit} Mbit/s, {tso}, {}", run.budget);
            let backlog = seen.backlog_over_time.clone();
            found.series.push(Series::bytes(row, "backlog", backlog));
        }
    }
}
