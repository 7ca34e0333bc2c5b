//! One row: build the world, forward, run the load, measure.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, anyhow};
use hdrhistogram::Histogram;
use taut_linux::{NetNs, sched};
use taut_relay::bridge::{Board, Bridge, Listener, PathSettings};
use taut_relay::interface::PacketInterface;
use taut_relay::operator::Event;
use taut_report::number::per_second;

use super::super::control::{Control, StopOnDrop};
use super::super::load::{self, Beside, Load};
use super::super::progress::Progress;
use super::case::{Case, Forwarder};
use super::options::LabForward;
use super::world::{FAST_DEVICE, SLOW_DEVICE, World};
use crate::forward::talk::sentence;
use crate::interrupt;
use crate::talk::say;

/// What is not measured at the start: by then the streams have filled a queue of 1,000 packets.
pub const WARM_UP_NS: u64 = 4_000_000_000;

/// What one row showed.
pub struct Ran {
    pub case: Case,
    pub ping_ns: Histogram<u64>,
    pub lost_pings: u64,
    /// How late the pings went out.
    pub late_ns: Histogram<u64>,
    pub goodput_bps: u64,
}

/// Runs one case and measures it; `None` if it was interrupted.
pub fn run(
    options: &LabForward,
    case: &Case,
    progress: &mut Progress,
) -> anyhow::Result<Option<Ran>> {
    let world = World::new(case, options.fast.0).context("set up the hosts and the box")?;
    let control = Arc::new(Control::default());
    let board = Arc::new(Board::default());
    let bridge = spawn_bridge(&world.between, case, &control, &board)?;
    let measured = load::connect(
        &world.client,
        &world.server,
        world.address,
        options.streams,
        Beside::Pings,
    )
    .and_then(|connected| connected.start(&control))
    .and_then(|load| {
        let goodput_bps = measure(options, &load, &control, &board, progress);
        control.stop();
        Ok((load.join()?, goodput_bps?))
    });
    control.stop();
    // A bridge that failed is why the load failed, so its error goes first.
    if let Some(bridge) = bridge {
        let forwarded = bridge.join();
        forwarded
            .map_err(|_| anyhow!("the forwarding thread panicked"))?
            .context("forward")?;
    }
    let (pings, goodput_bps) = measured?;
    Ok(goodput_bps.map(|goodput_bps| Ran {
        case: case.clone(),
        ping_ns: pings.latency_ns,
        lost_pings: pings.lost,
        late_ns: pings.late_ns,
        goodput_bps,
    }))
}

type Forwarding = JoinHandle<anyhow::Result<()>>;

fn spawn_bridge(
    between: &NetNs,
    case: &Case,
    control: &Arc<Control>,
    board: &Arc<Board>,
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
    let (control, board) = (Arc::clone(control), Arc::clone(board));
    let forward = move || {
        let _stop = StopOnDrop(&control);
        bridge.run(&board, &Talk, || control.is_stopped())?;
        Ok(())
    };
    let thread = thread::Builder::new().name("forward".into());
    Ok(Some(thread.spawn(forward)?))
}

struct Talk;

impl Listener for Talk {
    fn event(&self, interface: &str, event: Event<'_>) {
        if let Some(text) = sentence(interface, &event) {
            say!("taut: {text}");
        }
    }
}

fn measure(
    options: &LabForward,
    load: &Load,
    control: &Control,
    board: &Board,
    progress: &mut Progress,
) -> std::io::Result<Option<u64>> {
    wait(WARM_UP_NS, control, board, progress);
    let before = load.delivered()?;
    let start_ns = sched::monotonic_ns();
    control.record(true);
    wait(options.duration.0, control, board, progress);
    control.record(false);
    if interrupt::noted().is_some() {
        return Ok(None);
    }
    let length_ns = (sched::monotonic_ns() - start_ns).max(1);
    let delivered_bytes = load.delivered()?.bytes_since(&before);
    Ok(Some(per_second(delivered_bytes * 8, length_ns) as u64))
}

/// Waits, showing progress, until the time is over, a thread gave up, or it is interrupted.
fn wait(length_ns: u64, control: &Control, board: &Board, progress: &mut Progress) {
    let end_ns = sched::monotonic_ns() + length_ns;
    while !control.is_stopped() && interrupt::noted().is_none() {
        let left_ns = end_ns.saturating_sub(sched::monotonic_ns());
        if left_ns == 0 {
            break;
        }
        thread::sleep(Duration::from_nanos(left_ns.min(Progress::STEP_NS)));
        control
            .in_flight_bytes
            .set(board[0].in_flight.load(Relaxed));
        progress.show(control);
    }
}
