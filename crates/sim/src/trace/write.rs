//! Writing a trace: a recorder for the file, and a probe for each queue.

use std::fmt::Display;
use std::io::{self, Write};

use taut_dql::Stall;
use taut_path::limit::Done;
use taut_path::queue::StopReason;
use taut_path::{DropReason, Packet, Probe};

use crate::world::CLIENT;

use super::{Event, Head, Line, Mention};

/// Writes a trace. What cannot be written is told at the end: a probe cannot fail.
pub struct Recorder<'w> {
    out: &'w mut dyn Write,
    bytes: u64,
    failed: Option<io::Error>,
}

impl<'w> Recorder<'w> {
    /// Begins a trace; `out` should be buffered.
    pub fn new(out: &'w mut dyn Write, head: &Head) -> Self {
        let mut recorder = Self {
            out,
            bytes: 0,
            failed: None,
        };
        recorder.write(head);
        recorder
    }

    /// Begins a queue.
    pub fn row(&mut self, name: &str, limit: &str) {
        let plain = |text: &str| text.replace(char::is_control, " ");
        let (name, limit) = (plain(name), plain(limit));
        self.write(&Line::Row { name, limit });
    }

    /// Adds an event of that queue.
    pub fn event(&mut self, at_ns: u64, event: Event) {
        self.write(&Line::Event { at_ns, event });
    }

    /// Whether nothing more is written.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Ends the trace. Says how many bytes it has.
    ///
    /// # Errors
    /// The first thing that could not be written.
    pub fn finish(self) -> io::Result<u64> {
        match self.failed {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.bytes),
        }
    }

    fn write(&mut self, line: &impl Display) {
        if self.failed.is_some() {
            return;
        }
        let mut counted = Counted {
            out: &mut *self.out,
            bytes: 0,
        };
        self.failed = writeln!(counted, "{line}").err();
        self.bytes += counted.bytes;
    }
}

/// Counts what passes.
struct Counted<'a> {
    out: &'a mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.out.write(buffer)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The probe that records a queue; `None` records nothing.
pub struct Tracer<'r, 'w>(pub Option<&'r mut Recorder<'w>>);

impl<'r, 'w> Tracer<'r, 'w> {
    /// The probes of a world's hosts: only the first host's queue is recorded, for all figures are
    /// of that one.
    pub(crate) fn of_client(recorder: &'r mut Recorder<'w>) -> impl FnMut(usize) -> Self {
        let mut recorder = Some(recorder);
        move |host| Self(recorder.take_if(|_| host == CLIENT))
    }
}

impl Tracer<'_, '_> {
    fn event(&mut self, now_ns: u64, event: Event) {
        if let Some(recorder) = &mut self.0 {
            recorder.event(now_ns, event);
        }
    }
}

impl Probe for Tracer<'_, '_> {
    fn on_enqueue(&mut self, now_ns: u64, packet: &Packet) {
        self.event(now_ns, Event::Enqueue(Mention::of(packet)));
    }
    fn on_dequeue(&mut self, now_ns: u64, packet: &Packet) {
        self.event(now_ns, Event::Dequeue(Mention::of(packet)));
    }
    fn on_drop(&mut self, now_ns: u64, packet: &Packet, reason: DropReason) {
        self.event(now_ns, Event::Drop(Mention::of(packet), reason));
    }
    fn on_mark(&mut self, now_ns: u64, packet: &Packet) {
        self.event(now_ns, Event::Mark(Mention::of(packet)));
    }
    fn on_sent(&mut self, now_ns: u64, packet: &Packet) {
        self.event(now_ns, Event::Sent(Mention::of(packet)));
    }
    fn on_completed(&mut self, now_ns: u64, done: Done) {
        self.event(now_ns, Event::Completed(done));
    }
    fn on_limit(&mut self, now_ns: u64, limit: u32) {
        self.event(now_ns, Event::Limit(limit));
    }
    fn on_stopped(&mut self, now_ns: u64, reason: StopReason) {
        self.event(now_ns, Event::Stopped(reason));
    }
    fn on_starved(&mut self, now_ns: u64) {
        self.event(now_ns, Event::Starved);
    }
    fn on_stall(&mut self, now_ns: u64, stall: Stall) {
        let age_ns = stall.age_ns;
        self.event(now_ns, Event::Stall { age_ns });
    }
    fn on_reset(&mut self, now_ns: u64) {
        self.event(now_ns, Event::Reset);
    }
}
