//! Completed chunks, and the length of new ones.

use super::shared::Shared;
use crate::late_segmentation::{ChunkTracker, LateSegmentation};
use crate::limit::{CompletionBatch, Unit};
use crate::packet::{Packet, PacketSink};
use crate::rate::{RateMeter, RateSample};
use crate::sharing::{Sharing, Wide, Word};

/// The completer's state for GSO packets that are sent in chunks.
#[derive(Default)]
pub(super) struct ChunkReassembler {
    tracker: ChunkTracker,
    /// Completed chunks of one packet that are not reported to the table yet, and its number.
    completed: u32,
    number: u32,
    /// Maximum time of a chunk, in ns, if it is set as a time.
    time_ns: Option<u64>,
    /// A chunk completed, so the rate is needed. Without chunks nothing is measured.
    needs_rate: bool,
    /// Measures the rate in bytes, if the queue's own meter does not.
    meter: RateMeter,
    /// Total bytes completed at the last batch, and the rate at that time.
    completed_bytes: u64,
    bytes_per_s: u64,
}

impl ChunkReassembler {
    pub(super) fn new(tracker: ChunkTracker, split: LateSegmentation) -> Self {
        Self {
            tracker,
            time_ns: match split {
                LateSegmentation::Time(ns) => Some(ns),
                _ => None,
            },
            ..Self::default()
        }
    }

    /// Counts a completed chunk. Its packet ends now or, if chunks completed out of order, at the
    /// next [`flush`](Self::flush).
    #[inline]
    pub(super) fn complete<S: PacketSink + ?Sized>(&mut self, chunk: &Packet, sink: &mut S) {
        let number = chunk.packet_number();
        if number != self.number {
            self.flush(sink);
            self.number = number;
        }
        // Count before the sink runs, because the sink might panic.
        self.completed += 1;
        sink.chunk_freed(chunk);
        if chunk.is_last_chunk() {
            self.flush(sink);
        }
    }

    /// Reports the counted chunks to the table: one access to shared memory for a run of them.
    #[inline(never)]
    pub(super) fn flush<S: PacketSink + ?Sized>(&mut self, sink: &mut S) {
        let chunks = core::mem::take(&mut self.completed);
        if chunks == 0 {
            return;
        }
        self.needs_rate = true;
        let Some(ended) = self.tracker.complete(self.number, chunks) else {
            return;
        };
        match ended.reason {
            None => sink.freed(ended.whole),
            Some(reason) => sink.dropped(ended.whole, reason),
        }
    }

    /// Adjusts the length of chunks to the rate. `rate_is_known`: the batch has it, in bytes.
    pub(super) fn record<M: Sharing>(
        &mut self,
        shared: &Shared<M>,
        batch: &CompletionBatch,
        unit: Unit,
        rate_is_known: bool,
    ) {
        let Some(time_ns) = self.time_ns.filter(|_| self.needs_rate) else {
            return;
        };
        let total = shared.completer.completed_bytes.load();
        let bytes = total - core::mem::replace(&mut self.completed_bytes, total);
        let bytes_per_s = if rate_is_known {
            batch.rate_per_s
        } else {
            self.measure(batch, unit, u32::try_from(bytes).unwrap_or(u32::MAX))
        };
        if core::mem::replace(&mut self.bytes_per_s, bytes_per_s) != bytes_per_s {
            let max_bytes = u128::from(bytes_per_s) * u128::from(time_ns) / 1_000_000_000;
            let max_bytes = u32::try_from(max_bytes).unwrap_or(u32::MAX);
            shared.chunk_bytes.store(max_bytes);
        }
    }

    fn measure(&mut self, batch: &CompletionBatch, unit: Unit, bytes: u32) -> u64 {
        let in_flight = batch.in_flight - batch.units;
        // Estimate: packets in flight are as long as the completed ones.
        let each = bytes / batch.units.max(1);
        let (units, in_flight, object) = match unit {
            Unit::Bytes => (batch.units, in_flight, batch.last_object),
            Unit::Packets => (bytes, in_flight.saturating_mul(each), each),
        };
        self.meter.record(RateSample {
            now_ns: batch.now_ns,
            units,
            in_flight,
            object,
        });
        self.meter.units_per_s()
    }

    /// Forgets the chunks in flight.
    pub(super) fn reset(&mut self) {
        self.meter.reset();
    }
}
