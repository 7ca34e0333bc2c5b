//! One row: build the world, run the load, measure.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use hdrhistogram::Histogram;
use taut_linux::sched;

use super::control::Control;
use super::kernel_tcp;
use super::load::{self, Beside, Load, Requests};
use super::options::RrUnderLoad;
use super::progress::Progress;
use super::router::{self, Routed};
use super::tell_stall;
use super::world::World;
use crate::interrupt;
use taut_measure::trace::Tape;
use taut_report::number::{one_decimal, per_second};
use taut_scenarios::rr_under_load::Case;
use taut_scenarios::rr_under_load::{Latency, Lateness, Row, Settings};
use taut_scenarios::stated::Stated;

/// A row, and the latencies that are drawn of it.
pub struct Ran {
    pub row: Row,
    pub latency_ns: Histogram<u64>,
    /// What its queue did, if that is wanted.
    pub tape: Option<Tape>,
}

/// Runs one case and measures it, with a tape of `most_events` if they are wanted; `None` if it was
/// interrupted.
pub fn run(
    options: &RrUnderLoad,
    case: &Case,
    most_events: Option<usize>,
    progress: &mut Progress,
) -> anyhow::Result<Option<Ran>> {
    let control = Arc::new(Control::default());
    let world = World::new(options, case)?;
    let (client, server, address) = (world.client.clone(), world.server.clone(), world.address);
    let streams = options.experiment.streams;
    let router = spawn_router(world, options, case, most_events, &control)?;
    let measured = load::connect(&client, &server, address, streams, Beside::Requests)
        .and_then(|connected| connected.start(&control))
        .and_then(|load| {
            let window = measure(options, &load, &control, progress);
            control.stop();
            let requests = load.join()?;
            let retransmits = kernel_tcp::retransmits(&client)? + kernel_tcp::retransmits(&server)?;
            Ok(Measured {
                window: window?,
                requests,
                retransmits,
            })
        });
    control.stop();
    let routed = router
        .join()
        .map_err(|_| anyhow!("the routing thread panicked"))?;
    // A router that failed is why the load failed, so its error goes first.
    let mut routed = routed.context("move packets")?;
    let longest_stall_ns = routed
        .directions
        .iter()
        .map(|direction| direction.longest_stall_ns);
    tell_stall(&case.to_string(), longest_stall_ns.max().unwrap_or(0));
    let measured = measured?;
    let row = measured
        .window
        .as_ref()
        .map(|window| to_row(case, &measured, window, &routed));
    let latency_ns = measured.requests.latency_ns;
    // The first direction is the measured one.
    let tape = routed.directions.first_mut().and_then(|it| it.tape.take());
    Ok(row.map(|row| Ran {
        row,
        latency_ns,
        tape,
    }))
}

type Router = thread::JoinHandle<anyhow::Result<Routed>>;

fn spawn_router(
    world: World,
    options: &RrUnderLoad,
    case: &Case,
    most_events: Option<usize>,
    control: &Arc<Control>,
) -> anyhow::Result<Router> {
    let (options, case, control) = (options.clone(), case.clone(), Arc::clone(control));
    let router = move || {
        let directions = world.directions(&options, &case, &control, most_events)?;
        Ok(router::route(directions, &control, !options.no_real_time)?)
    };
    Ok(thread::Builder::new().name("router".into()).spawn(router)?)
}

/// What a row showed, but for its queues.
struct Measured {
    /// Nothing if it was interrupted.
    window: Option<Window>,
    requests: Requests,
    retransmits: u64,
}

/// What passed while a row was recorded.
struct Window {
    length_ns: u64,
    cpu_ns: u64,
    delivered_bytes: u64,
}

fn measure(
    options: &RrUnderLoad,
    load: &Load,
    control: &Control,
    progress: &mut Progress,
) -> io::Result<Option<Window>> {
    wait(Settings::defaults().warm_up.0, control, progress);
    let before = load.delivered()?;
    let (start_ns, start_cpu_ns) = (sched::monotonic_ns(), sched::process_cpu_ns());
    control.record(true);
    wait(options.experiment.duration.0, control, progress);
    control.record(false);
    if interrupt::noted().is_some() {
        return Ok(None);
    }
    Ok(Some(Window {
        length_ns: (sched::monotonic_ns() - start_ns).max(1),
        cpu_ns: sched::process_cpu_ns() - start_cpu_ns,
        delivered_bytes: load.delivered()?.bytes_since(&before),
    }))
}

/// Waits, showing progress, until the time is over, a thread gave up, or it is interrupted.
fn wait(length_ns: u64, control: &Control, progress: &mut Progress) {
    let end_ns = sched::monotonic_ns() + length_ns;
    while !control.is_stopped() && interrupt::noted().is_none() {
        let left_ns = end_ns.saturating_sub(sched::monotonic_ns());
        if left_ns == 0 {
            break;
        }
        thread::sleep(Duration::from_nanos(left_ns.min(Progress::STEP_NS)));
        progress.show(control);
    }
}

fn to_row(case: &Case, measured: &Measured, window: &Window, routed: &Routed) -> Row {
    let (requests, directions) = (&measured.requests, &routed.directions);
    let forward = &directions[0];
    let cpu_percent = window.cpu_ns as f64 * 100.0 / window.length_ns as f64;
    Row {
        limit: case.limit.clone(),
        bql: case.bql(),
        tso: case.tso,
        split: case.split,
        inflight_bytes: forward.in_flight_bytes,
        waiting_packets: forward.waiting_packets,
        limit_bytes_p50: case.limits_bytes().then_some(forward.limit_p50),
        rr_tps: one_decimal(per_second(requests.transactions, window.length_ns)),
        rr_latency_us: Latency::of(&requests.latency_ns),
        goodput_bps: per_second(window.delivered_bytes * 8, window.length_ns) as u64,
        cpu_percent: Some(one_decimal(cpu_percent)),
        drops: directions.iter().map(|direction| direction.drops).sum(),
        marks: directions.iter().map(|direction| direction.marks).sum(),
        retransmits: measured.retransmits,
        stalls: Some(directions.iter().map(|direction| direction.stalls).sum()),
        timers_late_us: Some(Lateness::of(&routed.late_ns)),
        curve: forward.curve.clone(),
    }
}
