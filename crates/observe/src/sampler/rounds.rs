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
    /// The files are `None` for the queue of a path, which has none, and after an error.
    queues: Vec<(QueueKey, Option<QueueSampler>)>,
    interval_ns: u64,
    next_ns: u64,
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
        }
    }

    /// Replaces the list of queues. Those that were open stay open. Those that failed are opened
    /// again, because a device can be removed and return.
    pub fn set_queues<'r>(&mut self, sysfs: &Sysfs, rows: impl IntoIterator<Item = &'r QueueRow>) {
        let before = self.queues.drain(..);
        let mut before: HashMap<QueueKey, QueueSampler> = before
            .filter_map(|(key, files)| Some((key, files?)))
            .collect();
        let open = |row: &QueueRow| {
            let key = row.key();
            let files = match before.remove(&key) {
                None if row.path.is_none() => {
                    QueueSampler::open(sysfs, &row.device, row.queue).ok()
                }
                files => files,
            };
            (key, files)
        };
        self.queues = rows.into_iter().map(open).collect();
    }

    /// Reads every open queue once, and calls `on_sample` with its index in the list and with the
    /// time of the round.
    pub fn round(&mut self, mut on_sample: impl FnMut(usize, u64, Sample)) {
        let now_ns = monotonic_ns();
        for (index, (_, files)) in self.queues.iter_mut().enumerate() {
            match files.as_ref().map(QueueSampler::sample) {
                None => {}
                Some(Ok(sample)) => on_sample(index, now_ns, sample),
                // A part of a number, where the file is being written: the next round reads all.
                Some(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {}
                Some(Err(_)) => *files = None,
            }
        }
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
}
