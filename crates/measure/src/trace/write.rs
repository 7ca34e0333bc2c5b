//! Writing of traces: a recorder for the file, and a probe for each queue.

use std::fmt::Display;
use std::io::{self, Write};

use taut_path::Probe;

use crate::counted_writer::CountedWriter;

use super::{Event, Head, Line};

/// A trace writer. The first write error is returned at the end, because a probe cannot fail.
pub struct Recorder<'w>(CountedWriter<'w>);

impl<'w> Recorder<'w> {
    /// Starts a trace; `out` should be buffered.
    pub fn new(out: &'w mut dyn Write, head: &Head) -> Self {
        let mut recorder = Self(CountedWriter::new(out));
        recorder.write(head);
        recorder
    }

    /// Starts a queue.
    pub fn row(&mut self, name: &str, limit: &str) {
        let plain = |text: &str| text.replace(char::is_control, " ");
        let (name, limit) = (plain(name), plain(limit));
        self.write(&Line::Row { name, limit });
    }

    /// Appends an event of the current queue.
    pub fn event(&mut self, at_ns: u64, event: Event) {
        self.write(&Line::Event { at_ns, event });
    }

    /// Returns `true` if a write has failed; later events are ignored.
    pub fn has_failed(&self) -> bool {
        self.0.has_failed()
    }

    /// Finishes the trace. Returns its length in bytes.
    ///
    /// # Errors
    /// The first write error.
    pub fn finish(self) -> io::Result<u64> {
        self.0.finish()
    }

    fn write(&mut self, line: &impl Display) {
        // The writer keeps its error for the end.
        let _ = writeln!(self.0, "{line}");
    }
}

/// A probe that records a queue; `None` records nothing.
pub struct Tracer<'r, 'w>(pub Option<&'r mut Recorder<'w>>);

impl<'r, 'w> Tracer<'r, 'w> {
    /// Returns the probes of several queues, by index. Only the queue `recorded` is recorded.
    pub fn of_queue(recorder: &'r mut Recorder<'w>, recorded: usize) -> impl FnMut(usize) -> Self {
        let mut recorder = Some(recorder);
        move |queue| Self(recorder.take_if(|_| queue == recorded))
    }
}

impl Probe for Tracer<'_, '_> {
    fn event(&mut self, now_ns: u64, event: taut_path::Event<'_>) {
        if let Some(recorder) = &mut self.0
            && let Some(event) = Event::of(event)
        {
            recorder.event(now_ns, event);
        }
    }

    fn is_enabled(&self) -> bool {
        self.0.is_some()
    }
}
