//! The loop under everything live: serve what is due, sleep until something is ready.

use std::io;
use std::os::fd::BorrowedFd;

use taut_linux::poll::{self, Ready};
use taut_linux::sched;

/// The longest sleep, in ns: how late the end of a run may be noticed.
pub(crate) const LONGEST_SLEEP_NS: u64 = 20_000_000;
/// Real-time priority of a thread that moves packets: just above ordinary work, so that the load that
/// it carries does not delay it.
const PRIORITY: u8 = 1;

/// What the loop does after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Begin the next turn without a look at the descriptors.
    Now,
    /// Sleep until a descriptor is ready, and until this time at most, in ns. A time that has passed
    /// only looks at the descriptors.
    At(u64),
    /// Return.
    End,
}

impl Next {
    /// The earlier of both.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        match (self, other) {
            (Self::End, next) | (next, Self::End) => next,
            (Self::Now, _) | (_, Self::Now) => Self::Now,
            (Self::At(one), Self::At(other)) => Self::At(one.min(other)),
        }
    }
}

/// What [`run`] serves.
pub trait Work {
    /// Adds the descriptors to wait for.
    fn fds<'a>(&'a self, fds: &mut Vec<BorrowedFd<'a>>);

    /// Does what is due at `now_ns`. `ready` tells which of the descriptors are ready, by position.
    ///
    /// # Errors
    /// If the work cannot go on.
    fn turn(&mut self, now_ns: u64, ready: Ready) -> io::Result<Next>;
}

/// Serves `work` until it ends.
///
/// # Errors
/// What a turn fails with, or polling.
pub fn run(work: &mut impl Work) -> io::Result<()> {
    // Without precise timers the sleeps are less exact.
    let _ = sched::precise_timers();
    let mut ready = Ready::default();
    loop {
        let now_ns = sched::monotonic_ns();
        ready = match work.turn(now_ns, ready)? {
            Next::End => return Ok(()),
            Next::Now => Ready::default(),
            Next::At(at_ns) => {
                let mut fds = Vec::new();
                work.fds(&mut fds);
                poll::wait(&fds, Some(at_ns.min(now_ns + LONGEST_SLEEP_NS)))?
            }
        };
    }
}

/// Gives the calling thread real-time priority, if that is allowed: latencies are a little worse without.
pub fn raise_priority() {
    let _ = sched::realtime_priority(PRIORITY);
}
