//! Sampling many queues for a moment.

use taut_linux::observe::{Sample, Sysfs};
use taut_linux::sched::monotonic_ns;

use crate::gather::Inventory;
use crate::sampler::Sampler;

/// Shortest time between two samples of a queue.
const MIN_INTERVAL_NS: u64 = 1_000_000;
/// Maximum number of samples of a queue.
const MAX_SAMPLES: u64 = 4_000;
/// A sample of one queue takes 1 to 2 us: with this interval for each, sampling uses a tenth of a
/// core.
const INTERVAL_PER_QUEUE_NS: u64 = 20_000;

/// Samples the kernel's queues of `inventory` for `length_ns`. Returns the samples of each, in the
/// order of its rows: none if the queue could not be opened, fewer if it was removed.
pub fn watch(sysfs: &Sysfs, inventory: &Inventory, length_ns: u64) -> Vec<Vec<Sample>> {
    let queues = inventory.rows().count();
    let interval_ns = MIN_INTERVAL_NS
        .max(length_ns / MAX_SAMPLES)
        .max(queues as u64 * INTERVAL_PER_QUEUE_NS);
    let mut sampler = Sampler::new(interval_ns);
    sampler.set_queues(sysfs, inventory.rows());
    let end_ns = monotonic_ns() + length_ns;
    let mut samples = vec![Vec::new(); queues];
    loop {
        sampler.round(|index, _, sample| samples[index].push(sample));
        if !sampler.wait_until(end_ns) {
            return samples;
        }
    }
}
