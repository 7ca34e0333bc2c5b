//! Settings and faults that all simulated queues share.

use std::convert::Infallible;
use std::task::Waker;

use taut_path::queue::CompleteError;
use taut_path::{Completed, LateSegmentation, QueueConfig, Stop};
use thiserror::Error;

/// Maximum backlog of a FIFO, in packets. It bounds a loop that fills the queue until it is full.
pub(crate) const MAX_BACKLOG_PACKETS: u32 = 1_000_000;

/// Returns the settings of a queue with the low watermark `restart_slots`; half of the ring if
/// `None`.
pub(crate) fn queue_config(restart_slots: Option<u32>, waker: Waker) -> QueueConfig {
    QueueConfig {
        restart_slots,
        waker,
        // A simulated device stalls only where an experiment stops it. A poll between two
        // interrupts would reap completions that no interrupt has reported.
        stall_threshold_ns: 0,
        // Published results are for whole GSO packets; late segmentation is set explicitly.
        late_segmentation: LateSegmentation::Off,
        ..QueueConfig::default()
    }
}

/// The result of a completion batch: a simulated device does not fail.
pub(crate) type BatchResult = Result<Completed, CompleteError<Infallible>>;

/// A fault of a queue, after which its results are meaningless. It is a bug in the device or the
/// discipline: no setting leads here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("queue {queue} at {at_ns} ns: {fault}")]
pub struct QueueFault {
    /// Index of the queue in the simulation, from 0.
    pub queue: usize,
    /// Time of the fault, in ns of virtual time.
    pub at_ns: u64,
    /// The fault.
    pub fault: Fault,
}

/// A fault of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Fault {
    /// The device completed packets that were never submitted.
    #[error("{}", CompleteError::<Infallible>::UnknownCompletions { packets: *.packets })]
    UnknownCompletions {
        /// Their number in one completion batch.
        packets: u32,
    },
    /// The discipline lost packets: they were neither sent nor dropped, and it does not have them.
    #[error("the discipline lost {packets} packets")]
    LostPackets {
        /// Their number.
        packets: u64,
    },
    /// The discipline has no packet ready before a given time, and simulated hosts have no timer
    /// for that.
    #[error(
        "the discipline delays packets until {ready_ns} ns; no simulated host has a timer for that"
    )]
    NotReady {
        /// That time, in ns.
        ready_ns: u64,
    },
}

impl QueueFault {
    /// Returns the result of a completion batch of queue `queue`, or its fault.
    pub(crate) fn of_batch(
        batch: BatchResult,
        queue: usize,
        at_ns: u64,
    ) -> Result<Completed, Self> {
        batch.map_err(|error| match error {
            CompleteError::Driver(never) => match never {},
            CompleteError::UnknownCompletions { packets } => Self {
                queue,
                at_ns,
                fault: Fault::UnknownCompletions { packets },
            },
        })
    }

    /// Returns `true` if a run of queue `queue` sent the whole backlog. Otherwise, a completion
    /// batch reports when to run it again.
    pub(crate) fn of_run(stop: Stop<Infallible>, queue: usize, at_ns: u64) -> Result<bool, Self> {
        match stop {
            Stop::NotReady(ready_ns) => Err(Self {
                queue,
                at_ns,
                fault: Fault::NotReady { ready_ns },
            }),
            stop => Ok(stop == Stop::Idle),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_message_has_queue_time_and_cause() {
        let batch = Err(CompleteError::UnknownCompletions { packets: 2 });
        let fault = QueueFault::of_batch(batch, 3, 17).unwrap_err();
        let error = CompleteError::<Infallible>::UnknownCompletions { packets: 2 };
        assert_eq!(fault.to_string(), format!("queue 3 at 17 ns: {error}"));
        let fault = QueueFault::of_run(Stop::NotReady(99), 0, 5).unwrap_err();
        let message = fault.to_string();
        assert!(message.starts_with("queue 0 at 5 ns: ") && message.contains("until 99 ns"));
    }

    #[test]
    fn fifo_capacity_matches_max_backlog() {
        use taut_path::{Frame, Packet, Qdisc, qdisc::Fifo};
        let mut discipline = Fifo::new(u32::MAX);
        let mut sink = crate::sink::Sink::default();
        for frame in 0..MAX_BACKLOG_PACKETS + 1 {
            discipline.enqueue(Packet::new(Frame::new(frame), 1), 0, &mut sink);
        }
        assert_eq!(discipline.backlog().packets, MAX_BACKLOG_PACKETS.into());
        discipline.drain(&mut |packet| drop(packet.into_frame()));
    }

    #[test]
    fn other_stops_are_not_faults() {
        let stops = [Stop::Idle, Stop::Limit, Stop::RingFull];
        let idle = stops.map(|stop| QueueFault::of_run(stop, 0, 0));
        assert_eq!(idle, [Ok(true), Ok(false), Ok(false)]);
    }
}
