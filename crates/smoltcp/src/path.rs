//! The path of a frame from the stack to the device.

use smoltcp::phy::{Device, Medium, TxToken};
use smoltcp::time::Instant;
use taut_path::classify::{self, FrameClass};
use taut_path::{Ecn, Frame, Packet, Queue, Stop};

use crate::frames::Frames;
use crate::ring::Ring;
use crate::round::Round;

/// Everything except the device.
pub(crate) struct Path {
    pub(crate) queue: Queue<Ring>,
    pub(crate) frames: Frames,
    pub(crate) medium: Medium,
    /// Decides if the stack gets a token.
    pub(crate) round: Round,
    pub(crate) now_ns: u64,
    /// When the discipline has its next packet ready.
    pub(crate) ready_ns: Option<u64>,
    /// A token was rejected, and the stack was not notified of room since.
    pub(crate) is_blocked: bool,
    pub(crate) blocked_tokens: u64,
    pub(crate) dropped_responses: u64,
}

impl Path {
    /// Time of the queue: monotonic and not negative.
    pub(crate) fn at(&mut self, timestamp: Instant) -> u64 {
        self.now_ns = self.now_ns.max(ns_of(timestamp));
        self.now_ns
    }

    /// Returns `true` if the stack gets a token. A frame exists for each token: their number is the
    /// sum of the ring slots, the largest backlog and the response frames.
    pub(crate) fn has_room(&mut self) -> bool {
        self.round.admit(self.queue.backlog().packets)
    }

    /// Reaps the completions of the device, which sent `newly_sent` frames. Sends the packets that
    /// the limit admits.
    pub(crate) fn poll<D: Device>(&mut self, device: &mut D, newly_sent: u32, timestamp: Instant) {
        let now_ns = self.at(timestamp);
        self.queue.device_mut().complete(newly_sent);
        loop {
            // Cannot fail: this ring never reports unknown completions.
            let _ = self.queue.complete(now_ns, &mut self.frames);
            self.ready_ns = match self.queue.run(now_ns, &mut self.frames) {
                Stop::NotReady(at_ns) => Some(at_ns),
                _ => None,
            };
            let has_moved = self.hand_over(device, timestamp);
            // A device without a counter completes a frame when it accepts it.
            if !has_moved || self.queue.device().has_sent_counter {
                return;
            }
        }
    }

    fn hand_over<D: Device>(&mut self, device: &mut D, timestamp: Instant) -> bool {
        let mut has_moved = false;
        while let Some(packet) = self.queue.device().next() {
            let Some(mut token) = device.transmit(timestamp) else {
                break;
            };
            let buffer = self.frames.buffer_mut(packet.frame());
            token.set_meta(buffer.meta);
            let bytes = &mut buffer.bytes;
            if packet.ecn() == Ecn::Marked {
                mark(self.medium, bytes);
            }
            token.consume(bytes.len(), |space| space.copy_from_slice(bytes));
            self.queue.device_mut().taken();
            has_moved = true;
        }
        has_moved
    }

    /// Passes a frame of the stack to the discipline.
    pub(crate) fn enqueue(&mut self, frame: Frame) {
        let bytes = &self.frames.buffer_mut(&frame).bytes;
        let class = classify(self.medium, bytes);
        let wire_bytes = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let mut packet = Packet::new(frame, wire_bytes);
        packet.priority = class.priority;
        packet.flow = class.flow;
        packet.set_ecn(class.ecn);
        self.round.count(class.flow);
        self.queue.enqueue(packet, self.now_ns, &mut self.frames);
    }
}

/// A negative time counts as 0.
pub(crate) fn ns_of(timestamp: Instant) -> u64 {
    let us = u64::try_from(timestamp.total_micros()).unwrap_or(0);
    us.saturating_mul(1000)
}

fn classify(medium: Medium, bytes: &[u8]) -> FrameClass {
    match medium {
        Medium::Ethernet => classify::classify(bytes),
        Medium::Ip => classify::classify_ip(bytes),
        // IEEE 802.15.4: its headers are not classified.
        #[allow(unreachable_patterns)] // The features of smoltcp determine the other media.
        _ => FrameClass::default(),
    }
}

fn mark(medium: Medium, bytes: &mut [u8]) {
    match medium {
        Medium::Ethernet => classify::mark_congestion(bytes),
        Medium::Ip => classify::mark_congestion_ip(bytes),
        #[allow(unreachable_patterns)]
        _ => false,
    };
}
