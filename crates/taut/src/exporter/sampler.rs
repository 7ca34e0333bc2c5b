//! The thread that looks at the queues between two scrapes.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use taut_linux::observe::{QueueSampler, Sysfs};
use taut_linux::sched::{monotonic_ns, precise_timers};

use super::histogram::Histogram;
use crate::observe::gather::{Asked, gather};
use crate::observe::options::Selection;

/// Queues, in all, that are looked at a thousand times a second if they were named.
const FAST_QUEUES: usize = 4;
const FAST_HZ: u64 = 1000;
const SLOW_HZ: u64 = 50;
/// How often to look for devices that came or went.
const RESCAN_NS: u64 = 5_000_000_000;
/// Queues that are sampled: more than any machine has.
const MOST_QUEUES: usize = 4096;

pub type Key = (String, u32);

/// Samples in the background until it is dropped.
pub struct Sampler {
    shared: Arc<Shared>,
    rate_hz: u64,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    histograms: Mutex<BTreeMap<Key, Histogram>>,
    stop: AtomicBool,
    rounds: AtomicU64,
}

impl Sampler {
    /// Starts it, for `queues` queues as there are now.
    pub fn start(sysfs: Sysfs, selection: Selection, queues: usize) -> io::Result<Self> {
        let fast = !selection.devices.is_empty() && queues <= FAST_QUEUES;
        let rate_hz = if fast { FAST_HZ } else { SLOW_HZ };
        let shared = Arc::new(Shared::default());
        let thread = thread::Builder::new().name("sampler".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || sample(&shared, &sysfs, &selection, 1_000_000_000 / rate_hz)
        })?;
        Ok(Self {
            shared,
            rate_hz,
            thread: Some(thread),
        })
    }

    pub fn rate_hz(&self) -> u64 {
        self.rate_hz
    }

    /// Times that all queues were looked at.
    pub fn rounds(&self) -> u64 {
        self.shared.rounds.load(Ordering::Relaxed)
    }

    /// What was seen so far, of the queues that are there.
    pub fn histograms(&self) -> BTreeMap<Key, Histogram> {
        self.shared.lock().clone()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It only looks: there is nothing to tell.
            let _ = thread.join();
        }
    }
}

impl Shared {
    // Each histogram is whole between two additions.
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Key, Histogram>> {
        self.histograms
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn sample(shared: &Shared, sysfs: &Sysfs, selection: &Selection, step_ns: u64) {
    // Late is not wrong, it only makes fewer samples.
    let _ = precise_timers();
    let mut queues = Vec::new();
    let (mut next_ns, mut rescan_ns) = (monotonic_ns(), 0);
    while !shared.stop.load(Ordering::Relaxed) {
        let now_ns = monotonic_ns();
        if now_ns >= rescan_ns {
            queues = open(shared, sysfs, selection);
            rescan_ns = now_ns + RESCAN_NS;
        }
        let mut seen = Vec::with_capacity(queues.len());
        for (key, sampler) in &queues {
            if let Ok(sample) = sampler.sample() {
                seen.push((key, sample.in_flight));
            }
        }
        let mut histograms = shared.lock();
        for (key, in_flight) in seen {
            if let Some(histogram) = histograms.get_mut(key) {
                histogram.add(in_flight);
            }
        }
        drop(histograms);
        shared.rounds.fetch_add(1, Ordering::Relaxed);
        next_ns = (next_ns + step_ns).max(monotonic_ns());
        thread::sleep(Duration::from_nanos(next_ns.saturating_sub(monotonic_ns())));
    }
}

/// Opens what is there now, and forgets what is not.
fn open(shared: &Shared, sysfs: &Sysfs, selection: &Selection) -> Vec<(Key, QueueSampler)> {
    // If nothing can be read now, it is tried again at the next scan.
    let found = gather(sysfs, selection, Asked::WhatIsLeft).unwrap_or_default();
    let queues = found.rows().take(MOST_QUEUES).filter_map(|row| {
        let sampler = QueueSampler::open(sysfs, &row.device, row.queue).ok()?;
        Some(((row.device.clone(), row.queue), sampler))
    });
    let queues: Vec<(Key, QueueSampler)> = queues.collect();
    let mut histograms = shared.lock();
    let before = std::mem::take(&mut *histograms);
    *histograms = queues
        .iter()
        .map(|(key, _)| (key.clone(), before.get(key).copied().unwrap_or_default()))
        .collect();
    drop(histograms);
    queues
}
