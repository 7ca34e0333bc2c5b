//! A sampler on a thread of its own.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use taut_linux::observe::Sample;
use taut_linux::publish;
use taut_linux::sched::monotonic_ns;

use super::rounds::Sampler;
use crate::gather::{Host, Inventory, Missing, Selection, gather};
use crate::row::{QueueKey, QueueRow};

/// Programs publish their metrics at intervals of their own, which are read this often.
const PATHS_INTERVAL_NS: u64 = 100_000_000;

/// Keeps the samples of one queue, whole or reduced.
pub trait Collector: Clone + Send + 'static {
    /// Adds a sample taken at `at_ns`.
    fn add(&mut self, at_ns: u64, sample: Sample);
}

/// A queue and its samples.
#[derive(Debug, Clone)]
pub struct SampledQueue<C> {
    /// The queue, with its limit and its bytes in flight as last read.
    pub row: QueueRow,
    /// Its samples.
    pub samples: C,
}

/// What a [`LiveSampler`] reads, and how often.
#[derive(Debug, Clone, Copy)]
pub struct LiveSettings<C> {
    /// Time between two rounds.
    pub interval_ns: u64,
    /// Time between two searches for devices and programs that came or went.
    pub rescan_ns: u64,
    /// Selects the rows that are sampled.
    pub rows: fn(&Inventory) -> Vec<QueueRow>,
    /// Creates the collector of a new queue.
    pub collector: fn() -> C,
}

/// Samples in the background until it is dropped.
#[derive(Debug)]
pub struct LiveSampler<C> {
    shared: Arc<SharedSamples<C>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct SharedSamples<C> {
    host: Host,
    selection: Selection,
    settings: LiveSettings<C>,
    queues: Mutex<Vec<SampledQueue<C>>>,
    stop: AtomicBool,
}

impl<C: Collector> LiveSampler<C> {
    /// Starts with the queues of `inventory`.
    ///
    /// # Errors
    /// If the thread cannot be created.
    pub fn start(
        host: Host,
        selection: Selection,
        settings: LiveSettings<C>,
        inventory: &Inventory,
    ) -> io::Result<Self> {
        let shared = Arc::new(SharedSamples {
            host,
            selection,
            settings,
            queues: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        shared.update(inventory);
        let builder = thread::Builder::new().name("sampler".to_owned());
        let work = Arc::clone(&shared);
        let thread = builder.spawn(move || work.run())?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Returns `false` if the thread ended, which is an error.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|it| !it.is_finished())
    }

    /// Returns the existing queues, with their samples so far.
    pub fn queues(&self) -> Vec<SampledQueue<C>> {
        self.shared.lock().clone()
    }
}

impl<C> Drop for LiveSampler<C> {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has no consequence here: it only reads.
            let _ = thread.join();
        }
    }
}

impl<C: Collector> SharedSamples<C> {
    // The queues are consistent after every change, so a poisoned lock is harmless.
    fn lock(&self) -> MutexGuard<'_, Vec<SampledQueue<C>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the rows, and keeps the samples of those that remain.
    fn update(&self, inventory: &Inventory) {
        let rows = (self.settings.rows)(inventory);
        let mut queues = self.lock();
        let mut before: HashMap<QueueKey, C> = queues
            .drain(..)
            .map(|it| (it.row.key(), it.samples))
            .collect();
        queues.extend(rows.into_iter().map(|row| SampledQueue {
            samples: (before.remove(&row.key())).unwrap_or_else(self.settings.collector),
            row,
        }));
    }

    fn add(&self, samples: &[(usize, u64, Sample)]) {
        let mut queues = self.lock();
        for &(index, at_ns, sample) in samples {
            if let Some(queue) = queues.get_mut(index) {
                queue.row.limits.limit = Some(sample.limit);
                queue.row.limits.in_flight = Some(sample.in_flight);
                queue.samples.add(at_ns, sample);
            }
        }
    }

    /// Samples until `stop` is set: the work of the thread.
    fn run(&self) {
        let mut sampler = Sampler::new(self.settings.interval_ns);
        self.open(&mut sampler);
        let start_ns = monotonic_ns();
        let (mut rescan_ns, mut paths_ns) = (start_ns + self.settings.rescan_ns, start_ns);
        let mut samples = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let now_ns = monotonic_ns();
            if now_ns >= rescan_ns {
                rescan_ns = now_ns + self.settings.rescan_ns;
                self.rescan(&mut sampler);
            }
            samples.clear();
            sampler.round(|index, at_ns, sample| samples.push((index, at_ns, sample)));
            self.add(&samples);
            if now_ns >= paths_ns {
                paths_ns = now_ns + PATHS_INTERVAL_NS;
                self.read_paths(now_ns);
            }
            sampler.wait_until(u64::MAX);
        }
    }

    fn rescan(&self, sampler: &mut Sampler) {
        // If nothing can be read now, the next scan tries again.
        if let Ok(inventory) = gather(&self.host, &self.selection, Missing::Skip) {
            self.update(&inventory);
            self.open(sampler);
        }
    }

    /// Gives the sampler the same list, so that its indices are those of the shared queues.
    fn open(&self, sampler: &mut Sampler) {
        let rows: Vec<QueueRow> = self.lock().iter().map(|it| it.row.clone()).collect();
        sampler.set_queues(&self.host.sysfs, &rows);
    }

    fn read_paths(&self, now_ns: u64) {
        if self.lock().iter().all(|it| it.row.path.is_none()) {
            return;
        }
        let published = publish::read(&publish::directories()).queues;
        let mut queues = self.lock();
        for queue in published {
            let row = QueueRow::from_published(queue, self.selection.rate_bits_per_s);
            let key = row.key();
            if let Some(queue) = queues.iter_mut().find(|it| it.row.key() == key) {
                queue.samples.add(now_ns, row.sample());
                queue.row = row;
            }
        }
    }
}
