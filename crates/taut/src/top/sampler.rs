//! The thread that looks at the queues.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use taut_linux::observe::{QueueSampler, Sample, Sysfs};
use taut_linux::sched::{monotonic_ns, precise_timers};

use super::history::History;
use crate::observe::gather::{Asked, Found, gather};
use crate::observe::options::Selection;
use crate::observe::row::Row;

/// Between two looks at all queues, and at the one in detail.
const STEP_NS: u64 = 20_000_000;
const DETAIL_STEP_NS: u64 = 1_000_000;
/// Between two looks at what devices and programs there are, and at their settings.
const RESCAN_NS: u64 = 1_000_000_000;
/// Programs publish their figures themselves; they are read so often.
const PATHS_NS: u64 = 100_000_000;
/// The columns of curves: 100 ms each for a minute, in detail 50 ms each for half of one.
const BUCKET_NS: u64 = 100_000_000;
const DETAIL_BUCKET_NS: u64 = 50_000_000;
const BUCKETS: usize = 600;

/// Which queue: the device, its number, and the process of a path.
pub type Key = (String, u32, Option<u32>);

pub fn key(row: &Row) -> Key {
    let process = row.path.as_ref().map(|path| path.process);
    (row.device.clone(), row.queue, process)
}

/// A queue and what it did lately.
#[derive(Debug, Clone)]
pub struct Watched {
    pub row: Row,
    pub history: History,
}

/// The queue that is looked at closely.
#[derive(Debug, Clone)]
pub struct Close {
    pub key: Key,
    pub history: History,
}

/// Samples in the background until it is dropped.
pub struct Sampler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    queues: Mutex<Vec<Watched>>,
    close: Mutex<Option<Close>>,
    stop: AtomicBool,
}

impl Sampler {
    /// Starts it with what was `found`.
    pub fn start(sysfs: Sysfs, selection: Selection, found: &Found) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        merge(&mut lock(&shared.queues), found);
        let thread = thread::Builder::new().name("sampler".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || Work::new(&shared, sysfs, selection).run()
        })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Whether it ended by itself, which it must not.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub fn queues(&self) -> Vec<Watched> {
        lock(&self.shared.queues).clone()
    }

    /// From now on `key` is looked at closely; what was is forgotten.
    pub fn watch_closely(&self, key: Option<Key>) {
        let mut close = lock(&self.shared.close);
        if close.as_ref().map(|it| &it.key) != key.as_ref() {
            *close = key.map(|key| Close {
                key,
                history: History::new(DETAIL_BUCKET_NS, BUCKETS),
            });
        }
    }

    pub fn close(&self) -> Option<Close> {
        lock(&self.shared.close).clone()
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

// What is inside is whole after every change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Brings the queues up to date with what was found, and keeps what is known of each.
fn merge(queues: &mut Vec<Watched>, found: &Found) {
    let before = std::mem::take(queues);
    // A driver that never reports has nothing to sort by.
    let works = found.devices.iter().filter(|it| it.why_none.is_none());
    for row in works.flat_map(|it| &it.rows).chain(&found.paths) {
        let known = before.iter().find(|it| key(&it.row) == key(row));
        let history = known.map(|it| it.history.clone());
        queues.push(Watched {
            row: row.clone(),
            history: history.unwrap_or_else(|| History::new(BUCKET_NS, BUCKETS)),
        });
    }
}

/// The thread's own.
struct Work<'a> {
    shared: &'a Shared,
    sysfs: Sysfs,
    selection: Selection,
    samplers: Vec<(Key, QueueSampler)>,
    detail: Option<(Key, QueueSampler)>,
}

impl<'a> Work<'a> {
    fn new(shared: &'a Shared, sysfs: Sysfs, selection: Selection) -> Self {
        let mut work = Self {
            shared,
            sysfs,
            selection,
            samplers: Vec::new(),
            detail: None,
        };
        work.open();
        work
    }

    fn run(&mut self) {
        // Late is not wrong, it only makes fewer samples.
        let _ = precise_timers();
        let start_ns = monotonic_ns();
        let (mut rescan_ns, mut paths_ns) = (start_ns + RESCAN_NS, start_ns);
        let (mut all_ns, mut close_ns) = (start_ns, start_ns);
        while !self.shared.stop.load(Ordering::Relaxed) {
            let now_ns = monotonic_ns();
            if now_ns >= rescan_ns {
                rescan_ns = now_ns + RESCAN_NS;
                self.rescan();
            }
            if now_ns >= all_ns {
                all_ns = (all_ns + STEP_NS).max(now_ns);
                self.look_at_all(now_ns);
            }
            if now_ns >= paths_ns {
                paths_ns = now_ns + PATHS_NS;
                self.look_at_paths(now_ns);
            }
            let mut next_ns = all_ns;
            if self.follow_detail() {
                if now_ns >= close_ns {
                    close_ns = (close_ns + DETAIL_STEP_NS).max(now_ns);
                    self.look_closely(now_ns);
                }
                next_ns = next_ns.min(close_ns);
            }
            thread::sleep(Duration::from_nanos(next_ns.saturating_sub(monotonic_ns())));
        }
    }

    fn rescan(&mut self) {
        // If nothing can be read now, it is tried again next time.
        if let Ok(found) = gather(&self.sysfs, &self.selection, Asked::WhatIsLeft) {
            merge(&mut lock(&self.shared.queues), &found);
            self.open();
        }
    }

    /// Opens what is not open, and closes what is gone.
    fn open(&mut self) {
        let keys: Vec<Key> = lock(&self.shared.queues)
            .iter()
            .map(|it| key(&it.row))
            .collect();
        self.samplers.retain(|(key, _)| keys.contains(key));
        for key in keys {
            let is_open = self.samplers.iter().any(|(open, _)| *open == key);
            if is_open || key.2.is_some() {
                continue;
            }
            if let Ok(sampler) = QueueSampler::open(&self.sysfs, &key.0, key.1) {
                self.samplers.push((key, sampler));
            }
        }
    }

    fn look_at_all(&mut self, now_ns: u64) {
        let samples: Vec<(&Key, Sample)> = self
            .samplers
            .iter()
            .filter_map(|(key, sampler)| Some((key, sampler.sample().ok()?)))
            .collect();
        let mut queues = lock(&self.shared.queues);
        for (sampled, sample) in samples {
            if let Some(queue) = queues.iter_mut().find(|it| key(&it.row) == *sampled) {
                queue.row.limits.limit = Some(sample.limit);
                queue.row.limits.in_flight = Some(sample.in_flight);
                queue.history.add(now_ns, sample);
            }
        }
    }

    fn look_at_paths(&mut self, now_ns: u64) {
        if self.selection.place.is_elsewhere() {
            return;
        }
        let mut queues = lock(&self.shared.queues);
        if queues.iter().all(|it| it.row.path.is_none()) {
            return;
        }
        let published = taut_linux::publish::read(&taut_linux::publish::directories());
        for found in published.queues {
            let row = Row::of_path(found, self.selection.rate);
            if let Some(queue) = queues.iter_mut().find(|it| key(&it.row) == key(&row)) {
                let sample = Sample {
                    limit: row.limits.limit.unwrap_or(0),
                    in_flight: row.limits.in_flight.unwrap_or(0),
                };
                queue.row = row;
                queue.history.add(now_ns, sample);
            }
        }
    }

    /// Opens the queue that is to be looked at closely; whether there is one.
    fn follow_detail(&mut self) -> bool {
        let wanted = lock(&self.shared.close).as_ref().map(|it| it.key.clone());
        if self.detail.as_ref().map(|(key, _)| key) != wanted.as_ref() {
            self.detail = wanted.and_then(|key| {
                let sampler = QueueSampler::open(&self.sysfs, &key.0, key.1);
                Some((key, sampler.ok()?))
            });
        }
        self.detail.is_some()
    }

    fn look_closely(&mut self, now_ns: u64) {
        let Some((key, sampler)) = &self.detail else {
            return;
        };
        if let Ok(sample) = sampler.sample()
            && let Some(close) = lock(&self.shared.close).as_mut()
            && close.key == *key
        {
            close.history.add(now_ns, sample);
        }
    }
}
