//! The queue behind a pointer of C.

use taut_path::{AnyLimit, AnyQdisc, QueueConfig};

use super::options::QueueOptions;
use super::ring::{Driver, Ends, Ring, Sink};
use super::status::Status;

/// The state that a call uses.
pub(super) struct Queue {
    pub(super) queue: taut_path::Queue<Driver>,
    pub(super) ends: Ends,
    /// The last error number of the driver.
    pub(super) failure: i32,
}

/// A transmit queue on one thread, or under one lock. Created by `taut_queue_new`, and freed by
/// `taut_queue_free`.
pub struct Handle {
    // Separate from the queue, so that a call from a callback gets an error instead of a second
    // mutable borrow.
    is_busy: bool,
    queue: Queue,
}

impl Handle {
    pub(super) fn new(queue: Queue) -> Self {
        Self {
            is_busy: false,
            queue,
        }
    }
}

/// More frames than any ring and discipline can hold, in 400 MB.
const MAX_FRAMES: u32 = 1 << 24;

/// Builds a queue from the arguments of `taut_queue_new`.
pub(super) fn make(
    (qdisc, limit): (Result<&str, Status>, Result<&str, Status>),
    (ring, sink): (Option<Ring>, Option<Sink>),
    frames: u32,
    options: Option<QueueOptions>,
    now_ns: u64,
) -> Result<Queue, String> {
    let qdisc = qdisc
        .map_err(|_| "qdisc is null or no UTF-8")?
        .parse::<AnyQdisc>()
        .map_err(|why| format!("qdisc: {why}"))?;
    let limit = limit
        .map_err(|_| "limit is null or no UTF-8")?
        .parse::<AnyLimit>()
        .map_err(|why| format!("limit: {why}"))?;
    if !(1..=MAX_FRAMES).contains(&frames) {
        return Err(format!("{frames} frames: 1 to {MAX_FRAMES} are allowed"));
    }
    let is_zero =
        ring.is_none_or(|it| it.reserved == 0) && options.is_none_or(|it| it.reserved == 0);
    if !is_zero {
        return Err("ring and options: `reserved` must be 0".to_owned());
    }
    let driver = ring.and_then(|ring| Driver::new(&ring, frames));
    let driver =
        driver.ok_or("ring: it and each callback but completions_are_true must be there")?;
    let ends = sink.and_then(|sink| Ends::new(&sink, frames));
    let ends = ends.ok_or("sink: it and its callback must be there")?;
    let queue = taut_path::Queue::builder_for(driver)
        .qdisc(qdisc)
        .limit(limit)
        .config(options.map_or_else(QueueConfig::default, QueueOptions::into))
        .build(now_ns)
        .map_err(|why| why.to_string())?;
    Ok(Queue {
        queue,
        ends,
        failure: 0,
    })
}

/// Marks the queue as busy for one call, and runs `work` with it.
///
/// # Safety
/// `handle` is null or was created by `taut_queue_new` and not freed.
pub(super) unsafe fn enter<T>(
    handle: *mut Handle,
    work: impl FnOnce(&mut Queue) -> T,
) -> Result<T, Status> {
    if handle.is_null() {
        return Err(Status::Null);
    }
    // SAFETY: not null, and only this flag is accessed: a running call borrows the queue, not the
    // flag.
    let is_busy = unsafe { &raw mut (*handle).is_busy };
    // SAFETY: as above.
    if unsafe { is_busy.replace(true) } {
        return Err(Status::Busy);
    }
    // SAFETY: no other call is in it, as the flag shows, and the caller has one thread or one lock.
    let done = work(unsafe { &mut (*handle).queue });
    // SAFETY: as above.
    unsafe { is_busy.write(false) };
    Ok(done)
}
