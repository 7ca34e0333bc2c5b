//! From a frame that the stack wrote to the device.

use alloc::vec;

use smoltcp::phy::{Device, Medium, TxToken};
use smoltcp::time::Instant;
use taut_path::classify::{self, FrameClass};
use taut_path::{AnyLimit, AnyQdisc, Ecn, Frame, Packet, Probe, Queue, Stop};

use crate::frames::Frames;
use crate::ring::Ring;

/// Everything that is not the device.
pub(crate) struct Path<P> {
    pub(crate) queue: Queue<Ring, AnyLimit, AnyQdisc, P>,
    pub(crate) frames: Frames,
    pub(crate) medium: Medium,
    /// What may wait above the limit before a stack gets no more tokens.
    pub(crate) backlog_packets: u64,
    /// Frames kept for answers to what was received.
    pub(crate) answer_frames: usize,
    pub(crate) now_ns: u64,
    /// What the device said last.
    pub(crate) told: u32,
    /// When something in the discipline is ready that is not yet.
    pub(crate) ready_ns: Option<u64>,
    /// A token was refused, and nobody was told of room since.
    pub(crate) is_refused: bool,
    pub(crate) refused_tokens: u64,
    pub(crate) dropped_answers: u64,
    pub(crate) stalls: u64,
}

impl<P: Probe> Path<P> {
    /// Time of the queue: never back, and nothing before 0.
    pub(crate) fn at(&mut self, timestamp: Instant) -> u64 {
        self.now_ns = self.now_ns.max(ns_of(timestamp));
        self.now_ns
    }

    pub(crate) fn has_room(&self) -> bool {
        self.queue.backlog().packets < self.backlog_packets
            && self.frames.free() > self.answer_frames
    }

    /// Takes what the device finished, and gives it what the limit lets through.
    pub(crate) fn turn<D: Device + ?Sized>(
        &mut self,
        device: &mut D,
        told: Option<u32>,
        timestamp: Instant,
    ) {
        let now_ns = self.at(timestamp);
        if let Some(told) = told {
            let news = told.wrapping_sub(core::mem::replace(&mut self.told, told));
            self.queue.device_mut().finish(news);
        }
        loop {
            // An error would name packets that the ring made up, which this one cannot.
            if let Ok(completed) = self.queue.complete(now_ns, &mut self.frames) {
                self.stalls += u64::from(completed.stalled.is_some());
            }
            self.ready_ns = match self.queue.run(now_ns, &mut self.frames) {
                Stop::NotReady(at_ns) => Some(at_ns),
                _ => None,
            };
            let has_moved = self.hand_over(device, timestamp);
            // A device that says nothing is done with what it took.
            if !has_moved || self.queue.device().is_told {
                return;
            }
        }
    }

    fn hand_over<D: Device + ?Sized>(&mut self, device: &mut D, timestamp: Instant) -> bool {
        let mut has_moved = false;
        while let Some(packet) = self.queue.device().next() {
            let Some(token) = device.transmit(timestamp) else {
                break;
            };
            let length = packet.wire_bytes() as usize;
            let bytes = self.frames.bytes_mut(packet.frame(), length);
            if packet.ecn() == Ecn::Marked {
                mark(self.medium, bytes);
            }
            token.consume(length, |space| space.copy_from_slice(bytes));
            self.queue.device_mut().taken();
            has_moved = true;
        }
        has_moved
    }

    /// Lets `write` make a frame of `length` bytes, and hands it to the discipline.
    pub(crate) fn write<R>(
        &mut self,
        frame: Option<Frame>,
        length: usize,
        write: impl FnOnce(&mut [u8]) -> R,
    ) -> R {
        let Some(frame) = frame else {
            self.dropped_answers += 1;
            return write(&mut vec![0; length]);
        };
        let bytes = self.frames.bytes_mut(&frame, length);
        let written = write(bytes);
        let class = classify(self.medium, bytes);
        let mut packet = Packet::new(frame, length as u32);
        packet.priority = class.priority;
        packet.flow = class.flow;
        packet.set_ecn(class.ecn);
        self.queue.enqueue(packet, self.now_ns, &mut self.frames);
        written
    }
}

/// What is before 0 counts as 0.
pub(crate) fn ns_of(timestamp: Instant) -> u64 {
    let us = u64::try_from(timestamp.total_micros()).unwrap_or(0);
    us.saturating_mul(1000)
}

fn classify(medium: Medium, bytes: &[u8]) -> FrameClass {
    match medium {
        Medium::Ethernet => classify::classify(bytes),
        #[allow(unreachable_patterns)] // Which media there are, the features of smoltcp say.
        _ => classify::classify_ip(bytes),
    }
}

fn mark(medium: Medium, bytes: &mut [u8]) {
    match medium {
        Medium::Ethernet => classify::mark_congestion(bytes),
        #[allow(unreachable_patterns)]
        _ => classify::mark_congestion_ip(bytes),
    };
}
