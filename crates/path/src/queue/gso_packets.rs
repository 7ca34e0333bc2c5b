//! GSO packets that the sender sends in chunks.

use super::shared::Shared;
use crate::late_segmentation::{Cutter, Plan, Uncut};
use crate::packet::Packet;
use crate::sharing::{Sharing, Word};

/// What a sender keeps for super-packets that go in chunks.
pub(super) struct SuperPackets {
    /// Cuts them, if the driver takes chunks.
    pub cutter: Option<Cutter>,
    /// A super-packet that left the discipline and is sent next, in chunks. Only within a run.
    pub stash: Option<(Packet, Plan)>,
    /// Chunks since the last doorbell.
    pub chunks: u32,
}

impl SuperPackets {
    pub(super) fn new(cutter: Option<Cutter>) -> Self {
        Self {
            cutter,
            stash: None,
            chunks: 0,
        }
    }

    /// How a super-packet is cut, unless it goes whole.
    #[cold]
    #[inline(never)]
    pub(super) fn plan<M: Sharing>(&self, shared: &Shared<M>, packet: Uncut) -> Option<Plan> {
        let cutter = self.cutter.as_ref()?;
        let max_bytes = match cutter.chunks_in_limit {
            Some(chunks) => shared.ledger.limit() / chunks,
            None => shared.chunk_bytes.load(),
        };
        cutter.plan(packet, max_bytes)
    }
}
