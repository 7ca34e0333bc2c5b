//! What the sender tells the completer besides how much it queued.
//!
//! Two questions cross the threads, *was somebody refused* and *when did the sender come back*.
//! Each is a pair of numbers with one writer a number, so that neither side ever waits or loses
//! what the other just wrote.

use taut_dql::sync::{AtomicU32, AtomicU64, Ordering};

/// Both sides' numbers, on cache lines of their own.
#[derive(Debug)]
pub struct Signals {
    sender: SenderLine,
    completer: CompleterLine,
}

/// Written by the sender only.
#[derive(Debug)]
#[repr(align(128))]
struct SenderLine {
    /// When the sender queued first after the request that it answered last, in ns.
    came_back_ns: AtomicU64,
    /// The request that this answers.
    answered: AtomicU32,
    /// Times that the sender had something to send and no room, wrapping.
    refusals: AtomicU32,
}

/// Written by the completer only.
#[derive(Debug)]
#[repr(align(128))]
struct CompleterLine {
    /// Requests so far for the time of the next packet, wrapping.
    requested: AtomicU32,
}

impl Signals {
    /// With one request open: the first packet of all says when it came.
    pub fn new() -> Self {
        Self {
            sender: SenderLine {
                came_back_ns: AtomicU64::new(0),
                answered: AtomicU32::new(0),
                refusals: AtomicU32::new(0),
            },
            completer: CompleterLine {
                requested: AtomicU32::new(1),
            },
        }
    }
}

/// The sender's view. The completer may open a request at any time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Told {
    answered: u32,
    refusals: u32,
}

impl Told {
    /// Answers an open request. Call it before the packet is counted: a completer that sees the
    /// packet then sees the answer.
    #[inline]
    pub fn queueing(&mut self, signals: &Signals, now_ns: u64) {
        let requested = signals.completer.requested.load(Ordering::Relaxed);
        if requested != self.answered {
            self.answered = requested;
            let line = &signals.sender;
            line.came_back_ns.store(now_ns, Ordering::Relaxed);
            // Release: whoever sees the answer sees the time that belongs to it.
            line.answered.store(requested, Ordering::Release);
        }
    }

    /// There was something to send and no room.
    #[inline]
    pub fn refused(&mut self, signals: &Signals) {
        self.refusals = self.refusals.wrapping_add(1);
        signals
            .sender
            .refusals
            .store(self.refusals, Ordering::Relaxed);
    }
}

/// The completer's view. The sender may answer, and be refused, at any time.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    requested: u32,
    refusals: u32,
}

impl Asked {
    /// As [`Signals::new`] begins.
    pub fn new() -> Self {
        Self {
            requested: 1,
            refusals: 0,
        }
    }

    /// When the sender queued first since the last request; `None` while it is away.
    #[inline]
    pub fn came_back_ns(&self, signals: &Signals) -> Option<u64> {
        let line = &signals.sender;
        (line.answered.load(Ordering::Acquire) == self.requested)
            .then(|| line.came_back_ns.load(Ordering::Relaxed))
    }

    /// Whether the sender was refused since this was asked last.
    #[inline]
    pub fn take_refused(&mut self, signals: &Signals) -> bool {
        let refusals = signals.sender.refusals.load(Ordering::Relaxed);
        core::mem::replace(&mut self.refusals, refusals) != refusals
    }

    /// Requests the time of the next packet, if none is requested. Call it before the room is
    /// published: the sender that finds the room then finds the request.
    #[inline]
    pub fn request(&mut self, signals: &Signals) {
        // An unanswered request stays: the next packet answers it.
        if signals.sender.answered.load(Ordering::Relaxed) == self.requested {
            self.requested = self.requested.wrapping_add(1);
            signals
                .completer
                .requested
                .store(self.requested, Ordering::Release);
        }
    }
}

/// Starts both views afresh; whoever has both knows that nobody uses them meanwhile.
pub fn reset(signals: &Signals, told: &mut Told, asked: &mut Asked) {
    // The numbers themselves go on: only their differences mean anything.
    asked.take_refused(signals);
    asked.request(signals);
    debug_assert_ne!(told.answered, asked.requested);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_once_by_the_next_packet() {
        let (signals, mut told, mut asked) = (Signals::new(), Told::default(), Asked::new());
        assert_eq!(
            asked.came_back_ns(&signals),
            None,
            "requested from the start"
        );
        told.queueing(&signals, 5);
        told.queueing(&signals, 6);
        assert_eq!(asked.came_back_ns(&signals), Some(5));

        asked.request(&signals);
        asked.request(&signals);
        assert_eq!(asked.came_back_ns(&signals), None);
        told.queueing(&signals, 9);
        assert_eq!(asked.came_back_ns(&signals), Some(9));
    }

    #[test]
    fn refusals_are_heard_once_and_a_reset_forgets_them() {
        let (signals, mut told, mut asked) = (Signals::new(), Told::default(), Asked::new());
        assert!(!asked.take_refused(&signals));
        told.refused(&signals);
        told.refused(&signals);
        assert!(asked.take_refused(&signals));
        assert!(!asked.take_refused(&signals));

        told.refused(&signals);
        told.queueing(&signals, 7);
        reset(&signals, &mut told, &mut asked);
        assert!(!asked.take_refused(&signals));
        assert_eq!(asked.came_back_ns(&signals), None);
    }
}
