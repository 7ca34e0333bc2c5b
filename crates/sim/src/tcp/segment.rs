//! What the two ends tell each other. Offsets in the stream are `u64` and start at 0: the model has
//! no 32-bit sequence numbers and nothing that wraps.

/// Data to send now: one segment, or a super-packet that the wire cuts into segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the sender counts it as sent"]
pub struct Segment {
    /// Offset of its first byte in the stream.
    pub start: u64,
    /// Payload in bytes, at least 1; more than the segment size only if super-packets are on.
    pub payload_bytes: u32,
    /// Some of it was sent before.
    pub retransmission: bool,
    /// May be marked instead of dropped: ECN is on and this is no retransmission (RFC 3168, 6.1.5).
    pub ecn_capable: bool,
    /// The sender has reduced its window: goes to [`on_cwr`](super::TcpReceiver::on_cwr) before the
    /// data does. Of a super-packet only the first segment carries it.
    pub cwr: bool,
}

impl Segment {
    /// Offset after its last byte.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(u64::from(self.payload_bytes))
    }
}

/// Up to three ranges above the cumulative acknowledgement that have arrived (RFC 2018; three
/// because the timestamp option takes the room of the fourth).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    /// First byte and end, relative to the cumulative acknowledgement so that an `Ack` stays small;
    /// (0, 0) for none.
    blocks: [(u32, u32); SackBlocks::MOST],
}

impl SackBlocks {
    /// How many fit.
    pub const MOST: usize = 3;

    /// No ranges.
    pub(crate) const NONE: Self = Self {
        blocks: [(0, 0); Self::MOST],
    };

    /// How many there are.
    pub fn len(&self) -> usize {
        self.blocks.iter().take_while(|&&(_, end)| end > 0).count()
    }

    /// None: everything that arrived is acknowledged cumulatively.
    pub fn is_empty(&self) -> bool {
        self.blocks[0].1 == 0
    }

    /// Adds the range `[start, end)`; `false`, and nothing changes, if there is no room, if the
    /// range is empty or not above `cumulative`, or if it is more than 4 GiB above it.
    pub fn push(&mut self, cumulative: u64, start: u64, end: u64) -> bool {
        let count = self.len();
        if count == Self::MOST || start <= cumulative || end <= start {
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

    /// The ranges `[start, end)` of an acknowledgement up to `cumulative`, as offsets in the
    /// stream.
    pub(super) fn above(&self, cumulative: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks[..self.len()].iter().map(move |&(start, end)| {
            (
                cumulative.saturating_add(u64::from(start)),
                cumulative.saturating_add(u64::from(end)),
            )
        })
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the receiver counts it as sent"]
pub struct Ack {
    /// Every byte before this offset has arrived.
    pub cumulative: u64,
    /// The receiver takes this many bytes beyond `cumulative`.
    pub window_bytes: u32,
    /// What has arrived out of order, the latest first.
    pub sack: SackBlocks,
    /// Congestion was experienced and the sender has not yet said that it knows (RFC 3168).
    pub ece: bool,
}

impl Ack {
    /// The ranges `[start, end)` that have arrived out of order, as offsets in the stream.
    pub fn sacked(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sack.above(self.cumulative)
    }
}
