//! Settings of a limited device.

use alloc::boxed::Box;
use core::task::Waker;

use smoltcp::phy::Device;
use smoltcp::time::Instant;
use taut_path::qdisc::{CodelConfig, FqCodel, FqCodelConfig};
use taut_path::queue::QueueConfigError;
use taut_path::{AnyLimit, AnyQdisc, Probe, Queue};

use crate::frames::Frames;
use crate::limited::{Limited, Sent};
use crate::path::{Path, ns_of};
use crate::ring::Ring;
use crate::round::Round;

/// Slots of a device that does not say how many it has.
const SLOTS: u32 = 256;
/// What waits above the limit: enough for some sockets to have packets in the discipline, and few
/// enough that what a bulk sender has written waits in its socket.
const BACKLOG_PACKETS: u32 = 32;
/// Where many sockets send: more than a small stack has.
const LARGEST_BACKLOG_PACKETS: u32 = 256;
/// The largest setting: more than the ring of any device, and three of them fit into 32 bits.
const MOST: u32 = 1 << 16;
/// Answers in one go: as many as a poll usually receives.
const RESPONSE_FRAMES: u32 = 64;
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
    largest_backlog_packets: Option<u32>,
    response_frames: u32,
    waker: Waker,
}

impl<D: Device> Builder<D> {
    fn new(device: D) -> Self {
        Self {
            device,
            sent: None,
            qdisc: None,
            limit: None,
            probe: (),
            slots: None,
            backlog_packets: BACKLOG_PACKETS,
            largest_backlog_packets: None,
            response_frames: RESPONSE_FRAMES,
            waker: Waker::noop().clone(),
        }
    }
}

impl<D: Device, P: Probe> Builder<D, P> {
    /// How many frames the device has sent since it was made, wrapping at 2^32: it is asked at each
    /// call. Without it what a device takes counts as sent, and no limit holds; the discipline
    /// still does where the device refuses tokens. It is `Send` so that the [`Limited`] may be;
    /// what it reads of the device itself need not be.
    pub fn sent_counter(mut self, sent: impl FnMut(&mut D) -> u32 + Send + 'static) -> Self {
        self.sent = Some(Box::new(sent));
        self
    }

    /// The discipline. Default `fq_codel` that drops nothing which waits for less than a second: a
    /// stack that gets no token keeps its bytes, and needs no drop to be told.
    pub fn qdisc(mut self, qdisc: AnyQdisc) -> Self {
        self.qdisc = Some(qdisc);
        self
    }

    /// The limit. Default `taut`.
    pub fn limit(mut self, limit: AnyLimit) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Frames that the device may hold, 1 to 65,536. Default: its `max_burst_size`, else 256.
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = Some(slots);
        self
    }

    /// Packets above the limit at which a stack gets no more tokens until at most one is left, 1 to
    /// 65,536. Default 32. Where more sockets send, more may wait, so that each has its turn: see
    /// [`largest_backlog_packets`](Self::largest_backlog_packets).
    pub fn backlog_packets(mut self, packets: u32) -> Self {
        self.backlog_packets = packets;
        self
    }

    /// Packets above the limit at which a stack gets no more tokens in any case,
    /// [`backlog_packets`](Self::backlog_packets) to 65,536. Default 256, or `backlog_packets` if
    /// that is more.
    ///
    /// Between the two a stack gets tokens while more than three quarters of what it wrote since
    /// the backlog had drained were first packets of their flows: one bulk sender gets no more,
    /// many sockets a turn each. smoltcp serves its sockets from the first in each poll, so of more
    /// sockets that always have something to send than this, those at the end of the set get
    /// nothing. Frames that are no IP are one flow: there `backlog_packets` itself must be more
    /// than the sockets.
    pub fn largest_backlog_packets(mut self, packets: u32) -> Self {
        self.largest_backlog_packets = Some(packets);
        self
    }

    /// Frames kept for answers to what is received, 0 to 65,536. Default 64; answers beyond are
    /// dropped and counted.
    pub fn response_frames(mut self, frames: u32) -> Self {
        self.response_frames = frames;
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
            largest_backlog_packets: self.largest_backlog_packets,
            response_frames: self.response_frames,
            waker: self.waker,
        }
    }

    /// The device for a stack, whose clock begins at `timestamp`.
    ///
    /// A frame takes memory of the device's `max_transmission_unit` when it is first used, and
    /// keeps it: at most slots + largest backlog + answers of them.
    ///
    /// # Errors
    /// If slots (or the `max_burst_size` that stands for them) or a backlog is 0, if a setting is
    /// more than 65,536, or if the largest backlog is less than the other.
    pub fn build(mut self, timestamp: Instant) -> Result<Limited<D, P>, QueueConfigError> {
        let capabilities = self.device.capabilities();
        let slots = match (self.slots, capabilities.max_burst_size) {
            (Some(slots), _) => bounded("slots", slots as usize, 1)?,
            (None, Some(burst)) => bounded("max_burst_size", burst, 1)?,
            (None, None) => SLOTS,
        };
        let backlog = bounded("backlog_packets", self.backlog_packets as usize, 1)?;
        let largest = match self.largest_backlog_packets {
            Some(packets) => bounded("largest_backlog_packets", packets as usize, backlog)?,
            None => LARGEST_BACKLOG_PACKETS.max(backlog),
        };
        let response_frames = bounded("response_frames", self.response_frames as usize, 0)?;
        let told = self.sent.as_mut().map(|sent| sent(&mut self.device));
        let now_ns = ns_of(timestamp);
        let frames = slots + largest + response_frames;
        let limit = self.limit.unwrap_or_else(AnyLimit::taut);
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
                round: Round::new(backlog, largest),
                now_ns,
                told: told.unwrap_or(0),
                ready_ns: None,
                is_blocked: false,
                blocked_tokens: 0,
                dropped_responses: 0,
            },
            sent: self.sent,
            waker: self.waker,
        })
    }
}

impl<D: Device> Limited<D> {
    /// `fq_codel` and the limit `taut` in front of `device`, which says by `sent` how many frames
    /// it has sent since it was made, wrapping at 2^32. The clock begins at `timestamp`.
    ///
    /// # Errors
    /// If the device has room for no frame.
    pub fn new(
        device: D,
        timestamp: Instant,
        sent: impl FnMut(&mut D) -> u32 + Send + 'static,
    ) -> Result<Self, QueueConfigError> {
        Self::builder(device).sent_counter(sent).build(timestamp)
    }

    /// For other settings.
    pub fn builder(device: D) -> Builder<D> {
        Builder::new(device)
    }
}

/// The setting, if it is allowed.
fn bounded(name: &'static str, value: usize, least: u32) -> Result<u32, QueueConfigError> {
    u32::try_from(value)
        .ok()
        .filter(|value| (least..=MOST).contains(value))
        .ok_or(QueueConfigError::OutOfRange {
            name,
            value: value as u64,
            least: least.into(),
            most: MOST.into(),
        })
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
