//! The thread that moves packets: every direction in turn, asleep in between.

use std::io;
use std::os::fd::BorrowedFd;

use hdrhistogram::Histogram;
use taut_linux::poll::Ready;
use taut_measure::meter::{Curve, Meter, Quantiles, histogram_ns};
use taut_measure::trace::Recording;
use taut_path::queue::CompleterCounters;
use taut_relay::{Next, Work, raise_priority, run};

use crate::control::{Control, StopOnDrop, Watch};

/// Packets taken from one device before the others have their turn.
pub const BATCH_PACKETS: usize = 64;

/// One way through the lab.
pub trait Route {
    /// The descriptor to poll.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Does what is due by `now_ns` and, if the source is `readable`, takes at most
    /// [`BATCH_PACKETS`] packets in. Returns whether more may be waiting.
    fn service(&mut self, now_ns: u64, readable: bool) -> io::Result<bool>;

    /// When to come back even if nothing arrives, in ns.
    fn next_wakeup_ns(&self) -> Option<u64>;

    /// What was measured, once the row is over.
    fn into_outcome(self: Box<Self>) -> io::Result<RouteOutcome>;
}

/// What one direction measured.
#[derive(Debug, Default)]
pub struct RouteOutcome {
    pub in_flight_bytes: Quantiles,
    pub waiting_packets: Quantiles,
    /// In the limit's units.
    pub limit_p50: u64,
    pub curve: Curve,
    /// Packets that did not get through, for any reason that this side knows.
    pub drops: u64,
    /// Packets that the discipline marked.
    pub marks: u64,
    /// Times that the oldest packet in flight was older than the threshold, and the longest of
    /// them.
    pub stalls: u64,
    pub longest_stall_ns: u64,
    /// What its queue did, if that is wanted.
    pub recording: Option<Recording>,
}

/// What watches a queue of the lab: always a meter, and a recording if a trace is wanted.
pub type Watcher = (Meter<Watch>, Option<Recording>);

impl RouteOutcome {
    /// What `watcher` measured at a queue with these counters, without drops and marks.
    pub fn of(watcher: &mut Watcher, completer: CompleterCounters) -> Self {
        let (meter, recording) = watcher;
        Self {
            in_flight_bytes: meter.in_flight_bytes(),
            waiting_packets: meter.waiting_packets(),
            limit_p50: meter.limit_p50(),
            curve: meter.curve(),
            stalls: completer.stalls,
            longest_stall_ns: completer.longest_stall_ns,
            recording: recording.take(),
            ..Self::default()
        }
    }
}

/// What the thread that moves packets measured.
pub struct Routed {
    pub directions: Vec<RouteOutcome>,
    /// How late the moments came at which something was due, while the row was recorded.
    pub late_ns: Histogram<u64>,
}

/// Moves packets until the row is stopped, with `real_time` priority where that is allowed.
pub fn route(
    directions: Vec<Box<dyn Route>>,
    control: &Control,
    real_time: bool,
) -> io::Result<Routed> {
    let _stop = StopOnDrop(control);
    if real_time {
        raise_priority();
    }
    let mut router = Router {
        has_more: vec![false; directions.len()],
        directions,
        control,
        late_ns: histogram_ns(),
        due_ns: None,
    };
    run(&mut router)?;
    let directions = router.directions.into_iter().map(Route::into_outcome);
    Ok(Routed {
        directions: directions.collect::<io::Result<_>>()?,
        late_ns: router.late_ns,
    })
}

struct Router<'a> {
    directions: Vec<Box<dyn Route>>,
    /// Which of them may have more waiting.
    has_more: Vec<bool>,
    control: &'a Control,
    late_ns: Histogram<u64>,
    /// When the next thing is due, in ns.
    due_ns: Option<u64>,
}

impl Work for Router<'_> {
    fn fds<'a>(&'a self, fds: &mut Vec<BorrowedFd<'a>>) {
        fds.extend(self.directions.iter().map(|direction| direction.fd()));
    }

    fn turn(&mut self, now_ns: u64, ready: Ready) -> io::Result<Next> {
        if self.control.is_stopped() {
            return Ok(Next::End);
        }
        if let Some(late_ns) = self.due_ns.and_then(|due_ns| now_ns.checked_sub(due_ns))
            && self.control.is_recording()
        {
            self.late_ns.saturating_record(late_ns);
        }
        let each = self.directions.iter_mut().zip(&mut self.has_more);
        for (position, (direction, has_more)) in each.enumerate() {
            let readable = *has_more || ready.is_ready(position);
            *has_more = direction.service(now_ns, readable)?;
        }
        let wakeups_ns = self.directions.iter().filter_map(|it| it.next_wakeup_ns());
        // What is due already can be done now at the earliest.
        self.due_ns = wakeups_ns.min().map(|at_ns| at_ns.max(now_ns));
        Ok(match self.has_more.contains(&true) {
            true => Next::Now,
            false => Next::At(self.due_ns.unwrap_or(u64::MAX)),
        })
    }
}
