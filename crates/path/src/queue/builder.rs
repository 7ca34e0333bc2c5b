//! How a queue is made.

use alloc::boxed::Box;
use core::task::Waker;

use taut_dql::{MAX_LIMIT, StallWatch};

use super::complete_side::CompleteSide;
use super::error::QueueConfigError;
use super::one_thread::Queue;
use super::send_side::SendSide;
use super::shared::Shared;
use crate::driver::{Completions, TxRing};
use crate::ledger::Ledger;
use crate::limit::{AnyLimit, Limit};
use crate::packet::{PacketSink, SentMark};
use crate::probe::{Event, Probe};
use crate::qdisc::{AnyQdisc, Qdisc};
use crate::sharing::{Local, Word};
use crate::split::{Split, table};

/// How a queue is set up, besides its parts.
#[derive(Debug, Clone)]
pub struct QueueConfig {
    /// Free slots at which a queue that stopped for a full ring starts again: the low watermark.
    /// 1 to the ring; best between 1/2 and 3/4 of it, since it must be refilled before it drains.
    /// Half of the ring if `None`.
    pub restart_slots: Option<u32>,
    /// Most packets for one doorbell, at least 1. Default 64, the most that the kernel's bulk
    /// dequeue puts behind one.
    pub burst_packets: u32,
    /// Most packets reaped in one round, at least 1. Default the whole ring at once: the limit wants
    /// whole rounds, not slices of them.
    pub reap_budget_packets: u32,
    /// How far apart completions are handed to the limit, in ns; 0, the default, hands on each
    /// round at once. Packets and slots come back at once in any case.
    pub cadence_ns: u64,
    /// Age of the oldest unit in flight that counts as a stall, in ns; 0 watches nothing. Default
    /// [`StallWatch::DEFAULT_THRESHOLD_NS`].
    pub stall_threshold_ns: u64,
    /// How super-packets go to a driver that takes pieces; one that sends single segments is given those
    /// unless it is off. Default [`Split::Auto`]. At most 511 are cut at a time;
    /// another then goes whole. With pieces, about 50 KB more are allocated.
    pub split: Split,
    /// Wakes a sender that waits for room; see [`Queue::must_wait`].
    pub waker: Waker,
    /// Wakes whoever completes when somebody else asks for a reset or changes a setting.
    pub completer_waker: Waker,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            restart_slots: None,
            burst_packets: 64,
            reap_budget_packets: u32::MAX,
            cadence_ns: 0,
            stall_threshold_ns: StallWatch::DEFAULT_THRESHOLD_NS,
            split: Split::Auto,
            waker: Waker::noop().clone(),
            completer_waker: Waker::noop().clone(),
        }
    }
}

impl QueueConfig {
    /// Checks it against a ring of `slots`; returns the low watermark.
    fn validate(&self, slots: u32, slots_of_largest: u32) -> Result<u32, QueueConfigError> {
        let at_least_one = [
            ("restart_slots", self.restart_slots.unwrap_or(1)),
            ("burst_packets", self.burst_packets),
            ("reap_budget_packets", self.reap_budget_packets),
        ];
        if let Some((name, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return Err(QueueConfigError::Zero(name));
        }
        if slots_of_largest > slots || slots == 0 {
            return Err(QueueConfigError::LargestAboveRing {
                slots_of_largest,
                slots,
            });
        }
        let restart_slots = self.restart_slots.unwrap_or((slots / 2).max(1));
        // A queue that waits for more slots than there are never starts again.
        if restart_slots > slots {
            return Err(QueueConfigError::RestartAboveRing {
                restart_slots,
                slots,
            });
        }
        Ok(restart_slots)
    }
}

/// A queue in the making. What is not said: `pfifo`, Linux's rule, no probe, [`QueueConfig`]'s
/// defaults.
#[must_use = "nothing is made before `build`"]
pub struct Builder<D, L = AnyLimit, Q = AnyQdisc, P = ()> {
    device: D,
    limit: L,
    qdisc: Q,
    probe: P,
    config: QueueConfig,
    drop_sink: Option<Box<dyn PacketSink + Send>>,
}

impl<D> Builder<D> {
    pub(super) fn new(device: D) -> Self {
        Self {
            device,
            limit: AnyLimit::default(),
            qdisc: AnyQdisc::default(),
            probe: (),
            config: QueueConfig::default(),
            drop_sink: None,
        }
    }
}

impl<D, L, Q, P> Builder<D, L, Q, P> {
    /// The discipline, chosen by name: `.qdisc("fq_codel ecn".parse()?)`.
    pub fn qdisc(self, qdisc: AnyQdisc) -> Builder<D, L, AnyQdisc, P> {
        self.with_qdisc(qdisc)
    }

    /// A discipline of any type, which the compiler then knows.
    pub fn with_qdisc<R: Qdisc>(self, qdisc: R) -> Builder<D, L, R, P> {
        Builder {
            device: self.device,
            limit: self.limit,
            qdisc,
            probe: self.probe,
            config: self.config,
            drop_sink: self.drop_sink,
        }
    }

    /// The limit, chosen by name: `.limit("taut:99.5%".parse()?)`.
    pub fn limit(self, limit: AnyLimit) -> Builder<D, AnyLimit, Q, P> {
        self.with_limit(limit)
    }

    /// A limit of any type, which the compiler then knows.
    pub fn with_limit<M: Limit>(self, limit: M) -> Builder<D, M, Q, P> {
        Builder {
            device: self.device,
            limit,
            qdisc: self.qdisc,
            probe: self.probe,
            config: self.config,
            drop_sink: self.drop_sink,
        }
    }

    /// Who watches the queue.
    pub fn probe<R: Probe>(self, probe: R) -> Builder<D, L, Q, R> {
        Builder {
            device: self.device,
            limit: self.limit,
            qdisc: self.qdisc,
            probe,
            config: self.config,
            drop_sink: self.drop_sink,
        }
    }

    /// All other settings.
    pub fn config(mut self, config: QueueConfig) -> Self {
        self.config = config;
        self
    }

    /// How super-packets go to the device; see [`QueueConfig::split`].
    pub fn split(mut self, split: Split) -> Self {
        self.config.split = split;
        self
    }

    /// Wakes a sender that waits for room.
    pub fn waker(mut self, waker: Waker) -> Self {
        self.config.waker = waker;
        self
    }

    /// Where packets go that still wait when the queue is dropped; without it their frames are
    /// lost.
    pub fn drop_sink(mut self, sink: impl PacketSink + Send + 'static) -> Self {
        self.drop_sink = Some(Box::new(sink));
        self
    }
}

impl<D, L, Q, P> Builder<D, L, Q, P>
where
    D: TxRing + Completions,
    L: Limit,
    Q: Qdisc,
    P: Probe,
{
    /// Makes the queue, whose clock begins at `now_ns`.
    ///
    /// # Errors
    /// If a setting is 0 or does not fit the ring.
    pub fn build(self, now_ns: u64) -> Result<Queue<D, L, Q, P>, QueueConfigError> {
        let Self {
            device,
            mut limit,
            qdisc,
            mut probe,
            mut config,
            drop_sink,
        } = self;
        let restart_slots = config.validate(device.capacity_slots(), device.slots_of_largest())?;
        limit.begin(now_ns);
        probe.event(now_ns, Event::Limit(limit.config().limit));
        let ledger = Ledger::new(limit.limit().min(MAX_LIMIT), now_ns);
        let mark = SentMark::of_new_queue();
        config.split = config.split.with(device.pieces());
        let cuts = config.split != Split::Off;
        let (pieces_in_limit, piece_bytes) = config.split.at_first(limit.unit());
        let (cutter, joiner) = cuts.then(|| table(pieces_in_limit)).unzip();
        let send = SendSide::new(
            qdisc,
            limit.unit(),
            mark,
            config.burst_packets,
            config.stall_threshold_ns / 2,
            cutter,
            drop_sink,
        );
        let complete = CompleteSide::new(limit, mark, restart_slots, &config, joiner);
        let shared = Shared::<Local>::new(ledger, config.waker, config.completer_waker);
        shared.piece_bytes.store(piece_bytes);
        Ok(Queue::of(send, complete, shared, device, probe))
    }
}
