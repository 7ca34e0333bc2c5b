//! A whole queue: a discipline and a limit, by their names, over a ring of callbacks.

use core::ffi::c_char;
use core::ptr::null_mut;

use taut_path::queue::CompleteError;
use taut_path::tunables::Tunable;
use taut_path::{InRing, Stop};

use super::options::QueueOptions;
use super::placed::{answer, argument};
use super::queue_handle::{Handle, Queue, enter, make};
use super::queue_results::{Completed, QueueFigures, Stopped};
use super::ring::{Packet, Ring, Sink};
use super::status::Status;
use super::words::{ErrorText, read};

/// Creates a queue for frames 0 to `frames` - 1 (at most 2^24). `qdisc` is a discipline in tc's
/// syntax ("fq_codel ecn", "pfifo limit 500"), `limit` a limit by its name (`taut_limit_size`).
/// Returns null on failure; `error` then receives the reason, truncated to `error_bytes` including
/// the zero, and can be null. `options` can be null: then `taut_queue_options_default` applies.
///
/// # Safety
/// `qdisc` and `limit` are strings; `options`, `ring` and `sink` point to the types in their
/// declarations, and the memory and functions to which they refer live until `taut_queue_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_new(
    qdisc: *const c_char,
    limit: *const c_char,
    ring: *const Ring,
    sink: *const Sink,
    frames: u32,
    options: *const QueueOptions,
    now_ns: u64,
    error: *mut c_char,
    error_bytes: usize,
) -> *mut Handle {
    // SAFETY: guaranteed by the caller.
    let error_text = unsafe { ErrorText::new(error, error_bytes) };
    // SAFETY: guaranteed by the caller.
    let words = unsafe { (read(qdisc), read(limit)) };
    // SAFETY: null, or valid as the caller guarantees.
    let (ring, sink, options) = unsafe { (argument(ring), argument(sink), argument(options)) };
    match make(words, (ring, sink), frames, options, now_ns) {
        Ok(queue) => Box::into_raw(Box::new(Handle::new(queue))),
        Err(why) => {
            error_text.why(Status::Other, why);
            null_mut()
        }
    }
}

/// Enqueues a packet, which waits until `taut_queue_run`. The queue owns its frame until the sink
/// receives it.
///
/// # Safety
/// `queue` was created by `taut_queue_new`, `packet` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_enqueue(
    queue: *mut Handle,
    packet: *const Packet,
    now_ns: u64,
) -> Status {
    // SAFETY: null, or valid as the caller guarantees.
    let Some(packet) = (unsafe { argument(packet) }) else {
        return Status::Null;
    };
    if !packet.is_allowed() {
        return Status::BadField;
    }
    let enqueue = |it: &mut Queue| match it.ends.take(packet.frame) {
        None => Status::FrameOutOfRange,
        Some(false) => Status::FrameInUse,
        Some(true) => {
            it.queue.enqueue(packet.into_packet(), now_ns, &mut it.ends);
            Status::Ok
        }
    };
    // SAFETY: guaranteed by the caller.
    unsafe { enter(queue, enqueue) }.unwrap_or_else(|status| status)
}

/// Sends as much as limit and ring have room for. `again_ns` is null, or receives when to run again
/// for `TAUT_STOPPED_NOT_READY`.
///
/// # Safety
/// `queue` was created by `taut_queue_new`; `again_ns` can be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_run(
    queue: *mut Handle,
    now_ns: u64,
    again_ns: *mut u64,
) -> Stopped {
    let run = |it: &mut Queue| match it.queue.run(now_ns, &mut it.ends) {
        Stop::Idle => (Stopped::Idle, 0),
        Stop::Limit => (Stopped::Limit, 0),
        Stop::RingFull => (Stopped::RingFull, 0),
        Stop::NotReady(at_ns) => (Stopped::NotReady, at_ns),
        Stop::Failed(error) => {
            it.failure = error.0;
            (Stopped::Failed, 0)
        }
        _ => (Stopped::Invalid, 0),
    };
    // SAFETY: guaranteed by the caller.
    let (stopped, at_ns) = unsafe { enter(queue, run) }.unwrap_or((Stopped::Invalid, 0));
    // SAFETY: guaranteed by the caller.
    unsafe { answer(again_ns, at_ns) };
    stopped
}

/// Reaps completions. Call it when the device interrupts or was polled, and at
/// `taut_queue_next_wakeup_ns`. `completed` can be null. After `TAUT_STATUS_DRIVER_FAILED` and
/// `TAUT_STATUS_STRAY` packets might have been returned even so: call it again, and it reports them
/// and whether to run.
///
/// # Safety
/// `queue` was created by `taut_queue_new`; `completed` is null or points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_complete(
    queue: *mut Handle,
    now_ns: u64,
    completed: *mut Completed,
) -> Status {
    let complete = |it: &mut Queue| match it.queue.complete(now_ns, &mut it.ends) {
        Ok(done) => (
            Status::Ok,
            Completed {
                packets: done.counts.packets,
                bytes: done.counts.bytes,
                late_packets: done.stale_packets,
                run: done.schedule,
                more: done.more_pending,
                stalled: done.stalled.is_some(),
                stalled_ns: done.stalled.map_or(0, |stall| stall.age_ns),
            },
        ),
        Err(CompleteError::Driver(error)) => {
            it.failure = error.0;
            (Status::DriverFailed, Completed::default())
        }
        Err(CompleteError::UnknownCompletions { .. }) => (Status::Stray, Completed::default()),
    };
    // SAFETY: guaranteed by the caller.
    let entered = unsafe { enter(queue, complete) };
    let (status, done) = entered.unwrap_or_else(|status| (status, Completed::default()));
    // SAFETY: guaranteed by the caller.
    unsafe { answer(completed, done) };
    status
}

/// Returns when to call `taut_queue_complete` even if the device reports nothing, in ns;
/// 18446744073709551615 for never.
///
/// # Safety
/// `queue` was created by `taut_queue_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_next_wakeup_ns(queue: *mut Handle) -> u64 {
    // SAFETY: guaranteed by the caller.
    let at_ns = unsafe { enter(queue, |it| it.queue.next_wakeup()) };
    at_ns.ok().flatten().unwrap_or(u64::MAX)
}

/// Discards everything in flight and restarts. Call it after the driver has flushed or rebuilt its
/// ring. The next `reap` returns frames that were in it; they count as stale, and end in the sink.
///
/// # Safety
/// `queue` was created by `taut_queue_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_reset(queue: *mut Handle, now_ns: u64) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { enter(queue, |it| it.queue.reset(now_ns)) }.into()
}

/// Changes a setting, by the name and in the form of sysfs: "limit_max" "40000", "hold_time" "500"
/// (ms), "stall_thrs" "1000" (ms). `error` receives the allowed values, and can be null.
///
/// # Safety
/// `queue` was created by `taut_queue_new`, the texts are strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_set(
    queue: *mut Handle,
    name: *const c_char,
    value: *const c_char,
    error: *mut c_char,
    error_bytes: usize,
) -> Status {
    // SAFETY: guaranteed by the caller.
    let error_text = unsafe { ErrorText::new(error, error_bytes) };
    // SAFETY: guaranteed by the caller.
    let words = unsafe { read(name) }.and_then(|name| Ok((name, unsafe { read(value) }?)));
    let (name, value) = match words {
        Ok(words) => words,
        Err(status) => return error_text.status(status),
    };
    let set = |it: &mut Queue| {
        let setting = Tunable::by_name(name).and_then(|knob| knob.parse(value))?;
        it.queue.set(setting)
    };
    // SAFETY: guaranteed by the caller.
    match unsafe { enter(queue, set) } {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(why)) => error_text.why(Status::BadWords, why),
        Err(status) => error_text.status(status),
    }
}

/// Reads a setting or a metric by its name in sysfs: those of `taut_queue_set`, and "inflight",
/// "stall_cnt", "stall_max" (ms). `error` receives the existing names, and can be null.
///
/// # Safety
/// `queue` was created by `taut_queue_new`, `name` is a string, `value` points to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_get(
    queue: *mut Handle,
    name: *const c_char,
    value: *mut u64,
    error: *mut c_char,
    error_bytes: usize,
) -> Status {
    // SAFETY: guaranteed by the caller.
    let error_text = unsafe { ErrorText::new(error, error_bytes) };
    if value.is_null() {
        return error_text.status(Status::Null);
    }
    // SAFETY: guaranteed by the caller.
    let knob = match unsafe { read(name) }.map(Tunable::by_name) {
        Ok(Ok(knob)) => knob,
        Ok(Err(why)) => return error_text.why(Status::BadWords, why),
        Err(status) => return error_text.status(status),
    };
    // SAFETY: guaranteed by the caller.
    let found = unsafe { enter(queue, |it| it.queue.read(knob)) };
    // SAFETY: guaranteed by the caller.
    found.map(|found| unsafe { answer(value, found) }).into()
}

/// Sets the interval at which completions are reported to the limit, in ns; 0 reports each batch.
///
/// # Safety
/// `queue` was created by `taut_queue_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_set_coalesce_ns(
    queue: *mut Handle,
    coalesce_ns: u64,
) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { enter(queue, |it| it.queue.set_coalesce_ns(coalesce_ns)) }.into()
}

/// Corrects the ledger to the content of the ring, after completions were lost, and restarts the
/// queue; the limit stays. `too_much` is null, or receives by how many units the ledger was too
/// high. A frame that was considered lost belongs to the queue until `reap` returns it, and does
/// not count then.
///
/// # Safety
/// `queue` was created by `taut_queue_new`, `too_much` is null or points to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_repair(
    queue: *mut Handle,
    ring_packets: u32,
    ring_bytes: u32,
    now_ns: u64,
    too_much: *mut i64,
) -> Status {
    let in_ring = InRing {
        packets: ring_packets,
        bytes: ring_bytes,
    };
    // SAFETY: guaranteed by the caller.
    match unsafe { enter(queue, |it| it.queue.repair_to(in_ring, now_ns)) } {
        Ok(Ok(repair)) => {
            let units = i64::from(repair.was_in_flight) - i64::from(repair.in_flight);
            // SAFETY: guaranteed by the caller.
            unsafe { answer(too_much, units) };
            Status::Ok
        }
        Ok(Err(_)) => Status::TooMuchInFlight,
        Err(status) => status,
    }
}

/// Reads the state and the counters of the queue.
///
/// # Safety
/// `queue` was created by `taut_queue_new`, `figures` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_read(queue: *mut Handle, figures: *mut QueueFigures) -> Status {
    if figures.is_null() {
        return Status::Null;
    }
    // SAFETY: guaranteed by the caller.
    match unsafe { enter(queue, |it| read_figures(it)) } {
        Ok(found) => {
            // SAFETY: guaranteed by the caller.
            unsafe { answer(figures, found) };
            Status::Ok
        }
        Err(status) => status,
    }
}

fn read_figures(it: &Queue) -> QueueFigures {
    let snapshot = it.queue.snapshot();
    let (sender, completer) = (it.queue.sender_counters(), it.queue.completer_counters());
    let waiting = it.queue.backlog();
    QueueFigures {
        limit: snapshot.limit,
        in_flight: snapshot.in_flight,
        waiting_packets: waiting.packets,
        waiting_bytes: waiting.bytes,
        sent_packets: sender.sent_packets,
        sent_bytes: sender.sent_bytes,
        completed_packets: completer.completed_packets,
        dropped_packets: sender.drops.total(),
        marked_packets: it.ends.marked_packets,
        limit_stops: sender.limit_stops,
        ring_stops: sender.ring_stops,
        stalls: completer.stalls,
        completions_are_false: snapshot.early_completions,
    }
}

/// Returns the error number of the last failed callback of the driver; 0 without a failure.
///
/// # Safety
/// `queue` was created by `taut_queue_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_failure(queue: *mut Handle) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe { enter(queue, |it| it.failure) }.unwrap_or(0)
}

/// Destroys the queue: waiting packets end in the sink as flushed. Returns the number of frames
/// still in the ring, which belong to the driver from then on. Null has no effect. A call from a
/// callback frees nothing and returns 4294967295.
///
/// # Safety
/// `queue` is null, or was created by `taut_queue_new` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_free(queue: *mut Handle, now_ns: u64) -> u32 {
    let flush = |it: &mut Queue| {
        it.queue.flush(now_ns, &mut it.ends);
        it.queue.device().packets_in_ring()
    };
    // SAFETY: guaranteed by the caller.
    let in_ring = match unsafe { enter(queue, flush) } {
        Ok(in_ring) => in_ring,
        Err(Status::Null) => return 0,
        Err(_) => return u32::MAX,
    };
    // SAFETY: created by `Box::into_raw`, and no call is in it.
    drop(unsafe { Box::from_raw(queue) });
    in_ring
}
