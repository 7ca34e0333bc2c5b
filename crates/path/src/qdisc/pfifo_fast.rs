//! Three strict bands, chosen by the packet's priority.

use super::bounded_ring::capacity;
use super::fifo::Fifo;
use super::seam::{Backlog, Burst, Qdisc, RequeueSupport};
use crate::packet::{DropReason, Packet, PacketSink};

/// Band of each priority, 0 served first: the map that `tc qdisc show` prints.
const BAND_OF_PRIORITY: [usize; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// The scope of the packet limit of [`PfifoFast`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BandLimit {
    /// Each band separately, as in the kernel since 2018.
    #[default]
    Each,
    /// All three together, as in earlier kernels.
    Total,
}

/// `pfifo_fast`: three strict bands; a packet of a lower band waits until the higher ones are
/// empty.
#[derive(Debug)]
pub struct PfifoFast {
    bands: [Fifo; 3],
    limit_packets: u32,
    scope: BandLimit,
}

impl PfifoFast {
    /// Bands for `limit_packets` packets, each or together depending on `scope`. The number is
    /// clamped to 1,000,000; 0 drops every packet.
    pub fn new(limit_packets: u32, scope: BandLimit) -> Self {
        let bands = core::array::from_fn(|_| Fifo::new(limit_packets));
        Self {
            bands,
            limit_packets: capacity(limit_packets) as u32,
            scope,
        }
    }

    #[inline]
    fn band_of(packet: &Packet) -> usize {
        BAND_OF_PRIORITY[usize::from(packet.priority & 0xf)]
    }
}

impl Qdisc for PfifoFast {
    // Always inlined, so that a new packet is written directly to its slot and not twice.
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        if self.scope == BandLimit::Total && !self.accepts(&packet) {
            return sink.dropped(packet, DropReason::QueueFull);
        }
        self.bands[Self::band_of(&packet)].enqueue(packet, now_ns, sink);
    }

    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        let mut bands = self.bands.iter_mut();
        bands.find(|band| !band.is_empty())?.dequeue(now_ns, sink)
    }

    #[inline(always)]
    fn dequeue_burst(&mut self, _now_ns: u64, burst: &mut dyn Burst) {
        // The search is repeated for each packet: a burst often has one packet, and a loop for each
        // band needs more registers than available.
        while let Some(band) = self.bands.iter_mut().find(|band| !band.is_empty()) {
            if !burst.push(band.take_first()) {
                break;
            }
        }
    }

    /// The band of the remainder is the first that is not empty, because nothing was enqueued
    /// since.
    #[inline]
    fn requeue_support(&self) -> RequeueSupport {
        RequeueSupport::Next
    }

    fn requeue(&mut self, remainder: Packet, unsent_bytes: u32, now_ns: u64) -> Result<(), Packet> {
        self.bands[Self::band_of(&remainder)].requeue(remainder, unsent_bytes, now_ns)
    }

    fn drain(&mut self, on_packet: &mut dyn FnMut(Packet)) {
        self.bands.iter_mut().for_each(|band| band.drain(on_packet));
    }

    #[inline]
    fn accepts(&self, packet: &Packet) -> bool {
        match self.scope {
            BandLimit::Each => self.bands[Self::band_of(packet)].accepts(packet),
            BandLimit::Total => self.backlog().packets < u64::from(self.limit_packets),
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        let mut all = Backlog::default();
        for band in &self.bands {
            all.packets += band.backlog().packets;
            all.bytes += band.backlog().bytes;
        }
        all
    }

    fn max_packets(&self) -> Option<u32> {
        let bands = match self.scope {
            BandLimit::Each => self.bands.len() as u32,
            BandLimit::Total => 1,
        };
        let of_a_band = self.bands[0].max_packets();
        of_a_band.map(|packets| bands * packets)
    }
}
