//! Drops and marks of the discipline and of a burst, counted on their way to the caller's sink.

use super::context::Context;
use super::counters::{SenderCells, add, count_drop};
use crate::late_segmentation::LateSegmenter;
use crate::packet::{DropReason, Packet, PacketSink};
use crate::probe::{Event, Probe};
use crate::sharing::Sharing;

/// Counts drops and marks, and ends GSO packets with their remainder.
pub(super) struct CountingSink<'a, 'b, M: Sharing, S: ?Sized, P> {
    pub at: Context<'b, S, P>,
    pub cells: &'a SenderCells<M>,
    pub segmenter: &'a mut LateSegmenter,
}

impl<M: Sharing, S: PacketSink + ?Sized, P: Probe> PacketSink for CountingSink<'_, '_, M, S, P> {
    fn freed(&mut self, packet: Packet) {
        self.at.sink.freed(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        let (cells, segmenter) = (self.cells, &mut *self.segmenter);
        dropped(packet, reason, cells, segmenter, &mut self.at);
    }

    fn marked(&mut self, packet: &Packet) {
        marked(packet, self.cells, &mut self.at);
    }
}

#[inline(never)]
pub(super) fn dropped<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
    packet: Packet,
    reason: DropReason,
    cells: &SenderCells<M>,
    segmenter: &mut LateSegmenter,
    at: &mut Context<'_, S, P>,
) {
    count_drop(cells, reason);
    at.probe.event(at.now_ns, Event::Dropped(&packet, reason));
    if !packet.is_remainder() {
        return at.sink.dropped(packet, reason);
    }
    add(&cells.dropped_segments, packet.segments().into());
    at.sink.segments_dropped(&packet, reason);
    // With the remainder the whole packet ends, unless a chunk of it is in the device.
    if let Some(ended) = segmenter.dropped(packet, reason) {
        at.sink.dropped(ended.whole, reason);
    }
}

#[inline(never)]
pub(super) fn marked<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
    packet: &Packet,
    cells: &SenderCells<M>,
    at: &mut Context<'_, S, P>,
) {
    add(&cells.marked_packets, 1);
    at.probe.event(at.now_ns, Event::Marked(packet));
    at.sink.marked(packet);
}
