//! A trace in memory, for live queues: writing to a file would delay the queue.

use std::io::{self, Write};

use taut_path::Probe;

use super::{Event, Head, LINE_BYTES, Recorder};

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

/// The recordings of a live run's rows, with a common maximum size.
#[derive(Debug)]
pub struct Recordings {
    rows: Vec<(String, String, Recording)>,
    /// `None` without a trace.
    left_events: Option<usize>,
    is_whole: bool,
}

impl Recordings {
    /// Creates an empty set for about `max_bytes` of a trace; `None` records nothing.
    pub fn new(max_bytes: Option<u64>) -> Self {
        let max_events = |bytes| usize::try_from(bytes / LINE_BYTES).unwrap_or(usize::MAX);
        Self {
            rows: Vec::new(),
            left_events: max_bytes.map(max_events),
            is_whole: true,
        }
    }

    /// Returns the maximum number of events of the next row; `None` without a trace.
    pub fn left_events(&self) -> Option<usize> {
        self.left_events
    }

    /// Adds the events of a row.
    pub fn push(&mut self, name: &str, limit: &str, recording: Option<Recording>) {
        let (Some(left), Some(recording)) = (&mut self.left_events, recording) else {
            return;
        };
        *left = left.saturating_sub(recording.events());
        self.is_whole &= recording.lost_events() == 0;
        self.rows
            .push((name.to_owned(), limit.to_owned(), recording));
    }

    /// Returns `true` if no row was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns `false` if a row lost events.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Writes all rows and returns the number of bytes.
    ///
    /// # Errors
    /// The first error of `out`.
    pub fn write(&self, head: &Head, out: &mut dyn Write) -> io::Result<u64> {
        let mut recorder = Recorder::new(out, head);
        for (name, limit, recording) in &self.rows {
            recording.write(name, limit, &mut recorder);
        }
        recorder.finish()
    }
}
