//! The thread that moves packets: every direction in turn, asleep in between.

use std::io;
use std::os::fd::BorrowedFd;

use hdrhistogram::Histogram;
use taut_linux::poll::{self, Ready};
use taut_linux::sched;
use taut_measure::meter::{Curve, Quantiles, histogram_ns};
use taut_measure::trace::Tape;

use super::control::{Control, StopOnDrop};

/// Packets taken from one device before the others have their turn.
pub const BATCH_PACKETS: usize = 64;

/// Real-time priority of the moving thread, where it is allowed: just above ordinary work, so that
/// the load it carries does not make it late.
const PRIORITY: u8 = 1;

/// The longest sleep: how late the end of a row may be noticed.
const LONGEST_SLEEP_NS: u64 = 20_000_000;

/// One way through the lab.
pub trait Direction {
    /// What to wait for.
    fn source(&self) -> BorrowedFd<'_>;

    /// Does what is due by `now_ns` and, if the source is `readable`, takes at most
    /// [`BATCH_PACKETS`] packets in. Returns whether more may be waiting.
    fn service(&mut self, now_ns: u64, readable: bool) -> io::Result<bool>;

    /// When to come back even if nothing arrives, in ns.
    fn next_wakeup_ns(&self) -> Option<u64>;

    /// What was measured, once the row is over.
    fn into_outcome(self: Box<Self>) -> io::Result<DirectionOutcome>;
}

/// What one direction measured.
#[derive(Debug, Default)]
pub struct DirectionOutcome {
    pub in_flight_bytes: Quantiles,
    pub waiting_packets: Quantiles,
    /// In the limit's units.
    pub limit_p50: u64,
    pub curve: Curve,
    /// Packets that did not get through, for any reason that this side knows.
    pub drops: u64,
    /// Packets that the discipline marked.
    pub marks: u64,
    /// Times that the oldest packet in flight was older than the threshold, and the longest of them.
    pub stalls: u64,
    pub longest_stall_ns: u64,
    /// What its queue did, if that is wanted.
    pub tape: Option<Tape>,
}

/// What the thread that moves packets measured.
pub struct Routed {
    pub directions: Vec<DirectionOutcome>,
    /// How late the moments came at which something was due, while the row was recorded.
    pub late_ns: Histogram<u64>,
}

/// Moves packets until the row is stopped, with `real_time` priority where that is allowed.
pub fn route(
    mut directions: Vec<Box<dyn Direction>>,
    control: &Control,
    real_time: bool,
) -> io::Result<Routed> {
    let _stop = StopOnDrop(control);
    sched::precise_timers()?;
    if real_time {
        // Not allowed to everybody. Without it the figures of latency are a little worse.
        let _ = sched::realtime_priority(PRIORITY);
    }
    let mut readable = vec![false; directions.len()];
    let mut late_ns = histogram_ns();
    let mut due_ns = None::<u64>;
    while !control.is_stopped() {
        let now_ns = sched::monotonic_ns();
        if let Some(late) = due_ns.and_then(|due_ns| now_ns.checked_sub(due_ns))
            && control.is_recording()
        {
            late_ns.saturating_record(late);
        }
        for (direction, readable) in directions.iter_mut().zip(&mut readable) {
            *readable = direction.service(now_ns, *readable)?;
        }
        let wakeup_ns = directions.iter().filter_map(|it| it.next_wakeup_ns());
        // What is due already can be done now at the earliest.
        due_ns = wakeup_ns.min().map(|at_ns| at_ns.max(now_ns));
        if !readable.contains(&true) {
            let ready = sleep(&directions, due_ns, now_ns)?;
            for (position, readable) in readable.iter_mut().enumerate() {
                *readable = ready.is_ready(position);
            }
        }
    }
    let directions = directions.into_iter().map(Direction::into_outcome);
    Ok(Routed {
        directions: directions.collect::<io::Result<_>>()?,
        late_ns,
    })
}

fn sleep(directions: &[Box<dyn Direction>], due_ns: Option<u64>, now_ns: u64) -> io::Result<Ready> {
    let latest_ns = now_ns + LONGEST_SLEEP_NS;
    let sources: Vec<_> = directions
        .iter()
        .map(|direction| direction.source())
        .collect();
    poll::wait(&sources, Some(due_ns.unwrap_or(latest_ns).min(latest_ns)))
}
