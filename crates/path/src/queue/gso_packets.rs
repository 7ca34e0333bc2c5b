//! GSO packets that the sender sends in chunks.

use super::shared::Shared;
use crate::late_segmentation::{LateSegmenter, Plan, Unsegmented};
use crate::packet::Packet;
use crate::sharing::{Sharing, Word};

/// The sender's state for GSO packets that are sent in chunks.
pub(super) struct GsoPackets {
    /// Segments them, if the driver takes chunks.
    pub segmenter: Option<LateSegmenter>,
    /// A GSO packet that left the discipline and is sent next, in chunks. Only within a run.
    pub stash: Option<(Packet, Plan)>,
    /// Chunks since the last doorbell.
    pub chunks: u32,
}

impl GsoPackets {
    pub(super) fn new(segmenter: Option<LateSegmenter>) -> Self {
        Self {
            segmenter,
            stash: None,
            chunks: 0,
        }
    }

    /// Returns how to segment a GSO packet, or `None` if it is sent whole.
    #[cold]
    #[inline(never)]
    pub(super) fn plan<M: Sharing>(&self, shared: &Shared<M>, packet: Unsegmented) -> Option<Plan> {
        let segmenter = self.segmenter.as_ref()?;
        let max_bytes = match segmenter.chunks_in_limit {
            Some(chunks) => shared.ledger.limit() / chunks,
            None => shared.chunk_bytes.load(),
        };
        segmenter.plan(packet, max_bytes)
    }
}
