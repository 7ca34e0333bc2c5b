//! The packet thread: serves the directions round-robin and sleeps in between.

use std::io;
use std::os::fd::BorrowedFd;

use hdrhistogram::Histogram;
use taut_measure::meter::{Curve, Meter, Quantiles, histogram_ns};
use taut_measure::trace::Recording;
use taut_path::{AnyLimit, AnyQdisc, Queue};
use taut_relay::{Next, Work, raise_priority, run};

use crate::control::{Control, StopOnDrop, Watch};

/// Packets read from one device before the next one is served.
pub const BATCH_PACKETS: usize = 64;

/// One direction of the link.
pub trait Route {
    /// The descriptor to poll.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Processes events due by `now_ns`. If the source is `readable`, reads at most
    /// [`BATCH_PACKETS`] packets. Returns `true` if more can be waiting.
    fn service(&mut self, now_ns: u64, readable: bool) -> io::Result<bool>;

    /// Returns the time of the next event, in ns.
    fn next_wakeup_ns(&self) -> Option<u64>;

    /// Returns the measurements after the end of the row.
    fn into_outcome(self: Box<Self>) -> io::Result<RouteOutcome>;
}

/// The measurements of one direction.
#[derive(Debug, Default)]
pub struct RouteOutcome {
    pub in_flight_bytes: Quantiles,
    pub backlog_packets: Quantiles,
    /// In the units of the limit.
    pub limit_p50: u64,
    pub curve: Curve,
    /// Packets lost for any reason that is known here.
    pub drops: u64,
    /// Packets that the discipline marked.
    pub marks: u64,
    /// Stalls: times that the oldest packet in flight exceeded the threshold, and the longest one.
    pub stalls: u64,
    pub longest_stall_ns: u64,
    /// The recorded events of the queue, if a trace is requested.
    pub recording: Option<Recording>,
}

/// The probes of a queue: a meter, and a recording if a trace is requested.
pub type Watcher = (Meter<Watch>, Option<Recording>);

impl RouteOutcome {
    /// Returns the measurements of `queue`, without drops and marks.
    pub fn of<D>(queue: &mut Queue<D, AnyLimit, AnyQdisc, Watcher>) -> Self {
        let completer = queue.completer_counters();
        let (meter, recording) = queue.probe_mut();
        Self {
            in_flight_bytes: meter.in_flight_bytes().quantiles(),
            backlog_packets: meter.backlog_packets().quantiles(),
            limit_p50: meter.limit_p50(),
            curve: meter.curve(),
            stalls: completer.stalls,
            longest_stall_ns: completer.longest_stall_ns,
            recording: recording.take(),
            ..Self::default()
        }
    }
}

/// The measurements of the packet thread.
pub struct Routed {
    pub directions: Vec<RouteOutcome>,
    /// The lateness of timed events while the row was recorded.
    pub late_ns: Histogram<u64>,
}

/// Forwards packets until the row is stopped, with `real_time` priority if permitted.
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
    /// Directions that can have more packets waiting.
    has_more: Vec<bool>,
    control: &'a Control,
    late_ns: Histogram<u64>,
    /// Time of the next event, in ns.
    due_ns: Option<u64>,
}

impl Work for Router<'_> {
    fn fds<'a>(&'a self, fds: &mut Vec<BorrowedFd<'a>>) {
        fds.extend(self.directions.iter().map(|direction| direction.fd()));
    }

    fn turn(&mut self, now_ns: u64, ready: &[bool]) -> io::Result<Next> {
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
            let readable = *has_more || ready.get(position) == Some(&true);
            *has_more = direction.service(now_ns, readable)?;
        }
        let wakeups_ns = self.directions.iter().filter_map(|it| it.next_wakeup_ns());
        // An overdue event is processed now at the earliest.
        self.due_ns = wakeups_ns.min().map(|at_ns| at_ns.max(now_ns));
        Ok(match self.has_more.contains(&true) {
            true => Next::Now,
            false => Next::At(self.due_ns.unwrap_or(u64::MAX)),
        })
    }
}
