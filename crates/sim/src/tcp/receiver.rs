//! The receiving end: puts the stream in order and acknowledges it (RFC 5681, 4.2; RFC 2018).

use std::sync::Arc;

use super::config::TcpConfig;
use super::reassembly::Reassembly;
use super::segment::{Ack, SackBlocks};
use crate::NEVER_NS;

/// The receiving half of one end of a connection. Its application reads in-order data at once, so
/// the offered window is always the whole buffer.
#[derive(Debug)]
pub struct TcpReceiver {
    /// The first byte that is missing.
    next: u64,
    ack_at_ns: u64,
    /// Allocated at the first loss and then kept.
    out_of_order: Option<Box<Reassembly>>,
    unacked_segments: u32,
    /// Set until the sender confirms the reduction with CWR (RFC 3168, 6.1.3).
    ece: bool,
    config: Arc<TcpConfig>,
}

impl TcpReceiver {
    /// Creates an established connection on which nothing has arrived.
    pub fn new(config: &TcpConfig) -> Self {
        Self::with(Arc::new(config.in_range()))
    }

    /// Creates one with shared settings, whose values are in range.
    pub(crate) fn with(config: Arc<TcpConfig>) -> Self {
        Self {
            next: 0,
            ack_at_ns: NEVER_NS,
            out_of_order: None,
            unacked_segments: 0,
            ece: false,
            config,
        }
    }

    /// Processes the flag [`cwr`](super::Segment::cwr) of a segment. Call it just before
    /// [`on_segment`](Self::on_segment).
    pub fn on_cwr(&mut self) {
        self.ece = false;
    }

    /// Processes arriving data; `congestion_experienced` is its mark. Returns an acknowledgement to
    /// send now, for every second segment (or as configured) and during or after a gap. Data beyond
    /// the window is dropped and acknowledged.
    #[inline(always)]
    pub fn on_segment(
        &mut self,
        start: u64,
        payload_bytes: u32,
        congestion_experienced: bool,
        now_ns: u64,
    ) -> Option<Ack> {
        self.ece |= congestion_experienced && self.config.ecn;
        if payload_bytes == 0 {
            return None;
        }
        let end = start.saturating_add(u64::from(payload_bytes));
        if start > self.next || end <= self.next {
            let window_end = self
                .next
                .saturating_add(u64::from(self.config.receive_buffer_bytes));
            if start > self.next && end <= window_end {
                self.out_of_order.get_or_insert_default().insert(start, end);
            }
            return Some(self.acknowledge());
        }
        self.next = end;
        if let Some(held) = &mut self.out_of_order
            && !held.is_empty()
        {
            // RFC 5681, 4.2: at once when a gap is filled, even in part.
            self.next = held.deliver(end);
            return Some(self.acknowledge());
        }
        self.unacked_segments += 1;
        let is_urgent = congestion_experienced && self.config.marks_at_once;
        if self.unacked_segments >= self.config.delayed_ack_segments || is_urgent {
            return Some(self.acknowledge());
        }
        if self.ack_at_ns == NEVER_NS {
            self.ack_at_ns = now_ns.saturating_add(self.config.delayed_ack_ns);
        }
        None
    }

    /// Returns the time at which a delayed acknowledgement is due, in ns. Can change at any call.
    #[inline]
    pub fn next_timer_ns(&self) -> Option<u64> {
        (self.ack_at_ns != NEVER_NS).then_some(self.ack_at_ns)
    }

    /// Processes a timer at `now_ns`. Returns an acknowledgement to send now. A call before the
    /// timer is due has no effect.
    pub fn on_timer(&mut self, now_ns: u64) -> Option<Ack> {
        (self.ack_at_ns <= now_ns).then(|| self.acknowledge())
    }

    /// Takes the delayed acknowledgement, to send it with data in the other direction; `None` if
    /// there is none.
    #[inline]
    pub fn take_ack(&mut self) -> Option<Ack> {
        (self.ack_at_ns != NEVER_NS).then(|| self.acknowledge())
    }

    /// Returns the current acknowledgement, whether delayed or not. A retransmission should carry
    /// it, because the original's acknowledgement is lost too.
    #[inline]
    pub fn current_ack(&self) -> Ack {
        Ack {
            sack: self.blocks().unwrap_or_default(),
            ..self.plain_ack()
        }
    }

    /// Returns the current acknowledgement without the out-of-order ranges (see
    /// [`blocks`](Self::blocks)).
    #[inline]
    pub(crate) fn plain_ack(&self) -> Ack {
        Ack {
            cumulative: self.next,
            window_bytes: self.config.receive_buffer_bytes,
            sack: SackBlocks::default(),
            ece: self.ece,
        }
    }

    /// Returns the out-of-order ranges, if there are any.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> Option<SackBlocks> {
        let held = self.out_of_order.as_ref().filter(|held| !held.is_empty())?;
        Some(held.blocks(self.next))
    }

    /// Returns `true` if the receiver gets the segments of a GSO packet as one.
    pub fn aggregates(&self) -> bool {
        self.config.receive_aggregation
    }

    /// Returns the bytes delivered to the application, in order and each once.
    pub fn delivered_bytes(&self) -> u64 {
        self.next
    }

    /// Returns the bytes that arrived, each once: delivered or out of order.
    pub fn arrived_bytes(&self) -> u64 {
        self.next + self.out_of_order.as_ref().map_or(0, |held| held.bytes())
    }

    #[inline]
    fn acknowledge(&mut self) -> Ack {
        self.unacked_segments = 0;
        self.ack_at_ns = NEVER_NS;
        self.current_ack()
    }
}
