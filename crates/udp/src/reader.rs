//! The task that reads notifications while others wait for room.

use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time;

use crate::socket::{LimitedUdp, SharedSocket};

/// Longest sleep without another deadline.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The spawned task. A waiting task could not read for the others: a `select!` can keep its future
/// without polling it.
#[derive(Debug)]
pub(crate) struct Reader(JoinHandle<()>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Reader {
    pub(crate) fn spawn(
        runtime: &Handle,
        limited: &LimitedUdp,
        errors: &Arc<AsyncFd<OwnedFd>>,
    ) -> Self {
        // Weak: the port is free when the last user drops the socket.
        let (limited, errors) = (limited.downgrade(), Arc::clone(errors));
        Self(runtime.spawn(async move { while run(&limited, &errors).await {} }))
    }
}

/// Waits for a notification, a deadline or a new waiting task. Returns `false` if the socket was
/// dropped.
async fn run(limited: &Weak<SharedSocket>, errors: &AsyncFd<OwnedFd>) -> bool {
    let register = |context: &mut Context<'_>| {
        let limited = LimitedUdp::upgrade(limited)?;
        // Before it computes the deadline: a change in between takes the waker.
        limited.lock().turns.reader = Some(context.waker().clone());
        Some(time_left(&limited))
    };
    let Some(left) = poll_fn(|context| Poll::Ready(register(context))).await else {
        return false;
    };
    let mut ready = pin!(time::timeout(left, errors.readable()));
    let ready = poll_fn(|context: &mut Context<'_>| {
        let Some(limited) = LimitedUdp::upgrade(limited) else {
            return Poll::Ready(None);
        };
        let mut state = limited.lock();
        // Its waker is taken to call it: the deadline changed.
        if state.turns.reader.is_none() {
            return Poll::Ready(Some(None));
        }
        state.turns.reader = Some(context.waker().clone());
        let sleeps = state.turns.is_empty();
        drop(state);
        if sleeps {
            return Poll::Pending;
        }
        ready.as_mut().poll(context).map(|it| Some(Some(it)))
    });
    let Some(ready) = ready.await else {
        return false;
    };
    let (Some(ready), Some(limited)) = (ready, LimitedUdp::upgrade(limited)) else {
        return true;
    };
    let done = ready.ok().transpose().and_then(|it| process(&limited, it));
    if let Err(error) = done {
        limited.fail_next(error);
    }
    true
}

/// Returns the time until the next deadline of a socket.
pub(crate) fn time_left(limited: &LimitedUdp) -> Duration {
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
