//! The receiving end: puts the stream in order and acknowledges it (RFC 5681, 4.2; RFC 2018).

use super::config::{TcpConfig, TcpSettings};
use super::reassembly::Reassembly;
use super::segment::{Ack, SackBlocks};
use crate::NEVER_NS;

/// The receiving half of one end of a connection. Its application reads at once what is in order,
/// so that the window it offers is always the whole buffer.
#[derive(Debug)]
pub struct TcpReceiver {
    /// The first byte that is missing.
    next: u64,
    ack_at_ns: u64,
    /// Kept, once it was needed: the next loss finds its memory.
    out_of_order: Option<Box<Reassembly>>,
    unacked_segments: u32,
    /// Latched until the sender says that it knows (RFC 3168, 6.1.3).
    ece: bool,
    config: TcpSettings,
}

impl TcpReceiver {
    /// An established connection on which nothing has arrived.
    pub fn new(config: &TcpConfig) -> Self {
        Self::with(TcpSettings::new(config))
    }

    /// The same with settings that are shared.
    pub fn with(config: TcpSettings) -> Self {
        Self {
            next: 0,
            ack_at_ns: NEVER_NS,
            out_of_order: None,
            unacked_segments: 0,
            ece: false,
            config,
        }
    }

    /// A segment with the flag [`cwr`](super::Segment::cwr) arrives: call this just before
    /// [`on_segment`](Self::on_segment).
    pub fn on_cwr(&mut self) {
        self.ece = false;
    }

    /// Data arrives; `congestion_experienced` is its mark. `Some`: send this acknowledgement now,
    /// because it is the second segment (or as configured), or because something is or was missing.
    /// Data beyond the window is refused, and acknowledged with what is there.
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

    /// When a delayed acknowledgement falls due, in ns. May move at any call.
    #[inline]
    pub fn next_timer_ns(&self) -> Option<u64> {
        (self.ack_at_ns != NEVER_NS).then_some(self.ack_at_ns)
    }

    /// Time has come to `now_ns`. `Some`: send this acknowledgement now. Too early is harmless.
    pub fn on_timer(&mut self, now_ns: u64) -> Option<Ack> {
        (self.ack_at_ns <= now_ns).then(|| self.acknowledge())
    }

    /// The acknowledgement that is being delayed, to go with data in the other direction. `None`
    /// when none is.
    #[inline]
    pub fn take_ack(&mut self) -> Option<Ack> {
        (self.ack_at_ns != NEVER_NS).then(|| self.acknowledge())
    }

    /// What an acknowledgement would say now, delayed or not. A retransmission should carry it: the
    /// one that went with the original is lost too.
    #[inline]
    pub fn current_ack(&self) -> Ack {
        Ack {
            sack: self.blocks().unwrap_or_default(),
            ..self.plain_ack()
        }
    }

    /// The same without the ranges that are held out of order, which are [`blocks`](Self::blocks).
    #[inline]
    pub(crate) fn plain_ack(&self) -> Ack {
        Ack {
            cumulative: self.next,
            window_bytes: self.config.receive_buffer_bytes,
            sack: SackBlocks::default(),
            ece: self.ece,
        }
    }

    /// The ranges that are held out of order, if there are any.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> Option<SackBlocks> {
        let held = self.out_of_order.as_ref().filter(|held| !held.is_empty())?;
        Some(held.blocks(self.next))
    }

    /// Whether it gets the segments of a super-packet as one.
    pub fn aggregates(&self) -> bool {
        self.config.receive_aggregation
    }

    /// Bytes delivered to the application, in order and each once.
    pub fn delivered_bytes(&self) -> u64 {
        self.next
    }

    /// Bytes that arrived, each once: those delivered and those held out of order.
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
