//! A whole queue: a discipline and a limit, by their names, over a ring of callbacks.

use core::ffi::c_char;
use core::ptr::null_mut;

use taut_dql::MAX_LIMIT;
use taut_path::queue::CompleteError;
use taut_path::tunables::Tunable;
use taut_path::{InRing, Stop};

use super::build::{Queue, make};
use super::frame_sink::{Sink, TAUT_OUTCOME_IN_RING};
use super::options::QueueOptions;
use super::results::{Completed, QueueStats, Stopped};
use super::ring::{Packet, Ring};
use super::table::{Handle, enter, insert, remove};
use super::text::{ErrorText, read};
use crate::sys::placed::{answer, argument, write_result};
use crate::sys::status::Status;

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
    let specs = unsafe { (read(qdisc), read(limit)) };
    // SAFETY: null, or valid as the caller guarantees.
    let (ring, sink, options) = unsafe { (argument(ring), argument(sink), argument(options)) };
    let made = make(specs, (ring, sink), frames, options, now_ns)
        .and_then(|queue| insert(queue).ok_or_else(|| "too many queues".to_owned()));
    made.unwrap_or_else(|why| {
        error_text.why(Status::Other, why);
        null_mut()
    })
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
    let enqueue = |it: &mut Queue| {
        it.sink.accept(packet.frame)?;
        it.queue.enqueue(packet.into_packet(), now_ns, &mut it.sink);
        Ok(())
    };
    enter(queue, enqueue).unwrap_or_else(Err).into()
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
    let run = |it: &mut Queue| match it.queue.run(now_ns, &mut it.sink) {
        Stop::Idle => (Stopped::Idle, 0),
        Stop::Limit => (Stopped::Limit, 0),
        Stop::RingFull => (Stopped::RingFull, 0),
        Stop::NotReady(at_ns) => (Stopped::NotReady, at_ns),
        Stop::Failed(error) => {
            it.driver_error = error;
            (Stopped::Failed, 0)
        }
        _ => (Stopped::Invalid, 0),
    };
    let (stopped, at_ns) = enter(queue, run).unwrap_or((Stopped::Invalid, 0));
    // SAFETY: guaranteed by the caller.
    unsafe { answer(again_ns, at_ns) };
    stopped
}

/// Reaps completions. Call it when the device interrupts or was polled, and at
/// `taut_queue_next_wakeup_ns`. `completed` can be null. It can return packets even if it fails
/// with `TAUT_STATUS_DRIVER_FAILED` or `TAUT_STATUS_UNKNOWN_COMPLETION`. The next successful call
/// reports them.
///
/// # Safety
/// `queue` was created by `taut_queue_new`; `completed` is null or points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_complete(
    queue: *mut Handle,
    now_ns: u64,
    completed: *mut Completed,
) -> Status {
    let complete = |it: &mut Queue| match it.queue.complete(now_ns, &mut it.sink) {
        Ok(done) => Ok(Completed {
            packets: done.counts.packets,
            bytes: done.counts.bytes,
            stale_packets: done.stale_packets,
            schedule: done.schedule,
            more_pending: done.more_pending,
            stalled: done.stalled.is_some(),
            stalled_ns: done.stalled.map_or(0, |stall| stall.age_ns),
        }),
        Err(CompleteError::Driver(error)) => {
            it.driver_error = error;
            Err(Status::DriverFailed)
        }
        Err(CompleteError::UnknownCompletions { .. }) => Err(Status::UnknownCompletion),
    };
    let done = enter(queue, complete).unwrap_or_else(Err);
    // SAFETY: guaranteed by the caller.
    unsafe { answer(completed, done.unwrap_or_default()) };
    done.map(drop).into()
}

/// Returns when to call `taut_queue_complete` even if the device reports nothing, in ns;
/// 18446744073709551615 for never.
///
/// # Safety
/// `queue` was created by `taut_queue_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_next_wakeup_ns(queue: *mut Handle) -> u64 {
    let at_ns = enter(queue, |it| it.queue.next_wakeup());
    at_ns.ok().flatten().unwrap_or(u64::MAX)
}

/// Discards everything in flight and restarts. Call it after the driver has flushed or rebuilt its
/// ring. The next `reap` returns frames that were in it; they count as stale, and end in the sink.
///
/// # Safety
/// `queue` was created by `taut_queue_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_reset(queue: *mut Handle, now_ns: u64) -> Status {
    enter(queue, |it| it.queue.reset(now_ns)).into()
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
    let (name, value) = unsafe { (read(name), read(value)) };
    let set = || {
        let (name, value) = (name?, value?);
        enter(queue, |it| {
            let setting = Tunable::by_name(name).and_then(|tunable| tunable.parse(value))?;
            it.queue.set(setting)
        })
    };
    match set() {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(why)) => error_text.why(Status::BadSpec, why),
        Err(status) => error_text.status(status),
    }
}

/// Corrects the ledger to the content of the ring, after completions were lost, and restarts the
/// queue; the limit stays. `excess` is null, or receives the units that the ledger had in
/// excess. The queue keeps a frame that it wrote off until `reap` returns it. Its completion is not
/// counted.
///
/// # Safety
/// `queue` was created by `taut_queue_new`, `excess` is null or points to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_repair(
    queue: *mut Handle,
    ring_packets: u32,
    ring_bytes: u32,
    now_ns: u64,
    excess: *mut i64,
) -> Status {
    let in_ring = InRing {
        packets: ring_packets,
        bytes: ring_bytes,
    };
    let repair = |it: &mut Queue| match it.queue.repair_to(in_ring, now_ns) {
        Ok(repair) => Ok(i64::from(repair.was_in_flight) - i64::from(repair.in_flight)),
        Err(_) => Err(Status::TooMuchInFlight),
    };
    let units = enter(queue, repair).unwrap_or_else(Err);
    // SAFETY: guaranteed by the caller.
    units.map(|units| unsafe { answer(excess, units) }).into()
}

/// Reads the state and the counters of the queue.
///
/// # Safety
/// `queue` was created by `taut_queue_new`, `stats` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_read_stats(
    queue: *mut Handle,
    stats: *mut QueueStats,
) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { write_result(stats, || enter(queue, |it| read_stats(it))) }
}

fn read_stats(it: &Queue) -> QueueStats {
    let snapshot = it.queue.snapshot();
    let (sender, completer) = (it.queue.sender_counters(), it.queue.completer_counters());
    let backlog = it.queue.backlog();
    QueueStats {
        limit: snapshot.limit,
        in_flight: snapshot.in_flight,
        backlog_packets: backlog.packets,
        backlog_bytes: backlog.bytes,
        sent_packets: sender.sent_packets,
        sent_bytes: sender.sent_bytes,
        completed_packets: completer.completed_packets,
        dropped_packets: sender.drops.total(),
        marked_packets: it.sink.marked_packets,
        limit_stops: sender.limit_stops,
        ring_stops: sender.ring_stops,
        stalls: completer.stalls,
        early_completions: snapshot.early_completions,
        unlimited: snapshot.limit >= MAX_LIMIT,
    }
}

/// Returns the error number of the last failed callback of the driver; 0 without a failure.
///
/// # Safety
/// `queue` was created by `taut_queue_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_driver_error(queue: *mut Handle) -> i32 {
    enter(queue, |it| it.driver_error).unwrap_or(0)
}

/// Destroys the queue. The sink receives each frame that the queue still has: waiting ones as
/// flushed, and those in the ring as `TAUT_OUTCOME_IN_RING`. `TAUT_STATUS_BAD_HANDLE` if it was
/// freed already, and `TAUT_STATUS_BUSY` from a callback or during a call of another thread, which
/// frees nothing.
///
/// # Safety
/// Any pointer. The functions of the sink can be called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_queue_free(queue: *mut Handle, now_ns: u64) -> Status {
    remove(queue, |it| {
        it.queue.flush(now_ns, &mut it.sink);
        for frame in it.queue.device().frames_in_ring() {
            it.sink.finish(frame, TAUT_OUTCOME_IN_RING);
        }
    })
}
