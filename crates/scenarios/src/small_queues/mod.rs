//! E3: data below the socket of one stream, with and without small queues.

mod late_sockets;
mod one_stream;

use serde_json::{Value, json};
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

/// A run and its part of the table.
pub enum SmallQueuesCase {
    /// One stream.
    Stream(&'static str, OneStream),
    /// Many sockets.
    LateSockets(LateSockets),
}

/// The outcome of a run.
pub enum SmallQueuesOutcome {
    /// One stream.
    Stream(Box<StreamReport>),
    /// Many sockets: a row.
    LateSockets(Value),
}

const STREAM: &str = "stream";
const KNEE: &str = "knee";
const ORPHANS: &str = "orphaning driver";

/// The budget with an orphaning driver: the limit of 2012.
const ORPHANED_BUDGET: Budget = Budget::Bytes(taut_path::tsq::LIMIT_2012_BYTES);

impl SmallQueuesSettings {
    fn parts(&self, seed: u64) -> Vec<SmallQueuesCase> {
        if !self.sockets.is_empty() {
            let sockets = self.late_sockets().into_iter();
            return sockets.map(SmallQueuesCase::LateSockets).collect();
        }
        let streams = self.streams(seed).into_iter().map(|run| (STREAM, run));
        let knee = self.knee(seed).into_iter().map(|run| (KNEE, run));
        let orphans = self.orphans(seed).map(|run| (ORPHANS, run));
        let all = streams.chain(knee).chain(orphans);
        all.map(|(part, run)| SmallQueuesCase::Stream(part, run))
            .collect()
    }

    fn stream(&self, rate: Rate, tso: bool, budget: Budget, seed: u64) -> OneStream {
        OneStream {
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

fn row(part: &str, run: &OneStream, seen: &StreamReport, kept: Option<f64>) -> Value {
    let us = |ns: u64| ns as f64 / 1e3;
    json!({
        "part": part,
        "rate_bits_per_s": run.rate.0,
        "coalesce_us": us(run.coalesce.0),
        "tso": run.tso,
        "budget": run.budget.to_string(),
        "limit": run.limit.to_string(),
        "orphans": run.orphans,
        "throughput_bits_per_s": seen.throughput_bits_per_s,
        "kept_share": kept,
        "link_share": seen.throughput_bits_per_s / run.max_bits_per_s(),
        "backlog_mean_bytes": seen.backlog_mean_bytes,
        "backlog_p90_bytes": seen.backlog_bytes.p90,
        "backlog_max_bytes": seen.backlog_bytes.max,
        "backlog_p90_us": us(seen.backlog_ns.p90),
        "backlog_max_us": us(seen.backlog_ns.max),
        "charged_max_bytes": seen.charged_max_bytes,
        "packet_mean_bytes": seen.packet_mean_bytes,
        "round_trip_mean_us": seen.round_trip_mean_us,
        "window_mean_bytes": seen.window_mean_bytes,
        "socket_memory_mean_bytes": seen.socket_memory_mean_bytes,
        "requests_p50_us": seen.requests_p50_us,
        "requests_p99_us": seen.requests_p99_us,
        "throttled": seen.throttled,
        "deferred": seen.deferred,
        "drops": seen.drops,
        "orphaned_packets": seen.orphaned_packets,
    })
}

/// Compares a row with published results, if there are any. `kept` is the share of the throughput
/// without a budget.
fn figures(part: &str, run: &OneStream, seen: &StreamReport, kept: f64) -> Vec<Figure> {
    let kib = |kib: u32| Budget::Bytes(kib << 10);
    let buffering_ms = seen.backlog_ns.p90 as f64 / 1e6;
    let backlog_bytes = seen.backlog_bytes.p90 as f64;
    let mbit = run.rate.0 / 1_000_000;
    let (id, published, value, unit): (_, &[f64], _, _) = match (part, mbit, run.tso, run.budget) {
        (STREAM, 1_000, false, budget) if budget == kib(128) => {
            ("1gbit, 128k, buffering", &[0.0, 1.0], buffering_ms, "ms")
        }
        (STREAM, 100, false, budget) if budget == kib(128) => {
            ("100mbit, 128k, buffering", &[0.0, 8.0], buffering_ms, "ms")
        }
        (STREAM, 100, false, Budget::None) => {
            ("100mbit, none, buffering", &[130.0], buffering_ms, "ms")
        }
        (STREAM, 1_000, true, Budget::None) => {
            ("1gbit, none, backlog", &[3e6], backlog_bytes, "bytes")
        }
        (STREAM, 1_000, true, Budget::Bytes(40_000)) => {
            let bytes = seen.packet_mean_bytes;
            ("1gbit, 40000, GSO packet", &[20e3], bytes, "bytes")
        }
        (KNEE, 10_000, _, budget) if budget == kib(64) => {
            ("10gbit, 64k, throughput kept", &[1.0], kept, "")
        }
        (KNEE, 20_000, _, budget) if budget == kib(128) => {
            ("20gbit, 128k, throughput kept", &[1.0], kept, "")
        }
        _ => return Vec::new(),
    };
    let coalesce = if part == KNEE {
        "knee_coalesce"
    } else {
        "coalesce"
    };
    let id = format!("E3, {id}");
    vec![Figure::new(id, published, value, unit, &[coalesce])]
}

impl Scenario for SmallQueuesSettings {
    type Case = SmallQueuesCase;
    type Outcome = SmallQueuesOutcome;

    fn cases(&self, seed: u64) -> Result<Vec<SmallQueuesCase>, ScenarioError> {
        Ok(self.parts(seed))
    }

    fn name(&self, case: &SmallQueuesCase) -> String {
        match case {
            SmallQueuesCase::Stream(part, run) => format!("{part}, {}", run.budget),
            SmallQueuesCase::LateSockets(case) => format!("{} sockets", case.sockets),
        }
    }

    fn run(&self, case: &SmallQueuesCase, seed: u64) -> Result<SmallQueuesOutcome, ScenarioError> {
        Ok(match case {
            SmallQueuesCase::Stream(_, run) => SmallQueuesOutcome::Stream(Box::new(run.run()?)),
            SmallQueuesCase::LateSockets(case) => {
                SmallQueuesOutcome::LateSockets(self.late_row(case, seed)?)
            }
        })
    }

    fn results(&self, ran: &[(&SmallQueuesCase, &SmallQueuesOutcome)]) -> Results {
        let mut found = Results::default();
        // The last row without a budget, the reference of the following ones.
        let mut unlimited = None::<(&str, f64)>;
        for it in ran {
            match it {
                (SmallQueuesCase::Stream(part, run), SmallQueuesOutcome::Stream(seen)) => {
                    if run.budget == Budget::None {
                        unlimited = Some((part, seen.throughput_bits_per_s));
                    }
                    let of_part = unlimited.filter(|(of, _)| of == part);
                    let kept = of_part.map(|(_, max)| seen.throughput_bits_per_s / max);
                    self.push_stream(&mut found, part, run, (seen, kept));
                }
                (_, SmallQueuesOutcome::LateSockets(row)) => found.rows.push(row.clone()),
                (SmallQueuesCase::LateSockets(_), SmallQueuesOutcome::Stream(_)) => {}
            }
        }
        found
    }
}

impl SmallQueuesSettings {
    /// Adds the row of a stream, its comparisons, and its curve.
    fn push_stream(
        &self,
        found: &mut Results,
        part: &'static str,
        run: &OneStream,
        (seen, kept): (&StreamReport, Option<f64>),
    ) {
        if part != KNEE || run.coalesce == self.knee_coalesce[0] {
            let kept = kept.unwrap_or(0.0);
            found.figures.extend(figures(part, run, seen, kept));
        }
        found.rows.push(row(part, run, seen, kept));
        if part == STREAM {
            found.series.push(series(run, seen));
        }
    }
}

/// Returns the series of the data below the socket over the measured time.
fn series(run: &OneStream, seen: &StreamReport) -> Series {
    let tso = if run.tso { "TSO" } else { "no TSO" };
    let mbit = run.rate.0 / 1_000_000;
    let row = format!("{mbit} Mbit/s, {tso}, {}", run.budget);
    Series::bytes(row, "backlog", seen.backlog_over_time.clone())
}
