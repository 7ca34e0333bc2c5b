//! The event loop: serve due work, sleep until a descriptor is ready.

use std::io;
use std::os::fd::BorrowedFd;

use taut_linux::{poll, sched};

/// The longest sleep, in ns, and so the maximum delay until the end of a run is noticed.
const LONGEST_SLEEP_NS: u64 = 20_000_000;
/// Real-time priority of a thread that moves packets: just above normal threads, so that load does
/// not delay it.
const PRIORITY: u8 = 1;

/// The next step of the loop. An earlier step is less than a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Next {
    /// Continue without polling the descriptors.
    Now,
    /// Sleep until a descriptor is ready, and at most until this time, in ns. A time in the past
    /// only polls the descriptors.
    At(u64),
    /// Return.
    End,
}

/// Work served by [`run`].
pub trait Work {
    /// Adds the descriptors to wait for.
    fn fds<'a>(&'a self, fds: &mut Vec<BorrowedFd<'a>>);

    /// Does the work due at `now_ns`. `ready` is `true` at the positions of ready
    /// descriptors, and empty if they were not polled.
    ///
    /// # Errors
    /// Returns an error if the work cannot continue.
    fn turn(&mut self, now_ns: u64, ready: &[bool]) -> io::Result<Next>;
}

/// Serves `work` until it ends.
///
/// # Errors
/// The error of the work, or of polling.
pub fn run(work: &mut impl Work) -> io::Result<()> {
    // Without precise timers the sleeps are less exact.
    let _ = sched::precise_timers();
    let mut ready = Vec::new();
    loop {
        let now_ns = sched::monotonic_ns();
        ready = match work.turn(now_ns, &ready)? {
            Next::End => return Ok(()),
            Next::Now => Vec::new(),
            Next::At(at_ns) => {
                let mut fds = Vec::new();
                work.fds(&mut fds);
                poll::wait(&fds, Some(at_ns.min(now_ns + LONGEST_SLEEP_NS)))?
            }
        };
    }
}

/// Gives the calling thread real-time priority if permitted. Latencies are slightly worse without
/// it.
pub fn raise_priority() {
    let _ = sched::realtime_priority(PRIORITY);
}
