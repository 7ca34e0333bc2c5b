//! What every simulated queue has in common: its settings, and the report when it goes wrong.

use std::convert::Infallible;
use std::fmt;
use std::task::Waker;

use taut_path::queue::CompleteError;
use taut_path::{Completed, LateSegmentation, QueueConfig, Stop};

/// Packets that a first-in first-out holds at most, whatever it is asked for: who fills it further
/// does so for ever.
pub(crate) const MOST_BACKLOG_PACKETS: u32 = 1_000_000;

/// The settings of a queue whose low watermark is `restart_slots`; half of the ring if `None`.
pub(crate) fn queue_config(restart_slots: Option<u32>, waker: Waker) -> QueueConfig {
    QueueConfig {
        restart_slots,
        waker,
        // A simulated device stands still only where it is told to, and a look at it between two
        // interrupts would reap what no interrupt has told of.
        stall_threshold_ns: 0,
        // Figures of whole super-packets are published; who wants pieces says so.
        late_segmentation: LateSegmentation::Off,
        ..QueueConfig::default()
    }
}

/// A queue went wrong, so that nothing after it would mean anything. A bug, of the device or of the
/// discipline: no setting leads here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueFault {
    /// Which queue of the simulation, from 0.
    pub queue: usize,
    /// When, in ns of virtual time.
    pub at_ns: u64,
    /// What.
    pub fault: Fault,
}

/// What a queue can do wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Its device handed back packets that it had never sent.
    Stray {
        /// How many in one round.
        packets: u32,
    },
    /// Its discipline wants to be asked again at a time, which no simulated host does.
    NotReady {
        /// When, in ns.
        ready_ns: u64,
    },
}

impl QueueFault {
    /// A round of completions of queue `queue`, or what went wrong in it.
    pub(crate) fn of_round(
        round: Result<Completed, CompleteError<Infallible>>,
        queue: usize,
        at_ns: u64,
    ) -> Result<Completed, Self> {
        round.map_err(|error| match error {
            CompleteError::Driver(never) => match never {},
            CompleteError::UnknownCompletions { packets } => Self {
                queue,
                at_ns,
                fault: Fault::Stray { packets },
            },
        })
    }

    /// Whether a run of queue `queue` sent all that waited; if not, a round of completions will say
    /// when to run it again.
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

impl fmt::Display for QueueFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "queue {} at {} ns: ", self.queue, self.at_ns)?;
        match self.fault {
            Fault::Stray { packets } => {
                let error = CompleteError::<Infallible>::UnknownCompletions { packets };
                error.fmt(f)
            }
            Fault::NotReady { ready_ns } => write!(
                f,
                "the discipline holds packets back until {ready_ns} ns; no simulated host has a \
                 timer for that"
            ),
        }
    }
}

impl std::error::Error for QueueFault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_which_queue_when_and_what() {
        let round = Err(CompleteError::UnknownCompletions { packets: 2 });
        let fault = QueueFault::of_round(round, 3, 17).unwrap_err();
        let told = fault.to_string();
        assert!(told.starts_with("queue 3 at 17 ns: packets handed back by the driver"));
        let fault = QueueFault::of_run(Stop::NotReady(99), 0, 5).unwrap_err();
        let told = fault.to_string();
        assert!(told.starts_with("queue 0 at 5 ns: ") && told.contains("until 99 ns"));
    }

    #[test]
    fn a_discipline_holds_as_much_as_is_said_here() {
        use taut_path::{Frame, Packet, Qdisc, qdisc::Fifo};
        let mut discipline = Fifo::new(u32::MAX);
        let mut sink = crate::sink::Sink::default();
        for frame in 0..MOST_BACKLOG_PACKETS + 1 {
            discipline.enqueue(Packet::new(Frame::new(frame), 1), 0, &mut sink);
        }
        assert_eq!(discipline.backlog().packets, MOST_BACKLOG_PACKETS.into());
        discipline.drain(&mut |packet| drop(packet.into_frame()));
    }

    #[test]
    fn every_other_stop_is_waited_for() {
        let stops = [Stop::Idle, Stop::Limit, Stop::RingFull];
        let idle = stops.map(|stop| QueueFault::of_run(stop, 0, 0));
        assert_eq!(idle, [Ok(true), Ok(false), Ok(false)]);
    }
}
