//! A trace in memory, for live queues: writing to a file would delay the queue.

use taut_path::Probe;

use super::{Event, LINE_BYTES, Recorder};

/// Events of a chunk of memory: few pages, so that its allocation is quick. A single growing block
/// would be copied from time to time, for tens of milliseconds.
const CHUNK_EVENTS: usize = 2048;

/// A probe that stores the events of a live queue, to be written by a [`Recorder`] later.
#[derive(Debug)]
pub struct Recording {
    start_ns: u64,
    /// Events in order of time, with the time since the start, in ns.
    chunks: Vec<Vec<(u64, Event)>>,
    /// Remaining capacity in events.
    left_events: usize,
    /// Events lost because of the capacity.
    lost_events: u64,
}

impl Recording {
    /// Creates a recording of at most `max_events`, with times since `start_ns`.
    pub fn new(start_ns: u64, max_events: usize) -> Self {
        Self {
            start_ns,
            chunks: Vec::new(),
            left_events: max_events,
            lost_events: 0,
        }
    }

    /// Returns the number of events in about `bytes` of a trace.
    pub fn events_in(bytes: u64) -> usize {
        usize::try_from(bytes / LINE_BYTES).unwrap_or(usize::MAX)
    }

    /// Returns the number of recorded events.
    pub fn events(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }

    /// Returns the number of lost events: the trace is incomplete unless it is 0.
    pub fn lost_events(&self) -> u64 {
        self.lost_events
    }

    /// Writes a row with its events to a trace.
    pub fn write(&self, name: &str, limit: &str, recorder: &mut Recorder<'_>) {
        recorder.row(name, limit);
        for &(at_ns, event) in self.chunks.iter().flatten() {
            recorder.event(at_ns, event);
        }
    }

    fn push(&mut self, at_ns: u64, event: Event) {
        if self.left_events == 0 {
            self.lost_events += 1;
            return;
        }
        self.left_events -= 1;
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
