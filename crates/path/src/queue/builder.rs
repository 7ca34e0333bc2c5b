//! The builder of a queue.

use alloc::sync::Arc;
use core::task::Waker;

use taut_dql::control::Control;

use super::complete::CompleteHalf;
use super::completer::Completer;
use super::config::QueueConfig;
use super::error::QueueConfigError;
use super::local::Queue;
use super::monitor::Monitor;
use super::outlet::Outlet;
use super::send::SendHalf;
use super::sender::Sender;
use super::shared::{HalfHandle, Shared};
use crate::driver::{Completions, TxRing};
use crate::late_segmentation::{LateSegmentation, table};
use crate::limit::{AnyLimit, Limit};
use crate::packet::Tag;
use crate::probe::{Event, Probe};
use crate::qdisc::{AnyQdisc, Qdisc, RequeueSupport};
use crate::sharing::{Local, Sharing, Threads, Word};

impl<R: TxRing, C: Completions> Queue<(R, C)> {
    /// Creates a builder for a queue in front of the two halves of a ring, which reports its own
    /// size.
    pub fn builder(ring: R, completions: C) -> Builder<(R, C)> {
        Builder::new((ring, completions))
    }
}

impl<D: TxRing + Completions> Queue<D> {
    /// Creates a builder for a queue in front of a device that is one value, for one thread.
    pub fn builder_for(device: D) -> Builder<D> {
        Builder::new(device)
    }
}

/// Builds a queue. Defaults: `pfifo`, Linux's rule, no probe, and the defaults of [`QueueConfig`].
#[must_use = "nothing is made before `build`"]
pub struct Builder<D, L = AnyLimit, Q = AnyQdisc, P = ()> {
    device: D,
    limit: L,
    qdisc: Q,
    probe: P,
    config: QueueConfig,
}

impl<D> Builder<D> {
    fn new(device: D) -> Self {
        Self {
            device,
            limit: AnyLimit::default(),
            qdisc: AnyQdisc::default(),
            probe: (),
            config: QueueConfig::default(),
        }
    }
}

impl<D, L, Q, P> Builder<D, L, Q, P> {
    /// Sets the discipline, by name: `.qdisc("fq_codel ecn".parse()?)`.
    pub fn qdisc(self, qdisc: AnyQdisc) -> Builder<D, L, AnyQdisc, P> {
        self.with_qdisc(qdisc)
    }

    /// Sets a discipline of a static type.
    pub fn with_qdisc<R: Qdisc>(self, qdisc: R) -> Builder<D, L, R, P> {
        Builder {
            device: self.device,
            limit: self.limit,
            qdisc,
            probe: self.probe,
            config: self.config,
        }
    }

    /// Sets the rule of the limit, by name: `.limit("taut:99.5%".parse()?)`.
    pub fn limit(self, limit: AnyLimit) -> Builder<D, AnyLimit, Q, P> {
        self.with_limit(limit)
    }

    /// Sets a rule of a static type.
    pub fn with_limit<M: Limit>(self, limit: M) -> Builder<D, M, Q, P> {
        Builder {
            device: self.device,
            limit,
            qdisc: self.qdisc,
            probe: self.probe,
            config: self.config,
        }
    }

    /// Sets the observer of the queue.
    pub fn probe<R: Probe>(self, probe: R) -> Builder<D, L, Q, R> {
        Builder {
            device: self.device,
            limit: self.limit,
            qdisc: self.qdisc,
            probe,
            config: self.config,
        }
    }

    /// Sets all other settings.
    pub fn config(mut self, config: QueueConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets how GSO packets are sent; see [`QueueConfig::late_segmentation`].
    pub fn late_segmentation(mut self, value: LateSegmentation) -> Self {
        self.config.late_segmentation = value;
        self
    }

    /// Sets the waker of a sender that waits for room.
    pub fn waker(mut self, waker: Waker) -> Self {
        self.config.waker = waker;
        self
    }
}

/// The parts of a queue, for either way of sharing.
struct Parts<D, L, Q, P, M: Sharing> {
    send: SendHalf<Q, ()>,
    complete: CompleteHalf<L, ()>,
    shared: Shared<M>,
    device: D,
    probe: P,
}

impl<D, L, Q, P> Builder<D, L, Q, P>
where
    D: TxRing + Completions,
    L: Limit,
    Q: Qdisc,
    P: Probe,
{
    /// Builds a queue for one thread, whose clock starts at `now_ns`.
    ///
    /// # Errors
    /// If `burst_packets`, `reap_budget_packets` or `restart_slots` is 0, or if the ring is smaller
    /// than `restart_slots` or the largest packet.
    pub fn build(self, now_ns: u64) -> Result<Queue<D, L, Q, P>, QueueConfigError> {
        let parts = self.parts::<Local>(now_ns)?;
        Ok(Queue {
            send: parts.send,
            complete: parts.complete,
            shared: parts.shared,
            device: parts.device,
            probe: parts.probe,
        })
    }

    fn parts<M: Sharing>(self, now_ns: u64) -> Result<Parts<D, L, Q, P, M>, QueueConfigError> {
        let Self {
            device,
            limit,
            qdisc,
            mut probe,
            mut config,
        } = self;
        let restart_slots = config.validate(device.capacity_slots(), device.slots_of_largest())?;
        let (unit, tag) = (limit.unit(), Tag::of_new_queue());
        let control = Control::new(limit, now_ns);
        probe.event(now_ns, Event::Limit(control.rule().config().limit));
        config.late_segmentation = match qdisc.requeue_support() {
            RequeueSupport::None => LateSegmentation::Off,
            RequeueSupport::InTurn | RequeueSupport::Next => {
                config.late_segmentation.with(device.chunk_support())
            }
        };
        let cuts = config.late_segmentation != LateSegmentation::Off;
        let (chunks_in_limit, chunk_bytes) = config.late_segmentation.at_first(unit);
        let (segmenter, tracker) = cuts.then(|| table(chunks_in_limit)).unzip();
        let threshold_ns = config.stall_threshold_ns;
        let wakers = (config.waker.clone(), config.completer_waker.clone());
        let shared = Shared::<M>::new(control.limit(), threshold_ns, wakers.0, wakers.1);
        shared.chunk_bytes.store(chunk_bytes);
        shared.settings.set_config(&control.rule().config());
        Ok(Parts {
            send: SendHalf::new(
                qdisc,
                Outlet::new(unit, tag, config.burst_packets, segmenter),
            ),
            complete: CompleteHalf::new(control, tag, restart_slots, &config, tracker, now_ns),
            shared,
            device,
            probe,
        })
    }
}

/// The halves of a queue with their probe (`P`) and [admission](super::Admission) (`G`), and the
/// monitor.
pub type Halves<R, C, L, Q, P, G = ()> = (Sender<R, Q, P, G>, Completer<C, L, P, G>, Monitor);

impl<R, C, L, Q, P> Builder<(R, C), L, Q, P>
where
    R: TxRing,
    C: Completions,
    L: Limit,
    Q: Qdisc,
    P: Probe,
{
    /// Builds the two halves of a queue for two threads, whose clock starts at `now_ns`. Each half
    /// has a clone of the probe.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_halves(self, now_ns: u64) -> Result<Halves<R, C, L, Q, P>, QueueConfigError>
    where
        P: Clone,
    {
        let parts = self.parts::<Threads>(now_ns)?;
        let (shared, (ring, completions)) = (Arc::new(parts.shared), parts.device);
        let sender = Sender {
            half: parts.send,
            shared: HalfHandle(shared.clone()),
            ring,
            probe: parts.probe.clone(),
        };
        let completer = Completer {
            half: parts.complete,
            shared: HalfHandle(shared.clone()),
            completions,
            probe: parts.probe,
        };
        Ok((sender, completer, Monitor::new(shared)))
    }
}
