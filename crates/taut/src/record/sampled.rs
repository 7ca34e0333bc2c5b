//! Samples of queues, as changes.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use taut_linux::observe::{QueueSampler, Sample, Sysfs};
use taut_linux::sched::{monotonic_ns, precise_timers};
use taut_measure::trace::{Event, Recorder};

use super::options::Record;
use crate::interrupt;
use crate::observe::row::Row;

/// Changes of all queues together.
const MOST_CHANGES: usize = 16_000_000;

/// A queue, and what it did.
pub struct Queue {
    pub name: String,
    sampler: QueueSampler,
    /// When it changed, and to what.
    changes: Vec<(u64, Sample)>,
    /// Why it could not be read to the end.
    pub ended: Option<io::Error>,
}

impl Queue {
    pub fn open(sysfs: &Sysfs, row: &Row) -> io::Result<Self> {
        Ok(Self {
            name: format!("{} queue {}", row.device, row.queue),
            sampler: QueueSampler::open(sysfs, &row.device, row.queue)?,
            changes: Vec::new(),
            ended: None,
        })
    }

    /// Whether there was a change.
    fn look(&mut self, at_ns: u64) -> bool {
        if self.ended.is_some() {
            return false;
        }
        match self.sampler.sample() {
            Ok(sample) if self.changes.last().is_none_or(|&(_, last)| last != sample) => {
                self.changes.push((at_ns, sample));
                true
            }
            Ok(_) => false,
            // Half of a number, where a file is being written: the next look has it.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => false,
            Err(error) => {
                self.ended = Some(error);
                false
            }
        }
    }

    pub fn write(&self, recorder: &mut Recorder<'_>) {
        recorder.row(&self.name, "kernel");
        let units = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let mut limit = None;
        for &(at_ns, sample) in &self.changes {
            if limit != Some(sample.limit) {
                recorder.event(at_ns, Event::Limit(units(sample.limit)));
                limit = Some(sample.limit);
            }
            recorder.event(at_ns, Event::InFlight(units(sample.in_flight)));
        }
    }
}

/// How often it was looked.
pub struct Taken {
    pub rounds: u64,
    length_ns: u64,
}

impl Taken {
    pub fn rate_hz(&self) -> u64 {
        let rounds = u128::from(self.rounds) * 1_000_000_000;
        (rounds / u128::from(self.length_ns.max(1))) as u64
    }
}

/// Looks at the queues for as long as `options` say, or until somebody asks it to end.
pub fn take(queues: &mut [Queue], options: &Record) -> Taken {
    // Late is not wrong: each change has the time at which it was seen.
    let _ = precise_timers();
    let step_ns = 1_000_000_000 / u64::from(options.hz);
    let start_ns = monotonic_ns();
    let end_ns = start_ns.saturating_add(options.time);
    let (mut next_ns, mut rounds, mut changes) = (start_ns, 0, 0);
    loop {
        let now_ns = monotonic_ns();
        let at_ns = now_ns - start_ns;
        for queue in &mut *queues {
            changes += usize::from(queue.look(at_ns));
        }
        rounds += 1;
        let over = queues.iter().all(|queue| queue.ended.is_some());
        next_ns = (next_ns + step_ns).max(now_ns);
        if over || next_ns >= end_ns || changes >= MOST_CHANGES || interrupt::noted().is_some() {
            break;
        }
        sleep(Duration::from_nanos(next_ns.saturating_sub(monotonic_ns())));
    }
    Taken {
        rounds,
        length_ns: monotonic_ns() - start_ns,
    }
}
