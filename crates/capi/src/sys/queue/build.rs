//! A queue, built from arguments of C.

use taut_path::{AnyLimit, AnyQdisc, QueueConfig};

use super::frame_sink::{FrameSink, Sink};
use super::options::QueueOptions;
use super::ring::{Driver, Ring};
use crate::sys::status::Status;

/// The state that a call uses.
pub(super) struct Queue {
    pub(super) queue: taut_path::Queue<Driver>,
    pub(super) sink: FrameSink,
    /// The last error number of the driver.
    pub(super) driver_error: i32,
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
        .map_err(|_| "qdisc is null or not UTF-8")?
        .parse::<AnyQdisc>()
        .map_err(|why| format!("qdisc: {why}"))?;
    let limit = limit
        .map_err(|_| "limit is null or not UTF-8")?
        .parse::<AnyLimit>()
        .map_err(|why| format!("limit: {why}"))?;
    if !(1..=MAX_FRAMES).contains(&frames) {
        return Err(format!("frames is {frames}; allowed: 1 to {MAX_FRAMES}"));
    }
    let is_zero =
        ring.is_none_or(|it| it.reserved == 0) && options.is_none_or(|it| it.reserved == 0);
    if !is_zero {
        return Err("ring and options: `reserved` must be 0".to_owned());
    }
    let driver = ring.and_then(|ring| Driver::new(&ring, frames));
    let driver =
        driver.ok_or("ring: null, or a null callback; only completions_valid can be null")?;
    let sink = sink.and_then(|sink| FrameSink::new(&sink, frames));
    let sink = sink.ok_or("sink: null, or a null callback")?;
    let queue = taut_path::Queue::builder_for(driver)
        .qdisc(qdisc)
        .limit(limit)
        .config(options.map_or_else(QueueConfig::default, QueueOptions::into))
        .build(now_ns)
        .map_err(|why| why.to_string())?;
    Ok(Queue {
        queue,
        sink,
        driver_error: 0,
    })
}
