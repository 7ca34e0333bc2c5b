//! Admission of tokens in rounds. smoltcp serves its sockets from the first in each poll, and a
//! token does not identify its socket. If tokens were granted in small amounts, the first sockets
//! would get all of them.

use alloc::vec;
use alloc::vec::Vec;

/// The backlog counts as drained only when all sockets of the last round were served. The packet
/// that is left keeps the device busy while the stack writes.
const DRAINED_PACKETS: u64 = 1;
/// Bits for each flow of the backlog. With 8, about 6 % of the flows share a bit, so a first pass
/// over all sockets is not mistaken for a second one.
const BITS_PER_FLOW: u64 = 8;

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
    /// One bit for each flow of the round.
    seen: Vec<u64>,
    is_over: bool,
}

impl Round {
    pub(crate) fn new(min_packets: u32, max_packets: u32) -> Self {
        let max_packets = u64::from(max_packets);
        let words = (max_packets * BITS_PER_FLOW).div_ceil(64);
        Self {
            min_packets: min_packets.into(),
            max_packets,
            packets: 0,
            firsts: 0,
            seen: vec![0; words as usize],
            is_over: false,
        }
    }

    /// Begins a round if the backlog has drained. Returns `true` if the stack gets a token.
    pub(crate) fn admit(&mut self, waiting_packets: u64) -> bool {
        if waiting_packets <= DRAINED_PACKETS.min(self.min_packets - 1) {
            self.begin();
        }
        // In a first pass over all sockets, nearly all packets are the first of their flow (a few
        // flows share a bit). After one and a third passes, three quarters are.
        let is_first_pass = self.firsts * 4 > self.packets * 3;
        self.is_over |= waiting_packets >= self.max_packets
            || waiting_packets >= self.min_packets && !is_first_pass;
        !self.is_over
    }

    /// Counts a packet of `flow`.
    pub(crate) fn count(&mut self, flow: u32) {
        let bit = u64::from(flow) % (self.seen.len() as u64 * 64);
        let (word, mask) = ((bit / 64) as usize, 1 << (bit % 64));
        self.packets += 1;
        self.firsts += u64::from(self.seen[word] & mask == 0);
        self.seen[word] |= mask;
    }

    fn begin(&mut self) {
        if self.packets > 0 {
            self.seen.fill(0);
        }
        (self.packets, self.firsts, self.is_over) = (0, 0, false);
    }
}
