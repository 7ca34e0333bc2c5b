//! One row: create the hosts, forward, load, measure.

use anyhow::Context;
use taut_linux::NetNs;
use taut_linux::link::{self, OffloadControl, RootQdisc};
use taut_relay::bridge::{Bridge, PathSettings};
use taut_relay::interface::PacketInterface;
use taut_relay::run_control::{Event, RunControl};
use taut_relay::{Direction, Source};
use taut_report::say;

use super::config::{Forward, ForwardCase};
use crate::control::{Control, StopOnDrop};
use crate::load::{Plan, Requests, pings};
use crate::progress::Progress;
use crate::world::{CLIENT_DEVICE, CLIENT_MAC, Hosts, SERVER_DEVICE, SERVER_MAC, bridge, shape};

/// Time until the streams have filled a queue of 1,000 packets.
pub const WARM_UP_NS: u64 = 4_000_000_000;

/// The device of the bridge host on the fast link.
const FAST_DEVICE: &str = "taut-fast";
/// The device of the bridge host on the slow link.
const SLOW_DEVICE: &str = "taut-slow";

/// The bucket of the fast link: a GSO packet, so that GSO packets arrive at the bridge host.
const FAST_BURST_BYTES: u32 = 128 * 1024;
/// The bucket of the slow link: a few frames.
const SLOW_BURST_BYTES: u32 = 5 * 1024;
/// The capacity of the shapers if nothing else bounds it.
const SHAPER_LIMIT_BYTES: u32 = 8 << 20;
/// The queue length of a device.
const QUEUE_PACKETS: u32 = 1000;

/// The result of a row.
pub struct ForwardRun {
    pub case: ForwardCase,
    pub pings: Requests,
    pub goodput_bps: u64,
}

/// Measures a case. Returns `None` if the user interrupted it.
pub fn run(
    experiment: &Forward,
    case: &ForwardCase,
    progress: &mut Progress,
) -> anyhow::Result<Option<ForwardRun>> {
    let (hosts, between) =
        world(case, experiment.fast_rate.0).context("set up the hosts and the bridge host")?;
    let control = Control::default();
    let mut bridge = open_bridge(&between, case)?;
    let forward = || {
        let Some(bridge) = &mut bridge else {
            return Ok(());
        };
        let _stop = StopOnDrop(&control);
        bridge.run(&mut RowControl(&control)).context("forward")
    };
    let plan = Plan {
        streams: experiment.streams,
        measured: pings,
        warm_up_ns: WARM_UP_NS,
        duration_ns: experiment.duration.0,
    };
    let ((), loaded) = plan.run(&hosts, &control, progress, "forward", forward)?;
    Ok(loaded.map(|loaded| ForwardRun {
        case: case.clone(),
        goodput_bps: loaded.window.goodput_bits_per_s(),
        pings: loaded.requests,
    }))
}

/// Opens the bridge of `taut forward`, unless the kernel forwards.
fn open_bridge(
    between: &NetNs,
    case: &ForwardCase,
) -> anyhow::Result<Option<Bridge<PacketInterface>>> {
    let Some(limit) = &case.limit else {
        return Ok(None);
    };
    let path = PathSettings {
        qdisc: case.qdisc.to_owned(),
        limit: limit.clone(),
        ..PathSettings::default()
    };
    Bridge::open(between, [FAST_DEVICE, SLOW_DEVICE], &path).map(Some)
}

/// Ends the bridge with the row.
struct RowControl<'a>(&'a Control);

impl RunControl for RowControl<'_> {
    fn is_over<S: Source>(&mut self, _now_ns: u64, directions: &mut [Direction<S>]) -> bool {
        let in_flight = directions[0].queue().snapshot().in_flight;
        self.0.in_flight_bytes.set(in_flight.into());
        self.0.is_stopped()
    }

    fn event(&mut self, interface: &str, event: Event<'_>) {
        // The links of the experiment stay up.
        if let Some(message) = event
            .message(interface)
            .filter(|_| !matches!(event, Event::Up))
        {
            say!("taut: {message}");
        }
    }
}

/// Creates two hosts and a bridge host between them, whose link to the server is the slow one, and
/// the kernel's bridge if that is the forwarder.
fn world(case: &ForwardCase, fast_bits_per_s: u64) -> anyhow::Result<(Hosts, NetNs)> {
    let (hosts, between) = (Hosts::new()?, NetNs::new()?);
    link::add_veth_pair(&hosts.client, CLIENT_DEVICE, &between, FAST_DEVICE)?;
    link::add_veth_pair(&between, SLOW_DEVICE, &hosts.server, SERVER_DEVICE)?;
    link::set_mac(&hosts.client, CLIENT_DEVICE, CLIENT_MAC)?;
    link::set_mac(&hosts.server, SERVER_DEVICE, SERVER_MAC)?;
    // As `taut forward` does.
    let offloads = OffloadControl::new(&between)?;
    for device in [FAST_DEVICE, SLOW_DEVICE] {
        offloads.turn_off(device)?;
    }
    let tbf = |rate_bits_per_s, burst_bytes| RootQdisc::Tbf {
        rate_bits_per_s,
        burst_bytes,
        limit_bytes: SHAPER_LIMIT_BYTES,
    };
    let fast = tbf(fast_bits_per_s, FAST_BURST_BYTES);
    shape(&hosts.client, CLIENT_DEVICE, fast)?;
    link::set_tx_queue_packets(&between, SLOW_DEVICE, QUEUE_PACKETS)?;
    shape(&between, SLOW_DEVICE, tbf(case.rate.0, SLOW_BURST_BYTES))?;
    link::set_pfifo_fast_in_tbf(&between, SLOW_DEVICE)?;
    if case.is_kernel() {
        bridge(&between, [FAST_DEVICE, SLOW_DEVICE])?;
    }
    for device in [FAST_DEVICE, SLOW_DEVICE] {
        link::set_up(&between, device)?;
    }
    hosts.start()?;
    Ok((hosts, between))
}
