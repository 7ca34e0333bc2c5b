//! Experiments in virtual time.

use std::process::ExitCode;

use taut_sim::scenario::rr_under_load::{Outcome, RrUnderLoad, RunError};

use crate::exit;
use crate::rr;
use crate::rr::experiment::{Case, Experiment};
use crate::rr::results::{Carrier, Latency, Results, Row, one_decimal, per_second};

/// The link of the published experiment, in bit/s.
const DEFAULT_RATE_BITS_PER_S: u64 = 1_000_000_000;

/// `taut sim rr-under-load`.
pub fn rr_under_load(experiment: &Experiment) -> ExitCode {
    let rate_bits_per_s = experiment.rate.unwrap_or(DEFAULT_RATE_BITS_PER_S);
    let rows: Result<Vec<Row>, RunError> = experiment
        .cases()
        .into_iter()
        .map(|case| {
            Ok(to_row(
                experiment,
                case,
                &run(experiment, case, rate_bits_per_s)?,
            ))
        })
        .collect();
    match rows {
        Ok(rows) => {
            let carrier = Carrier {
                driver: "simulated",
                rate_bits_per_s,
            };
            rr::print(&Results::new(experiment, carrier, rows), experiment.json)
        }
        Err(error) => {
            eprintln!("taut: {error}");
            ExitCode::from(exit::USAGE)
        }
    }
}

fn run(experiment: &Experiment, case: Case, rate_bits_per_s: u64) -> Result<Outcome, RunError> {
    RrUnderLoad {
        streams: experiment.streams,
        rate_bits_per_s,
        slots: experiment.ring,
        cadence_ns: experiment.cadence,
        qdisc: &experiment.qdisc,
        limit: experiment.limit_of(case),
        tso: case.tso,
        duration_ns: experiment.duration,
        seed: experiment.seed,
    }
    .run()
}

fn to_row(experiment: &Experiment, case: Case, outcome: &Outcome) -> Row {
    let us = |quantile| outcome.latency_ns.value_at_quantile(quantile) / 1000;
    let transactions = outcome.latency_ns.len();
    Row {
        bql: case.bql,
        tso: case.tso,
        inflight_bytes: outcome.in_flight_bytes.into(),
        limit_bytes_p50: experiment.limits_bytes(case).then_some(outcome.limit_p50),
        rr_tps: one_decimal(per_second(transactions, experiment.duration)),
        rr_latency_us: Latency {
            p50: us(0.5),
            p99: us(0.99),
        },
        goodput_bps: per_second(outcome.delivered_bytes * 8, experiment.duration) as u64,
        cpu_percent: None,
        drops: outcome.drops,
        curve: outcome.curve.clone(),
    }
}
