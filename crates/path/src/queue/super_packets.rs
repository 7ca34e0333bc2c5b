//! GSO packets that the sender sends in pieces.

use super::shared::Shared;
use crate::late_segmentation::{Cutter, Plan, Uncut};
use crate::packet::Packet;
use crate::sharing::{Sharing, Word};

/// What a sender keeps for super-packets that go in pieces.
pub(super) struct SuperPackets {
    /// Cuts them, if the driver takes pieces.
    pub cutter: Option<Cutter>,
    /// A super-packet that left the discipline and is sent next, in pieces. Only within a run.
    pub stash: Option<(Packet, Plan)>,
    /// Pieces since the last doorbell.
    pub pieces: u32,
}

impl SuperPackets {
    pub(super) fn new(cutter: Option<Cutter>) -> Self {
        Self {
            cutter,
            stash: None,
            pieces: 0,
        }
    }

    /// How a super-packet is cut, unless it goes whole.
    #[cold]
    #[inline(never)]
    pub(super) fn plan<M: Sharing>(&self, shared: &Shared<M>, packet: Uncut) -> Option<Plan> {
        let cutter = self.cutter.as_ref()?;
        let max_bytes = match cutter.pieces_in_limit {
            Some(pieces) => shared.ledger.limit() / pieces,
            None => shared.piece_bytes.load(),
        };
        cutter.plan(packet, max_bytes)
    }
}
