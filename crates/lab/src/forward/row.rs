//! One row: create the hosts, forward, load, measure.

use anyhow::Context;
use hdrhistogram::Histogram;
use taut_linux::NetNs;
use taut_relay::bridge::{Bridge, PathSettings};
use taut_relay::interface::PacketInterface;
use taut_relay::run_control::Event;
use taut_report::say;

use super::case::{ForwardCase, Forwarder};
use super::config::Forward;
use super::world::{FAST_DEVICE, ForwardWorld, SLOW_DEVICE};
use crate::control::{Control, StopOnDrop};
use crate::load::{Beside, Plan};
use crate::progress::Progress;

/// Time until the streams have filled a queue of 1,000 packets.
pub const WARM_UP_NS: u64 = 4_000_000_000;

/// The result of a row.
pub struct ForwardRun {
    pub case: ForwardCase,
    pub ping_ns: Histogram<u64>,
    pub lost_pings: u64,
    /// The lateness of the pings.
    pub late_ns: Histogram<u64>,
    pub goodput_bps: u64,
}

/// Measures a case. Returns `None` if the user interrupted it.
pub fn run(
    experiment: &Forward,
    case: &ForwardCase,
    progress: &mut Progress,
) -> anyhow::Result<Option<ForwardRun>> {
    let world = ForwardWorld::new(case, experiment.fast_rate.0)
        .context("set up the hosts and the bridge host")?;
    let control = Control::default();
    let mut bridge = open_bridge(&world.between, case)?;
    let forward = || {
        let Some(bridge) = &mut bridge else {
            return Ok(());
        };
        let _stop = StopOnDrop(&control);
        let forwarded = bridge.run(talk, |directions| {
            let in_flight = directions[0].snapshot().in_flight;
            control.in_flight_bytes.set(in_flight.into());
            control.is_stopped()
        });
        forwarded.context("forward")
    };
    let plan = Plan {
        streams: experiment.streams,
        beside: Beside::Pings,
        warm_up_ns: WARM_UP_NS,
        duration_ns: experiment.duration.0,
    };
    let ((), loaded) = plan.run(&world.hosts, &control, progress, "forward", forward)?;
    let pings = loaded.requests;
    Ok(loaded.window.map(|window| ForwardRun {
        case: case.clone(),
        ping_ns: pings.latency_ns,
        lost_pings: pings.lost,
        late_ns: pings.late_ns,
        goodput_bps: window.goodput_bits_per_s(),
    }))
}

/// Opens the bridge of `taut forward`, unless the kernel forwards.
fn open_bridge(
    between: &NetNs,
    case: &ForwardCase,
) -> anyhow::Result<Option<Bridge<PacketInterface>>> {
    let Forwarder::Taut { qdisc, limit } = &case.forwarder else {
        return Ok(None);
    };
    let path = PathSettings {
        qdisc: (*qdisc).to_owned(),
        limit: limit.clone(),
        ..PathSettings::default()
    };
    Bridge::open(between, [FAST_DEVICE, SLOW_DEVICE], &path).map(Some)
}

fn talk(interface: &str, event: Event<'_>) {
    // The links of the experiment stay up.
    if !matches!(event, Event::Up | Event::Stopping { .. }) {
        say!("taut: {interface}: {event:?}");
    }
}
