//! Samples of kernel queues, written as a trace.

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
    /// Adds a sample. Returns `true` if it differs from the previous one.
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

    /// Writes the changes, and the last value once more at `end_ns`.
    fn write(&self, recorder: &mut Recorder<'_>, end_ns: u64) {
        recorder.row(&self.name, "kernel");
        let units = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let mut limit = None;
        // The time until which a queue that failed had its last value is unknown.
        let last = self.changes.last().filter(|_| self.error.is_none());
        let last = last.map(|&(_, sample)| (end_ns, sample));
        for &(at_ns, sample) in self.changes.iter().chain(&last) {
            if limit != Some(sample.limit) {
                recorder.event(at_ns, Event::Limit(units(sample.limit)));
                limit = Some(sample.limit);
            }
            recorder.event(at_ns, Event::InFlight(units(sample.in_flight)));
        }
    }
}

/// The samples of all queues.
#[derive(Debug)]
pub struct Recording {
    /// The queues, in the order of the rows.
    pub queues: Vec<QueueChanges>,
    /// Number of samples of each queue.
    pub samples: u64,
    /// `true` if the recording ended at the maximum number of changes.
    pub is_full: bool,
    /// Length of the recording, in ns.
    pub length_ns: u64,
}

impl Recording {
    /// Returns the rate of samples that was reached.
    pub fn rate_hz(&self) -> u64 {
        let samples = u128::from(self.samples) * 1_000_000_000;
        (samples / u128::from(self.length_ns.max(1))) as u64
    }

    /// Writes a trace, and returns its length in bytes.
    ///
    /// # Errors
    /// The first error of `out`.
    pub fn write(&self, out: &mut dyn Write, head: &Head) -> io::Result<u64> {
        let mut recorder = Recorder::new(out, head);
        for queue in &self.queues {
            queue.write(&mut recorder, self.length_ns);
        }
        recorder.finish()
    }
}

/// Samples the queues for `length_ns`. Ends earlier if `stop` returns `true`, no queue is left, or
/// there are 16 million changes.
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
    record_changes(sysfs, rows, [interval_ns, length_ns], stop, MAX_CHANGES)
}

fn record_changes(
    sysfs: &Sysfs,
    rows: &[&QueueRow],
    [interval_ns, length_ns]: [u64; 2],
    stop: impl Fn() -> bool,
    max_changes: usize,
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
            if changes < max_changes {
                changes += usize::from(queues[index].add(at_ns - start_ns, sample));
            }
        });
        let is_over = !sampler.has_open_queues() || changes >= max_changes;
        if is_over || stop() || !sampler.wait_until(end_ns) {
            break;
        }
    }
    for (index, queue) in queues.iter_mut().enumerate() {
        queue.error = sampler.take_error(index);
    }
    Ok(Recording {
        queues,
        samples: sampler.rounds(),
        is_full: changes >= max_changes,
        length_ns: monotonic_ns() - start_ns,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A limit of 100 bytes with 40 in flight, and a recording of two queues with `max_changes`.
    fn recording(test: &str, max_changes: usize) -> Recording {
        let name = format!("taut-record-{}-{test}", std::process::id());
        let tree = std::env::temp_dir().join(name);
        let limits = tree.join("class/net/eth0/queues/tx-0/byte_queue_limits");
        fs::create_dir_all(&limits).expect("directory");
        for (file, text) in [("limit", "100"), ("inflight", "40")] {
            fs::write(limits.join(file), text).expect("file");
        }
        let row = QueueRow {
            device: "eth0".to_owned(),
            ..QueueRow::default()
        };
        let rows = [&row, &row];
        let times = [1_000_000, 3_000_000];
        let recording = record_changes(&Sysfs::at(&tree), &rows, times, || false, max_changes);
        fs::remove_dir_all(&tree).expect("removed");
        recording.expect("readable")
    }

    #[test]
    fn recording_ends_at_maximum_of_changes() {
        let full = recording("full", 1);
        let changes: Vec<usize> = full.queues.iter().map(|it| it.changes.len()).collect();
        assert_eq!((full.is_full, full.samples, changes), (true, 1, vec![1, 0]));
        assert!(!recording("time", 3).is_full);
    }

    #[test]
    fn trace_ends_with_the_last_value() {
        let recording = recording("end", 9);
        let head = Head {
            scenario: "test".to_owned(),
            seed: 0,
            taut_version: "0".to_owned(),
            sampled_hz: Some(1_000),
        };
        let mut trace = Vec::new();
        recording.write(&mut trace, &head).expect("memory");
        let text = String::from_utf8(trace).expect("text");
        let end = format!("{}\tinflight\t40\n", recording.length_ns);
        assert_eq!(text.matches(&end).count(), 2, "{text}");
        assert!(text.ends_with(&end), "{text}");
    }
}
