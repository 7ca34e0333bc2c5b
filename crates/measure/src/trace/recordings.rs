//! The recordings of several live queues, in memory until the run ends.

use std::io::{self, Write};

use super::recording::Recording;
use super::write::Recorder;
use super::{Head, LINE_BYTES};

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
