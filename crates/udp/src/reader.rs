//! The task that reads notifications while others wait for room.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};
use tokio::sync::Notify;
use tokio::time;

use crate::socket::{LimitedUdp, SharedSocket};

/// Longest sleep without another deadline.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// Interval of attempts of a task that always reads, after the socket could not be read.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// Reads notifications while tasks wait for room, or always, in a task of its own. A waiting task
/// could not read for the others: a `select!` can keep its future without polling it. `changed` is
/// notified when a task joins the wait queue, or when the deadline might be earlier.
pub(crate) async fn read(
    // Weak: the port is free when the last user drops the socket.
    limited: Weak<SharedSocket>,
    errors: Arc<AsyncFd<OwnedFd>>,
    changed: Arc<Notify>,
) {
    let upgrade = || {
        let shared = limited.upgrade()?;
        Some(LimitedUdp { shared })
    };
    while let Some(limited) = upgrade() {
        let reads = limited.lock().turns.next_run();
        let left = time_left(&limited);
        drop(limited);
        let ready = tokio::select! {
            biased;
            () = changed.notified() => continue,
            ready = time::timeout(left, errors.readable()), if reads => ready,
        };
        let Some(limited) = upgrade() else { return };
        let done = ready.ok().transpose().and_then(|it| process(&limited, it));
        if let Err(error) = done {
            limited.fail_next(error);
            if limited.lock().turns.reads_always {
                drop(limited);
                time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}

/// Returns the time until the next deadline of a socket.
fn time_left(limited: &LimitedUdp) -> Duration {
    match limited.next_wakeup() {
        Some(at_ns) => {
            let left_ns = at_ns.saturating_sub(LimitedUdp::now_ns());
            Duration::from_nanos(left_ns).min(LONGEST_WAIT)
        }
        None => LONGEST_WAIT,
    }
}

/// Processes the notifications of the error queue, or a deadline.
pub(crate) fn process(
    limited: &LimitedUdp,
    ready: Option<AsyncFdReadyGuard<'_, OwnedFd>>,
) -> io::Result<()> {
    let Some(mut ready) = ready else {
        limited.complete()?;
        return Ok(());
    };
    // Clear the flag before reading: an entry in between raises it again.
    ready.clear_ready();
    limited.complete_after(|| true).map(drop)
}
