//! A trace that is kept in memory while a live queue runs, for writing it would make the queue late.

use taut_path::Probe;

use super::{Event, Recorder};

/// Events of a piece of memory: few pages, so that a new one is there at once. One piece that grew would
/// be copied now and then, for tens of milliseconds.
const PIECE_EVENTS: usize = 2048;

/// The probe that keeps what a live queue did, for a [`Recorder`] afterwards.
#[derive(Debug)]
pub struct Tape {
    start_ns: u64,
    /// In order of time, with the time since the start, in ns.
    pieces: Vec<Vec<(u64, Event)>>,
    /// Events that it may still keep.
    left_events: usize,
    /// Events that came when it was full.
    lost_events: u64,
}

impl Tape {
    /// Keeps at most `most_events`, with their times since `start_ns`.
    pub fn new(start_ns: u64, most_events: usize) -> Self {
        Self {
            start_ns,
            pieces: Vec::new(),
            left_events: most_events,
            lost_events: 0,
        }
    }

    /// Takes half of what it may still keep, for the other half of the same queue.
    pub fn divide(&mut self) -> Self {
        let most_events = self.left_events / 2;
        self.left_events -= most_events;
        Self::new(self.start_ns, most_events)
    }

    /// Events that it keeps.
    pub fn events(&self) -> usize {
        self.pieces.iter().map(Vec::len).sum()
    }

    /// Events that it could not keep: if there are any, it is not a whole trace.
    pub fn lost_events(&self) -> u64 {
        self.lost_events
    }

    /// What both halves of a queue did. Of one time, `self` comes first.
    pub fn merge(&mut self, other: Self) {
        self.left_events += other.left_events;
        self.lost_events += other.lost_events;
        let pieces = std::mem::take(&mut self.pieces);
        let mut all: Vec<_> = pieces.into_iter().chain(other.pieces).flatten().collect();
        // Two runs that are in order already: it is stable, and quick.
        all.sort_by_key(|&(at_ns, _)| at_ns);
        self.pieces = vec![all];
    }

    /// Adds a row with its events to a trace.
    pub fn write(&self, name: &str, limit: &str, recorder: &mut Recorder<'_>) {
        recorder.row(name, limit);
        for &(at_ns, event) in self.pieces.iter().flatten() {
            recorder.event(at_ns, event);
        }
    }

    fn push(&mut self, at_ns: u64, event: Event) {
        if self.left_events == 0 {
            self.lost_events += 1;
            return;
        }
        self.left_events -= 1;
        match self.pieces.last_mut() {
            Some(piece) if piece.len() < piece.capacity() => piece.push((at_ns, event)),
            _ => {
                let mut piece = Vec::with_capacity(PIECE_EVENTS);
                piece.push((at_ns, event));
                self.pieces.push(piece);
            }
        }
    }
}

impl Probe for Tape {
    #[inline]
    fn event(&mut self, now_ns: u64, event: taut_path::Event<'_>) {
        let start_ns = self.start_ns;
        let since_ns = |at_ns: u64| at_ns.saturating_sub(start_ns);
        let event = match Event::of(event) {
            None => return,
            Some(Event::Round(mut told)) => {
                told.returned_ns = told.returned_ns.map(since_ns);
                Event::Round(told)
            }
            Some(event) => event,
        };
        self.push(since_ns(now_ns), event);
    }
}
