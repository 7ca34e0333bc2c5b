//! Settings of a limited device.

use alloc::boxed::Box;
use core::task::Waker;

use smoltcp::phy::Device;
use smoltcp::time::Instant;
use taut_path::limit::Ladder;
use taut_path::qdisc::{CodelConfig, FqCodel, FqCodelConfig};
use taut_path::queue::QueueConfigError;
use taut_path::{AnyLimit, AnyQdisc, Probe, Queue};

use crate::frames::Frames;
use crate::limited::{Limited, Sent};
use crate::path::{Path, ns_of};
use crate::ring::Ring;

/// Slots of a device that does not say how many it has.
const SLOTS: u32 = 256;
/// What waits above the limit: enough for some sockets to have a packet each in the discipline, and few
/// enough that what a bulk sender has written waits in its socket.
const BACKLOG_PACKETS: u32 = 32;
/// Answers in one go: as many as a poll usually receives.
const ANSWERS: u32 = 64;
/// Far more than the backlog waits on a link of 1 Mbit/s.
const WAIT_NS: u64 = 1_000_000_000;
/// Many times the sockets of a small stack.
const FLOWS: u32 = 64;

/// Settings of a [`Limited`]; from [`Limited::builder`].
#[must_use = "nothing happens before `build`"]
pub struct Builder<D, P = ()> {
    device: D,
    sent: Option<Sent<D>>,
    qdisc: Option<AnyQdisc>,
    limit: Option<AnyLimit>,
    probe: P,
    slots: Option<u32>,
    backlog_packets: u32,
    answers: u32,
    waker: Waker,
}

impl<D: Device> Builder<D> {
    pub(crate) fn new(device: D) -> Self {
        Self {
            device,
            sent: None,
            qdisc: None,
            limit: None,
            probe: (),
            slots: None,
            backlog_packets: BACKLOG_PACKETS,
            answers: ANSWERS,
            waker: Waker::noop().clone(),
        }
    }
}

impl<D: Device, P: Probe> Builder<D, P> {
    /// How many frames the device has sent since it was made, wrapping at 2^32: it is asked at each call.
    /// Without it what a device takes counts as sent, and no limit holds; the discipline still does where
    /// the device refuses tokens.
    pub fn sent(mut self, sent: impl FnMut(&mut D) -> u32 + Send + 'static) -> Self {
        self.sent = Some(Box::new(sent));
        self
    }

    /// The discipline. Default `fq_codel` that drops nothing which waits for less than a second: a stack
    /// that gets no token keeps its bytes, and needs no drop to be told.
    pub fn qdisc(mut self, qdisc: AnyQdisc) -> Self {
        self.qdisc = Some(qdisc);
        self
    }

    /// The limit. Default `taut`.
    pub fn limit(mut self, limit: AnyLimit) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Frames that the device may hold, at least 1. Default: its `max_burst_size`, else 256.
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = Some(slots);
        self
    }

    /// Packets above the limit at which a stack gets no more tokens, at least 1. Default 32. smoltcp serves
    /// its sockets from the first in each poll, so let it be more than the sockets that send.
    pub fn backlog_packets(mut self, packets: u32) -> Self {
        self.backlog_packets = packets;
        self
    }

    /// Frames kept for answers to what is received. Default 64; answers beyond are dropped and counted.
    pub fn answers(mut self, frames: u32) -> Self {
        self.answers = frames;
        self
    }

    /// Woken by [`Limited::complete`] when there is room for a stack that found none.
    pub fn waker(mut self, waker: Waker) -> Self {
        self.waker = waker;
        self
    }

    /// Who watches the queue.
    pub fn probe<R: Probe>(self, probe: R) -> Builder<D, R> {
        Builder {
            device: self.device,
            sent: self.sent,
            qdisc: self.qdisc,
            limit: self.limit,
            probe,
            slots: self.slots,
            backlog_packets: self.backlog_packets,
            answers: self.answers,
            waker: self.waker,
        }
    }

    /// The device for a stack, whose clock begins at `timestamp`.
    ///
    /// # Errors
    /// If a setting is 0.
    pub fn build(mut self, timestamp: Instant) -> Result<Limited<D, P>, QueueConfigError> {
        if self.backlog_packets == 0 {
            return Err(QueueConfigError::Zero("backlog_packets"));
        }
        let capabilities = self.device.capabilities();
        let burst = capabilities.max_burst_size.map(|packets| packets as u32);
        let slots = self.slots.or(burst).unwrap_or(SLOTS);
        let told = self.sent.as_mut().map(|sent| sent(&mut self.device));
        let now_ns = ns_of(timestamp);
        let frames = slots + self.backlog_packets + self.answers;
        let limit = self
            .limit
            .unwrap_or_else(|| AnyLimit::new(Ladder::default()));
        let queue = Queue::builder_for(Ring::new(slots, self.sent.is_some()))
            .qdisc(self.qdisc.unwrap_or_else(|| turns_of_flows(frames)))
            .limit(limit)
            .probe(self.probe)
            .build(now_ns)?;
        Ok(Limited {
            device: self.device,
            path: Path {
                queue,
                frames: Frames::new(frames, capabilities.max_transmission_unit),
                medium: capabilities.medium,
                backlog_packets: self.backlog_packets.into(),
                answer_frames: self.answers as usize,
                now_ns,
                told: told.unwrap_or(0),
                ready_ns: None,
                is_refused: false,
                refused_tokens: 0,
                dropped_answers: 0,
                stalls: 0,
            },
            sent: self.sent,
            waker: self.waker,
        })
    }
}

/// Each flow in its turn, and room for all frames.
fn turns_of_flows(frames: u32) -> AnyQdisc {
    let codel = CodelConfig {
        target_ns: WAIT_NS,
        interval_ns: 2 * WAIT_NS,
        ..CodelConfig::default()
    };
    let config = FqCodelConfig {
        limit_packets: frames,
        flows: FLOWS,
        codel,
        ..FqCodelConfig::default()
    };
    AnyQdisc::new("fq_codel", FqCodel::new(config))
}
