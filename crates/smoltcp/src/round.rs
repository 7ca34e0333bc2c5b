//! Who gets tokens. smoltcp serves its sockets from the first in each poll, and a token does not
//! say whose it is: room given out piece by piece would go to the first sockets again and again.

use alloc::vec;
use alloc::vec::Vec;

/// Drained: so late that all of the last round have had their turn, and with one left the device is
/// still fed while the stack writes.
const DRAINED_PACKETS: u64 = 1;
/// Bits for each flow that may wait: few flows share one, and a round never ends before its first
/// pass.
const BITS_PER_FLOW: u64 = 8;

/// A round begins when the backlog has drained, and ends when it is full; then nobody gets a token
/// until it has drained. So each round begins with the first socket and ends beyond the last.
pub(crate) struct Round {
    /// Full, where few sockets send.
    least_packets: u64,
    /// Full in any case.
    most_packets: u64,
    packets: u64,
    /// How many of them were the first of their flow.
    firsts: u64,
    /// A bit for each flow of the round.
    seen: Vec<u64>,
    is_over: bool,
}

impl Round {
    pub(crate) fn new(least_packets: u32, most_packets: u32) -> Self {
        let most_packets = u64::from(most_packets);
        let words = (most_packets * BITS_PER_FLOW).div_ceil(64);
        Self {
            least_packets: least_packets.into(),
            most_packets,
            packets: 0,
            firsts: 0,
            seen: vec![0; words as usize],
            is_over: false,
        }
    }

    /// Whether there is a token, with so many packets in the backlog.
    pub(crate) fn goes_on(&mut self, waiting_packets: u64) -> bool {
        if waiting_packets <= DRAINED_PACKETS.min(self.least_packets - 1) {
            self.begin();
        }
        // In a first pass over all sockets nearly all are the first of their flow (a few flows
        // share a bit), in one and a third three quarters are.
        let is_first_pass = self.firsts * 4 > self.packets * 3;
        self.is_over |= waiting_packets >= self.most_packets
            || waiting_packets >= self.least_packets && !is_first_pass;
        !self.is_over
    }

    /// A packet of `flow` was written.
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
