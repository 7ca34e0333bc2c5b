//! A trace in memory, for live queues: writing to a file would delay the queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use taut_path::Probe;

use super::{Event, Recorder};

/// Events of a chunk of memory: few pages, so that its allocation is quick. A single growing block
/// would be copied from time to time, for tens of milliseconds.
const CHUNK_EVENTS: usize = 2048;

/// A probe that stores the events of a live queue, to be written by a [`Recorder`] later.
#[derive(Debug)]
pub struct Recording {
    start_ns: u64,
    /// Events in order of time, with the time since the start, in ns.
    chunks: Vec<Vec<(u64, Event)>>,
    /// Remaining capacity in events, shared by both halves of a queue.
    left_events: Arc<AtomicUsize>,
    /// Events lost because of the capacity.
    lost_events: u64,
}

impl Recording {
    /// Creates a recording of at most `max_events`, with times since `start_ns`.
    pub fn new(start_ns: u64, max_events: usize) -> Self {
        Self {
            start_ns,
            chunks: Vec::new(),
            left_events: Arc::new(AtomicUsize::new(max_events)),
            lost_events: 0,
        }
    }

    /// Creates a recording for the other half of the same queue, which shares the capacity.
    pub fn divide(&mut self) -> Self {
        Self {
            left_events: Arc::clone(&self.left_events),
            ..Self::new(self.start_ns, 0)
        }
    }

    /// Returns the number of recorded events.
    pub fn events(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }

    /// Returns the number of lost events: the trace is incomplete unless it is 0.
    pub fn lost_events(&self) -> u64 {
        self.lost_events
    }

    /// Merges the events of the other half. Simultaneous events of `self` come first.
    pub fn merge(&mut self, other: Self) {
        self.lost_events += other.lost_events;
        let chunks = std::mem::take(&mut self.chunks);
        let mut all: Vec<_> = chunks.into_iter().chain(other.chunks).flatten().collect();
        // Two sorted runs: the sort is stable, and fast.
        all.sort_by_key(|&(at_ns, _)| at_ns);
        self.chunks = vec![all];
    }

    /// Writes a row with its events to a trace.
    pub fn write(&self, name: &str, limit: &str, recorder: &mut Recorder<'_>) {
        recorder.row(name, limit);
        for &(at_ns, event) in self.chunks.iter().flatten() {
            recorder.event(at_ns, event);
        }
    }

    fn push(&mut self, at_ns: u64, event: Event) {
        let take_one = |left: usize| left.checked_sub(1);
        let left = &self.left_events;
        if left.fetch_update(Relaxed, Relaxed, take_one).is_err() {
            self.lost_events += 1;
            return;
        }
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < chunk.capacity() => chunk.push((at_ns, event)),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK_EVENTS);
                chunk.push((at_ns, event));
                self.chunks.push(chunk);
            }
        }
    }
}

impl Probe for Recording {
    #[inline]
    fn event(&mut self, now_ns: u64, event: taut_path::Event<'_>) {
        let start_ns = self.start_ns;
        let since_ns = |at_ns: u64| at_ns.saturating_sub(start_ns);
        let event = match Event::of(event) {
            None => return,
            Some(Event::Batch(mut batch)) => {
                batch.sender_returned_ns = batch.sender_returned_ns.map(since_ns);
                Event::Batch(batch)
            }
            Some(event) => event,
        };
        self.push(since_ns(now_ns), event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_share_the_capacity() {
        let mut sender = Recording::new(0, 10);
        let mut completer = sender.divide();
        for at_ns in 0..9 {
            sender.event(at_ns, taut_path::Event::Limit(1));
        }
        for at_ns in 0..2 {
            completer.event(at_ns, taut_path::Event::Limit(2));
        }
        sender.merge(completer);
        assert_eq!((sender.events(), sender.lost_events()), (10, 1));
    }
}
