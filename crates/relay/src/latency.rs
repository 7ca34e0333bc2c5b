//! Latency of packets from submission to completion.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hdrhistogram::Histogram;
use taut_measure::meter::histogram_ns;
use taut_path::{Event, Packet, Probe};

/// When the packet in each frame was sent, in ns. Written by a probe of the queue.
#[derive(Debug, Clone)]
pub struct SentTimes(Arc<[AtomicU64]>);

impl SentTimes {
    pub(crate) fn new(frames: u32) -> Self {
        Self((0..frames).map(|_| AtomicU64::new(0)).collect())
    }

    fn of(&self, packet: &Packet) -> Option<&AtomicU64> {
        self.0.get(packet.frame().index() as usize)
    }
}

impl Probe for SentTimes {
    #[inline(always)]
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        if let Event::Sent(packet) = event
            && let Some(sent_ns) = self.of(packet)
        {
            // Written and read on one thread.
            sent_ns.store(now_ns, Ordering::Relaxed);
        }
    }
}

/// The latencies of completed packets.
#[derive(Debug)]
pub struct Latency {
    sent: SentTimes,
    pub(crate) all_ns: Histogram<u64>,
}

impl Latency {
    pub(crate) fn new(sent: SentTimes) -> Self {
        Self {
            sent,
            all_ns: histogram_ns(),
        }
    }

    #[inline]
    pub(crate) fn completed(&mut self, packet: &Packet, now_ns: u64) {
        if let Some(sent_ns) = self.sent.of(packet) {
            let latency_ns = now_ns.saturating_sub(sent_ns.load(Ordering::Relaxed));
            self.all_ns.saturating_record(latency_ns);
        }
    }
}
