//! One row: create the world, load it, measure.

use std::sync::Arc;

use anyhow::Context;
use taut_measure::trace::Recording;
use taut_report::number::{one_decimal, per_second};
use taut_report::say;
use taut_scenarios::rr_under_load::{Case, Lateness, Row};

use super::config::Config;
use super::router::{Routed, route};
use super::world::{RrWorld, Wiring};
use crate::control::Control;
use crate::load::{Loaded, Plan, requests};
use crate::progress::Progress;
use crate::world::retransmits;

/// Measures a case, and records at most `max_events` of its queue if the user wants a trace.
/// Returns `None` if the user interrupted it.
pub fn run(
    config: &Config,
    case: &Case,
    max_events: Option<usize>,
    progress: &mut Progress,
) -> anyhow::Result<Option<(Row, Option<Recording>)>> {
    let control = Arc::new(Control::default());
    let world = RrWorld::new(config, case)?;
    let hosts = world.hosts.clone();
    let forward = || {
        let wiring = Wiring {
            config,
            case,
            control: &control,
            max_events,
        };
        let routed = wiring
            .connect(world)
            .and_then(|routes| Ok(route(routes, &control, !config.options.no_real_time)?));
        routed.context("forward packets")
    };
    let plan = Plan {
        streams: config.settings.streams,
        measured: requests,
        warm_up_ns: config.settings.warm_up.0,
        duration_ns: config.settings.duration.0,
    };
    let (mut routed, loaded) = plan.run(&hosts, &control, progress, "router", forward)?;
    report_stall(case, &routed);
    let Some(loaded) = loaded else {
        return Ok(None);
    };
    let recording = routed.directions[0].recording.take();
    let retransmits = retransmits(&hosts.client)? + retransmits(&hosts.server)?;
    let row = to_row(case, loaded, &routed);
    Ok(Some((Row { retransmits, ..row }, recording)))
}

/// Reports that packets waited too long in a device, if they did.
fn report_stall(case: &Case, routed: &Routed) {
    let stalls_ns = routed.directions.iter().map(|it| it.longest_stall_ns);
    let longest_ms = stalls_ns.max().unwrap_or(0) / 1_000_000;
    if longest_ms > 0 {
        say!(
            "taut: {case}: packets were in the device for up to {longest_ms} ms; it stalled, or \
             the ring is too large for its rate"
        );
    }
}

/// Returns the row, without the retransmits, which TCP counts.
fn to_row(case: &Case, Loaded { window, requests }: Loaded, routed: &Routed) -> Row {
    let directions = &routed.directions;
    let forward = &directions[0];
    let cpu_percent = window.cpu_ns as f64 * 100.0 / window.length_ns as f64;
    Row {
        case: case.clone(),
        inflight_bytes: forward.in_flight_bytes,
        backlog_packets: forward.backlog_packets,
        limit_bytes_p50: case.limits_bytes().then_some(forward.limit_p50),
        rr_tps: one_decimal(per_second(requests.transactions, window.length_ns)),
        latency_ns: requests.latency_ns,
        goodput_bps: window.goodput_bits_per_s(),
        cpu_percent: Some(one_decimal(cpu_percent)),
        drops: directions.iter().map(|direction| direction.drops).sum(),
        marks: directions.iter().map(|direction| direction.marks).sum(),
        retransmits: 0,
        stalls: Some(directions.iter().map(|direction| direction.stalls).sum()),
        timer_lateness_us: Some(Lateness::of(&routed.late_ns)),
        curve: forward.curve.clone(),
    }
}
