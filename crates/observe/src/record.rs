//! What kernel queues did over time, as a sampled trace.

use std::io::{self, Write};

use taut_linux::observe::{Sample, Sysfs, excess_bytes};
use taut_linux::sched::monotonic_ns;
use taut_measure::trace::{Event, Head, Recorder};

use crate::row::QueueRow;
use crate::sampler::Sampler;

/// Maximum number of changes of all queues together.
const MAX_CHANGES: usize = 16_000_000;

/// The changes of one queue.
#[derive(Debug)]
pub struct QueueChanges {
    /// Device and number of the queue.
    pub name: String,
    /// Time of each change, and the new values.
    changes: Vec<(u64, Sample)>,
    /// Samples with more completed than queued, which are recorded as 0 in flight.
    pub negative_samples: u64,
    /// Why the queue could not be read to the end.
    pub error: Option<io::Error>,
}

impl QueueChanges {
    /// Adds a sample. Returns `true` if it differs from the one before.
    fn add(&mut self, at_ns: u64, mut sample: Sample) -> bool {
        if excess_bytes(sample.in_flight).is_some() {
            (sample.in_flight, self.negative_samples) = (0, self.negative_samples + 1);
        }
        let is_new = self.changes.last().is_none_or(|&(_, last)| last != sample);
        if is_new {
            self.changes.push((at_ns, sample));
        }
        is_new
    }

    fn write(&self, recorder: &mut Recorder<'_>) {
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

/// What the queues did.
#[derive(Debug)]
pub struct Recording {
    /// The queues, in the order of the rows.
    pub queues: Vec<QueueChanges>,
    /// Times that all queues were read.
    pub rounds: u64,
    length_ns: u64,
}

impl Recording {
    /// Returns the rate of samples that was reached.
    pub fn rate_hz(&self) -> u64 {
        let rounds = u128::from(self.rounds) * 1_000_000_000;
        (rounds / u128::from(self.length_ns.max(1))) as u64
    }

    /// Writes a trace, and returns its length in bytes.
    ///
    /// # Errors
    /// The first error of `out`.
    pub fn write(&self, out: &mut dyn Write, head: &Head) -> io::Result<u64> {
        let mut recorder = Recorder::new(out, head);
        for queue in &self.queues {
            queue.write(&mut recorder);
        }
        recorder.finish()
    }
}

/// Samples the queues for `length_ns`, until `stop` returns `true`, or until no queue is left. At
/// most 16 million changes are kept.
///
/// # Errors
/// If a queue cannot be opened.
pub fn record(
    sysfs: &Sysfs,
    rows: &[&QueueRow],
    interval_ns: u64,
    length_ns: u64,
    stop: impl Fn() -> bool,
) -> io::Result<Recording> {
    let mut sampler = Sampler::new(interval_ns);
    sampler.set_queues(sysfs, rows.iter().copied());
    if let Some(error) = (0..rows.len()).find_map(|index| sampler.take_error(index)) {
        return Err(error);
    }
    let mut queues: Vec<QueueChanges> = rows
        .iter()
        .map(|row| QueueChanges {
            name: format!("{} queue {}", row.device, row.queue),
            changes: Vec::new(),
            negative_samples: 0,
            error: None,
        })
        .collect();
    let start_ns = monotonic_ns();
    let end_ns = start_ns.saturating_add(length_ns);
    let mut changes = 0;
    loop {
        sampler.round(|index, at_ns, sample| {
            changes += usize::from(queues[index].add(at_ns - start_ns, sample));
        });
        let is_over = !sampler.has_open_queues() || changes >= MAX_CHANGES;
        if is_over || stop() || !sampler.wait_until(end_ns) {
            break;
        }
    }
    for (index, queue) in queues.iter_mut().enumerate() {
        queue.error = sampler.take_error(index);
    }
    Ok(Recording {
        queues,
        rounds: sampler.rounds(),
        length_ns: monotonic_ns() - start_ns,
    })
}
