//! One row: create the hosts, forward, load, measure.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::{Context, anyhow};
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
    let control = Arc::new(Control::default());
    let bridge = spawn_bridge(&world.between, case, &control)?;
    let plan = Plan {
        streams: experiment.streams,
        beside: Beside::Pings,
        warm_up_ns: WARM_UP_NS,
        duration_ns: experiment.duration.0,
    };
    let loaded = plan.run(&world.hosts, &control, progress, || {});
    control.stop();
    // A failed bridge is the cause of a failed load, so its error is reported first.
    if let Some(bridge) = bridge {
        let forwarded = bridge.join();
        forwarded
            .map_err(|_| anyhow!("the forwarding thread panicked"))?
            .context("forward")?;
    }
    let loaded = loaded?;
    let pings = loaded.requests;
    Ok(loaded.window.map(|window| ForwardRun {
        case: case.clone(),
        ping_ns: pings.latency_ns,
        lost_pings: pings.lost,
        late_ns: pings.late_ns,
        goodput_bps: window.goodput_bits_per_s(),
    }))
}

type Forwarding = JoinHandle<anyhow::Result<()>>;

fn spawn_bridge(
    between: &NetNs,
    case: &ForwardCase,
    control: &Arc<Control>,
) -> anyhow::Result<Option<Forwarding>> {
    let Forwarder::Taut { qdisc, limit } = &case.forwarder else {
        return Ok(None);
    };
    let path = PathSettings {
        qdisc: (*qdisc).to_owned(),
        limit: limit.clone(),
        ..PathSettings::default()
    };
    let mut bridge = Bridge::<PacketInterface>::open(between, [FAST_DEVICE, SLOW_DEVICE], &path)?;
    let control = Arc::clone(control);
    let forward = move || {
        let _stop = StopOnDrop(&control);
        bridge.run(talk, |directions| {
            let in_flight = directions[0].snapshot().in_flight;
            control.in_flight_bytes.set(in_flight.into());
            control.is_stopped()
        })?;
        Ok(())
    };
    let thread = thread::Builder::new().name("forward".into());
    Ok(Some(thread.spawn(forward)?))
}

fn talk(interface: &str, event: Event<'_>) {
    // The links of the experiment stay up.
    if !matches!(event, Event::Up | Event::Stopping { .. }) {
        say!("taut: {interface}: {event:?}");
    }
}
