//! Segments and acknowledgements. Offsets in the stream are `u64` and start at 0: the model has no
//! 32-bit sequence numbers and no wrap-around.

/// Data to send now: one segment, or a GSO packet that is segmented on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the sender counts it as sent"]
pub struct Segment {
    /// Offset of its first byte in the stream.
    pub start: u64,
    /// Payload in bytes, at least 1; more than the segment size only for GSO packets.
    pub payload_bytes: u32,
    /// Contains data that was sent before.
    pub retransmission: bool,
    /// Can be marked instead of dropped: ECN is on and this is not a retransmission (RFC 3168,
    /// 6.1.5).
    pub ecn_capable: bool,
    /// The sender has reduced its window. Pass it to [`on_cwr`](super::TcpReceiver::on_cwr) before
    /// the data. Only the first segment of a GSO packet carries it.
    pub cwr: bool,
}

impl Segment {
    /// Returns the offset after its last byte.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(u64::from(self.payload_bytes))
    }
}

/// Up to three ranges above the cumulative acknowledgement that have arrived (RFC 2018; three
/// because the timestamp option takes the space of the fourth).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    /// First byte and end, relative to the cumulative acknowledgement so that an `Ack` stays small;
    /// (0, 0) for none.
    blocks: [(u32, u32); SackBlocks::MAX],
}

impl SackBlocks {
    /// Maximum number of ranges.
    pub const MAX: usize = 3;

    /// Returns the number of ranges.
    pub fn len(&self) -> usize {
        self.blocks.iter().take_while(|&&(_, end)| end > 0).count()
    }

    /// Returns `true` if there are none: everything that arrived is acknowledged cumulatively.
    pub fn is_empty(&self) -> bool {
        self.blocks[0].1 == 0
    }

    /// Adds the range `[start, end)`. Returns `false`, without a change, if there is no room, if
    /// the range is empty or not above `cumulative`, or if it is more than 4 GiB above it.
    pub fn push(&mut self, cumulative: u64, start: u64, end: u64) -> bool {
        let count = self.len();
        if count == Self::MAX || start <= cumulative || end <= start {
            return false;
        }
        let (Ok(start), Ok(end)) = (
            u32::try_from(start - cumulative),
            u32::try_from(end - cumulative),
        ) else {
            return false;
        };
        self.blocks[count] = (start, end);
        true
    }

    /// Returns the ranges `[start, end)` of an acknowledgement up to `cumulative`, as offsets in
    /// the stream.
    pub(super) fn above(&self, cumulative: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let offset = move |above: u32| cumulative.saturating_add(u64::from(above));
        let blocks = &self.blocks[..self.len()];
        blocks.iter().map(move |it| (offset(it.0), offset(it.1)))
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the receiver counts it as sent"]
pub struct Ack {
    /// Every byte before this offset has arrived.
    pub cumulative: u64,
    /// The receiver accepts this many bytes beyond `cumulative`.
    pub window_bytes: u32,
    /// Out-of-order ranges, the latest first.
    pub sack: SackBlocks,
    /// Congestion was experienced and the sender has not yet confirmed it (RFC 3168).
    pub ece: bool,
}

impl Ack {
    /// Returns the ranges `[start, end)` that have arrived out of order, as offsets in the stream.
    pub fn sacked(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sack.above(self.cumulative)
    }
}
