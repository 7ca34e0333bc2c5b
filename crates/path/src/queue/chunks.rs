//! ChunkReassembler that come back, and how long those that go may be.

use super::shared::Shared;
use crate::late_segmentation::{Joiner, LateSegmentation};
use crate::limit::{CompletionBatch, Unit};
use crate::packet::{Packet, PacketSink};
use crate::rate::{RateMeter, RateSample};
use crate::sharing::{Sharing, Wide, Word};

/// What the completer does for super-packets that go in chunks.
pub(super) struct ChunkReassembler {
    joiner: Joiner,
    /// ChunkReassembler of one packet that came back and were not joined yet, and its number.
    back: u32,
    number: u32,
    /// What a chunk may take, in ns, if that is a time.
    time_ns: Option<u64>,
    /// A chunk came back: the rate is wanted. Where nothing is cut, nothing is measured.
    met: bool,
    /// The rate in bytes, where the queue's own meter does not measure that.
    meter: RateMeter,
    /// Bytes complete at the last round, and the rate that was found then.
    completed_bytes: u64,
    bytes_per_s: u64,
}

impl ChunkReassembler {
    pub(super) fn new(joiner: Joiner, split: LateSegmentation) -> Self {
        Self {
            joiner,
            back: 0,
            number: 0,
            time_ns: match split {
                LateSegmentation::Time(ns) => Some(ns),
                LateSegmentation::Off
                | LateSegmentation::Auto
                | LateSegmentation::LimitFraction(_)
                | LateSegmentation::EachSegment => None,
            },
            met: false,
            meter: RateMeter::new(),
            completed_bytes: 0,
            bytes_per_s: 0,
        }
    }

    /// A chunk came back. Its packet ends now or, if chunks did not come back in order, with the
    /// next [`join`](Self::join).
    #[inline]
    pub(super) fn back<S: PacketSink + ?Sized>(&mut self, chunk: &Packet, sink: &mut S) {
        let number = chunk.cut_number();
        if number != self.number {
            self.join(sink);
            self.number = number;
        }
        // Before the sink, which may panic.
        self.back += 1;
        sink.chunk_freed(chunk);
        if chunk.is_last_chunk() {
            self.join(sink);
        }
    }

    /// Counts the chunks that came back: one access to what two threads share for a row of them.
    #[inline(never)]
    pub(super) fn join<S: PacketSink + ?Sized>(&mut self, sink: &mut S) {
        let chunks = core::mem::take(&mut self.back);
        if chunks == 0 {
            return;
        }
        self.met = true;
        let Some(ended) = self.joiner.join(self.number, chunks) else {
            return;
        };
        match ended.reason {
            None => sink.freed(ended.whole),
            Some(reason) => sink.dropped(ended.whole, reason),
        }
    }

    /// Follows the rate with the length of the chunks. `rate_is_known`: the batch has it, in bytes.
    pub(super) fn record<M: Sharing>(
        &mut self,
        shared: &Shared<M>,
        batch: &CompletionBatch,
        unit: Unit,
        rate_is_known: bool,
    ) {
        let Some(time_ns) = self.time_ns.filter(|_| self.met) else {
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
        let left = batch.in_flight - batch.units;
        // Packets in flight are taken to be as long as those that completed.
        let each = bytes / batch.units.max(1);
        let (units, left, object) = match unit {
            Unit::Bytes => (batch.units, left, batch.last_object),
            Unit::Packets => (bytes, left.saturating_mul(each), each),
        };
        self.meter.record(RateSample {
            now_ns: batch.now_ns,
            units,
            left,
            object,
        });
        self.meter.units_per_s()
    }

    /// What was in flight is forgotten.
    pub(super) fn reset(&mut self) {
        self.meter.reset();
    }
}
