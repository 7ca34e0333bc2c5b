//! Admission of tokens in rounds. smoltcp serves its sockets from the first in each poll, and a
//! token does not identify its socket. If tokens were granted in small amounts, the first sockets
//! would get all of them.

use alloc::vec;
use alloc::vec::Vec;

/// The backlog counts as drained only when all sockets of the last round were served. The packet
/// that is left keeps the device busy while the stack writes.
const DRAINED_PACKETS: u64 = 1;
/// Flags for each flow of the backlog. With 8, about 6 % of the flows share a flag, so a first pass
/// over all sockets is not mistaken for a second one.
const FLAGS_PER_FLOW: usize = 8;

/// A round starts when the backlog has drained and ends when it is full. Then the stack gets no
/// token until the backlog has drained, so each round starts with the first socket and ends after
/// the last.
pub(crate) struct Round {
    /// Backlog at which a round ends if few sockets send.
    min_packets: u64,
    /// Backlog at which a round always ends.
    max_packets: u64,
    packets: u64,
    /// Packets that were the first of their flow.
    firsts: u64,
    /// One flag for each flow of the round.
    seen: Vec<bool>,
    is_over: bool,
}

impl Round {
    pub(crate) fn new(min_packets: u32, max_packets: u32) -> Self {
        Self {
            min_packets: min_packets.into(),
            max_packets: max_packets.into(),
            packets: 0,
            firsts: 0,
            seen: vec![false; max_packets as usize * FLAGS_PER_FLOW],
            is_over: false,
        }
    }

    /// Begins a round if the backlog has drained. Returns `true` if the stack gets a token.
    pub(crate) fn admit(&mut self, waiting_packets: u64) -> bool {
        if waiting_packets <= DRAINED_PACKETS.min(self.min_packets - 1) {
            self.begin();
        }
        // In a first pass over all sockets, nearly all packets are the first of their flow (a few
        // flows share a flag). After one and a third passes, three quarters are.
        let is_first_pass = self.firsts * 4 > self.packets * 3;
        self.is_over |= waiting_packets >= self.max_packets
            || waiting_packets >= self.min_packets && !is_first_pass;
        !self.is_over
    }

    /// Counts a packet of `flow`.
    pub(crate) fn count(&mut self, flow: u32) {
        let flag = flow as usize % self.seen.len();
        let was_seen = core::mem::replace(&mut self.seen[flag], true);
        self.packets += 1;
        self.firsts += u64::from(!was_seen);
    }

    fn begin(&mut self) {
        if self.packets > 0 {
            self.seen.fill(false);
        }
        (self.packets, self.firsts, self.is_over) = (0, 0, false);
    }
}
