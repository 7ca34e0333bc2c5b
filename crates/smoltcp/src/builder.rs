//! Settings of a limited device.

use alloc::boxed::Box;
use core::task::Waker;

use smoltcp::phy::Device;
use smoltcp::time::Instant;
use taut_path::qdisc::{CodelConfig, FqCodel, FqCodelConfig};
use taut_path::queue::QueueConfigError;
use taut_path::{AnyLimit, AnyQdisc, Queue};

use crate::frames::Frames;
use crate::limited::{Limited, SentCounter};
use crate::path::{Path, ns_of};
use crate::ring::Ring;
use crate::round::Round;

/// Slots of a device without a `max_burst_size`.
const SLOTS: u32 = 256;
/// Backlog above the limit: enough for some sockets to have packets in the discipline, and few
/// enough that the data of a bulk sender stays in its socket.
const BACKLOG_PACKETS: u32 = 32;
/// Backlog limit with many sockets: more sockets than a small stack has.
const LARGEST_BACKLOG_PACKETS: u32 = 256;
/// Largest setting: more slots than any device has, and three of them fit into 32 bits.
const MAX_SETTING: u32 = 1 << 16;
/// Responses in one poll: as many frames as a poll usually receives.
const RESPONSE_FRAMES: u32 = 64;
/// Far longer than the sojourn time of the backlog on a link of 1 Mbit/s.
const WAIT_NS: u64 = 1_000_000_000;
/// Many times the number of sockets of a small stack.
const FLOWS: u32 = 64;

/// Builder of a [`Limited`]; created by [`Limited::builder`].
#[must_use = "nothing happens before `build`"]
pub struct Builder<D> {
    device: D,
    sent_counter: Option<SentCounter<D>>,
    qdisc: Option<AnyQdisc>,
    limit: Option<AnyLimit>,
    slots: Option<u32>,
    backlog_packets: u32,
    largest_backlog_packets: Option<u32>,
    response_frames: u32,
    waker: Waker,
}

impl<D: Device> Builder<D> {
    /// Sets the function that reads the device's count of sent frames, wrapping at 2^32. It is
    /// called in each call of the [`Limited`].
    ///
    /// Without it, a frame counts as sent when the device accepts it, and no limit applies. The
    /// discipline still works if the device rejects tokens. The function is `Send` so that the
    /// [`Limited`] can be; the parts of the device that it reads need not be.
    pub fn sent_counter(mut self, sent: impl FnMut(&mut D) -> u32 + Send + 'static) -> Self {
        self.sent_counter = Some(Box::new(sent));
        self
    }

    /// Sets the discipline. The default is an `fq_codel` that drops no packet with a sojourn time
    /// below one second: a stack without a token keeps its data, and needs no drop as a signal.
    pub fn qdisc(mut self, qdisc: AnyQdisc) -> Self {
        self.qdisc = Some(qdisc);
        self
    }

    /// Sets the limit. Default `taut`.
    pub fn limit(mut self, limit: AnyLimit) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Sets the number of frames that the device can hold, 1 to 65,536. Default: its
    /// `max_burst_size`, else 256.
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = Some(slots);
        self
    }

    /// Sets the backlog above the limit, in packets, at which the stack gets no tokens until at
    /// most one packet is left: 1 to 65,536. Default 32. With more sending sockets the backlog can
    /// be larger, so that each is served: see
    /// [`largest_backlog_packets`](Self::largest_backlog_packets).
    pub fn backlog_packets(mut self, packets: u32) -> Self {
        self.backlog_packets = packets;
        self
    }

    /// Sets the backlog above the limit, in packets, at which the stack never gets tokens:
    /// [`backlog_packets`](Self::backlog_packets) to 65,536. Default 256, or `backlog_packets` if
    /// that is more.
    ///
    /// Between the two bounds, a stack gets tokens while more than three quarters of the packets
    /// written since the backlog drained were the first of their flow. A single bulk sender gets no
    /// more tokens; with many sockets, each gets one.
    ///
    /// smoltcp serves its sockets from the first in each poll. If more sockets than this always
    /// have data to send, the last ones in the set are starved. Frames that are not IP count as one
    /// flow: for them, `backlog_packets` itself must exceed the number of sockets.
    pub fn largest_backlog_packets(mut self, packets: u32) -> Self {
        self.largest_backlog_packets = Some(packets);
        self
    }

    /// Sets the number of frames reserved for responses to received frames, 0 to 65,536. Default
    /// 64. Further responses are dropped and counted.
    pub fn response_frames(mut self, frames: u32) -> Self {
        self.response_frames = frames;
        self
    }

    /// Sets the waker that [`Limited::complete`] wakes when a blocked stack has room again.
    pub fn waker(mut self, waker: Waker) -> Self {
        self.waker = waker;
        self
    }

    /// Builds the device for a stack whose clock starts at `timestamp`.
    ///
    /// A frame allocates `max_transmission_unit` bytes when it is first used, and keeps them. At
    /// most slots + largest backlog + response frames are allocated.
    ///
    /// # Errors
    /// Returns an error if slots (or the `max_burst_size` used instead) or a backlog is 0, if a
    /// setting is more than 65,536, or if the largest backlog is smaller than the other.
    pub fn build(mut self, timestamp: Instant) -> Result<Limited<D>, QueueConfigError> {
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
        let counter = self.sent_counter.as_mut();
        let sent_count = counter.map(|counter| counter(&mut self.device));
        let now_ns = ns_of(timestamp);
        let frames = slots + largest + response_frames;
        let limit = self.limit.unwrap_or_else(AnyLimit::taut);
        let queue = Queue::builder_for(Ring::new(slots, sent_count.is_some()))
            .qdisc(self.qdisc.unwrap_or_else(|| default_qdisc(frames)))
            .limit(limit)
            .build(now_ns)?;
        Ok(Limited {
            device: self.device,
            path: Path {
                queue,
                frames: Frames::new(frames, capabilities.max_transmission_unit),
                medium: capabilities.medium,
                round: Round::new(backlog, largest),
                now_ns,
                ready_ns: None,
                is_blocked: false,
                blocked_tokens: 0,
                dropped_responses: 0,
            },
            sent_counter: self.sent_counter,
            sent_count: sent_count.unwrap_or(0),
            waker: self.waker,
        })
    }
}

impl<D: Device> Limited<D> {
    /// Puts `fq_codel` and the limit `taut` in front of `device`. `sent` returns the number of
    /// frames that the device has sent, wrapping at 2^32. The clock starts at `timestamp`.
    ///
    /// # Errors
    /// Returns an error if the device has room for no frame.
    pub fn new(
        device: D,
        timestamp: Instant,
        sent: impl FnMut(&mut D) -> u32 + Send + 'static,
    ) -> Result<Self, QueueConfigError> {
        Self::builder(device).sent_counter(sent).build(timestamp)
    }

    /// Returns a builder, for other settings.
    pub fn builder(device: D) -> Builder<D> {
        Builder {
            device,
            sent_counter: None,
            qdisc: None,
            limit: None,
            slots: None,
            backlog_packets: BACKLOG_PACKETS,
            largest_backlog_packets: None,
            response_frames: RESPONSE_FRAMES,
            waker: Waker::noop().clone(),
        }
    }
}

/// Returns the setting if it is in the allowed range.
fn bounded(name: &'static str, value: usize, min: u32) -> Result<u32, QueueConfigError> {
    u32::try_from(value)
        .ok()
        .filter(|value| (min..=MAX_SETTING).contains(value))
        .ok_or(QueueConfigError::OutOfRange {
            name,
            value: value as u64,
            min: min.into(),
            max: MAX_SETTING.into(),
        })
}

/// A flow-queueing discipline with room for all frames.
fn default_qdisc(frames: u32) -> AnyQdisc {
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
