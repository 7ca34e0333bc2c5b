//! The loop that reads queues at a fixed interval.

use std::collections::HashMap;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use taut_linux::observe::{QueueSampler, Sample, Sysfs};
use taut_linux::sched::{monotonic_ns, precise_timers};

use crate::row::{QueueKey, QueueRow};

/// Reads limit and bytes in flight of a list of queues, all of them in each round.
///
/// A late round delays those after it: no round is made up for.
#[derive(Debug)]
pub struct Sampler {
    queues: Vec<OpenQueue>,
    interval_ns: u64,
    next_ns: u64,
    rounds: u64,
}

#[derive(Debug)]
struct OpenQueue {
    key: QueueKey,
    /// `None` for the queue of a path, which has no files, and after an error.
    files: Option<QueueSampler>,
}

impl Sampler {
    /// Creates a sampler without queues; its first round is due at once. The timers of the calling
    /// thread become precise, so it must be the thread that samples.
    pub fn new(interval_ns: u64) -> Self {
        // Less precise timers only make fewer samples.
        let _ = precise_timers();
        Self {
            queues: Vec::new(),
            interval_ns,
            next_ns: monotonic_ns(),
            rounds: 0,
        }
    }

    /// Replaces the list of queues. Those that were open stay open. Those that failed are opened
    /// again, because a device can be removed and return.
    pub fn set_queues<'r>(&mut self, sysfs: &Sysfs, rows: impl IntoIterator<Item = &'r QueueRow>) {
        let mut before: HashMap<QueueKey, OpenQueue> = self
            .queues
            .drain(..)
            .filter(|it| it.files.is_some())
            .map(|it| (it.key.clone(), it))
            .collect();
        let open = |row: &QueueRow| {
            let key = row.key();
            before
                .remove(&key)
                .unwrap_or_else(|| OpenQueue::new(sysfs, key))
        };
        self.queues = rows.into_iter().map(open).collect();
    }

    /// Reads every open queue once, and calls `on_sample` with its index in the list and with the
    /// time of the round.
    pub fn round(&mut self, mut on_sample: impl FnMut(usize, u64, Sample)) {
        let now_ns = monotonic_ns();
        for (index, queue) in self.queues.iter_mut().enumerate() {
            if let Some(sample) = queue.read() {
                on_sample(index, now_ns, sample);
            }
        }
        self.rounds += 1;
        self.next_ns = (self.next_ns + self.interval_ns).max(now_ns);
    }

    /// Sleeps until the next round is due. Returns `false` at `end_ns`, if that is sooner.
    pub fn wait_until(&self, end_ns: u64) -> bool {
        let until_ns = self.next_ns.min(end_ns);
        sleep(Duration::from_nanos(
            until_ns.saturating_sub(monotonic_ns()),
        ));
        self.next_ns < end_ns
    }

    /// Returns the number of rounds so far.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }
}

impl OpenQueue {
    fn new(sysfs: &Sysfs, key: QueueKey) -> Self {
        let files = match key.process {
            None => QueueSampler::open(sysfs, &key.device, key.queue).ok(),
            Some(_) => None,
        };
        Self { key, files }
    }

    fn read(&mut self) -> Option<Sample> {
        match self.files.as_ref()?.sample() {
            Ok(sample) => Some(sample),
            // Part of a number, where the file is being written: the next round reads it all.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
            Err(_) => {
                self.files = None;
                None
            }
        }
    }
}
