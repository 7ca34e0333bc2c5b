//! Looking at many queues for a moment.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::Duration;

use taut_linux::observe::{QueueSampler, Sample, Sysfs};
use taut_linux::sched::{monotonic_ns, precise_timers};

use crate::observe::gather::Found;
use crate::observe::row::Row;

/// Between two looks at a queue, at least.
const STEP_NS: u64 = 1_000_000;
/// No more looks at a queue.
const SAMPLES: u64 = 4_000;
/// What a look at one queue costs is 1 to 2 us: with this much time for each, a tenth of a core.
const QUEUE_NS: u64 = 20_000;

/// How long and how often.
#[derive(Debug, Clone, Copy)]
pub struct Length {
    pub length_ns: u64,
    pub step_ns: u64,
}

impl Length {
    pub fn new(length_ns: u64, queues: usize) -> Self {
        let step_ns = STEP_NS
            .max(length_ns / SAMPLES)
            .max(queues as u64 * QUEUE_NS);
        Self { length_ns, step_ns }
    }
}

/// The samples of each queue.
#[derive(Debug, Default)]
pub struct Watched(HashMap<(String, u32), Vec<Sample>>);

impl Watched {
    /// The samples of a queue: none for one that could not be opened, fewer for one that vanished.
    pub fn take(&mut self, row: &Row) -> Vec<Sample> {
        self.0
            .remove(&(row.device.clone(), row.queue))
            .unwrap_or_default()
    }
}

/// Looks at the queues of `found` for as long as `length` says.
pub fn watch(sysfs: &Sysfs, found: &Found, length: &Length) -> Watched {
    // Late is not wrong: the time of a sample is not judged.
    let _ = precise_timers();
    let rows = found.devices.iter().flat_map(|device| &device.rows);
    let open = |row: &Row| {
        let sampler = QueueSampler::open(sysfs, &row.device, row.queue).ok()?;
        Some(((row.device.clone(), row.queue), sampler, Vec::new()))
    };
    let mut queues: Vec<_> = rows.filter_map(open).collect();
    let start_ns = monotonic_ns();
    let end_ns = start_ns + length.length_ns;
    let mut next_ns = start_ns;
    loop {
        for (_, sampler, samples) in &mut queues {
            samples.extend(sampler.sample().ok());
        }
        let now_ns = monotonic_ns();
        // Where it is late it goes on from now, and does not hurry.
        next_ns = (next_ns + length.step_ns).max(now_ns);
        if next_ns >= end_ns {
            sleep(Duration::from_nanos(end_ns.saturating_sub(now_ns)));
            break;
        }
        sleep(Duration::from_nanos(next_ns - now_ns));
    }
    Watched(
        queues
            .into_iter()
            .map(|(key, _, samples)| (key, samples))
            .collect(),
    )
}
