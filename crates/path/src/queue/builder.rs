//! The builder of a queue.

use alloc::sync::Arc;
use core::task::Waker;

use taut_dql::Coalescer;
use taut_dql::control::Control;
use taut_dql::stall::{GenerationClock, StallDetector};

use super::admission::Admission;
use super::chunks::ChunkReassembler;
use super::complete::CompleteHalf;
use super::completer::Completer;
use super::config::QueueConfig;
use super::deferred::Deferred;
use super::error::QueueConfigError;
use super::local::Queue;
use super::monitor::Monitor;
use super::outlet::{GsoPackets, Outlet, UnitMask};
use super::send::SendHalf;
use super::sender::Sender;
use super::shared::{HalfHandle, Shared};
use super::sort::Sorter;
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

/// A validated queue, before its halves have an admission.
pub(crate) struct Prepared<D, L, Q, P> {
    device: D,
    control: Control<L>,
    qdisc: Q,
    probe: P,
    config: QueueConfig,
    restart_slots: u32,
    now_ns: u64,
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
        let (prepared, shared) = self.prepare::<Local>(now_ns)?;
        let (send, complete, device, probe) = prepared.halves((), ());
        Ok(Queue {
            send,
            complete,
            shared,
            device,
            probe,
        })
    }

    /// Checks the settings, and creates the part that both halves share.
    #[allow(clippy::type_complexity, reason = "a queue and its shared part")]
    pub(crate) fn prepare<M: Sharing>(
        self,
        now_ns: u64,
    ) -> Result<(Prepared<D, L, Q, P>, Shared<M>), QueueConfigError> {
        let Self {
            device,
            limit,
            qdisc,
            mut probe,
            mut config,
        } = self;
        let restart_slots = config.validate(device.capacity_slots(), device.slots_of_largest())?;
        let control = Control::new(limit, now_ns);
        probe.event(now_ns, Event::Limit(control.rule().config().limit));
        config.late_segmentation = match qdisc.requeue_support() {
            RequeueSupport::None => LateSegmentation::Off,
            RequeueSupport::InTurn | RequeueSupport::Next => {
                config.late_segmentation.with(device.chunk_support())
            }
        };
        let shared = Shared::<M>::new(control.limit(), &config);
        let (_, chunk_bytes) = config.late_segmentation.at_first(control.rule().unit());
        shared.chunk_bytes.store(chunk_bytes);
        shared.settings.set_config(control.rule());
        let prepared = Prepared {
            device,
            control,
            qdisc,
            probe,
            config,
            restart_slots,
            now_ns,
        };
        Ok((prepared, shared))
    }
}

impl<D, L: Limit, Q: Qdisc, P> Prepared<D, L, Q, P> {
    pub(super) fn halves<A: Admission, B: Admission>(
        self,
        of_sender: A,
        of_completer: B,
    ) -> (SendHalf<Q, A>, CompleteHalf<L, B>, D, P) {
        let Self {
            config, control, ..
        } = self;
        let (unit, tag) = (control.rule().unit(), Tag::of_new_queue());
        let segments = config.late_segmentation != LateSegmentation::Off;
        let (segmenter, tracker) = table(config.late_segmentation, unit);
        let outlet = Outlet {
            tag,
            generations: GenerationClock::default(),
            unit: UnitMask::new(unit),
            admission: of_sender,
            gso: GsoPackets {
                segmenter,
                stash: None,
                chunks: 0,
            },
            kick_pending: false,
            burst_packets: config.burst_packets,
        };
        let send = SendHalf {
            qdisc: self.qdisc,
            outlet,
            epoch: 0,
        };
        let complete = CompleteHalf {
            control,
            unit,
            sorter: Sorter::new(tag),
            stalls: StallDetector::new(config.stall_threshold_ns, self.now_ns),
            coalescer: (config.coalesce_ns > 0).then(|| Coalescer::new(config.coalesce_ns)),
            deferred: Deferred::default(),
            restart_slots: self.restart_slots,
            reap_budget_packets: config.reap_budget_packets,
            chunks: segments.then(|| ChunkReassembler::new(tracker, config.late_segmentation)),
            admission: of_completer,
        };
        (send, complete, self.device, self.probe)
    }
}

/// The halves of a queue with their probe (`P`) and [admission](super::Admission) (`G`), and the
/// monitor.
pub type Halves<R, C, L, Q, P, G = ()> = HalvesOf<R, C, L, Q, P, G, G>;

/// Halves with an admission each.
pub(crate) type HalvesOf<R, C, L, Q, P, A, B> =
    (Sender<R, Q, P, A>, Completer<C, L, P, B>, Monitor);

impl<R, C, L, Q, P> Builder<(R, C), L, Q, P>
where
    R: TxRing,
    C: Completions,
    L: Limit,
    Q: Qdisc,
    P: Probe + Clone,
{
    /// Builds the two halves of a queue for two threads, whose clock starts at `now_ns`. Each half
    /// has a clone of the probe.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_halves(self, now_ns: u64) -> Result<Halves<R, C, L, Q, P>, QueueConfigError> {
        let (prepared, shared) = self.prepare(now_ns)?;
        Ok(prepared.share(Arc::new(shared), (), ()))
    }
}

impl<R, C, L: Limit, Q: Qdisc, P: Clone> Prepared<(R, C), L, Q, P> {
    pub(crate) fn share<A: Admission, B: Admission>(
        self,
        shared: Arc<Shared<Threads>>,
        of_sender: A,
        of_completer: B,
    ) -> HalvesOf<R, C, L, Q, P, A, B> {
        let (send, complete, (ring, completions), probe) = self.halves(of_sender, of_completer);
        let sender = Sender {
            half: send,
            shared: HalfHandle(shared.clone()),
            ring,
            probe: probe.clone(),
        };
        let completer = Completer {
            half: complete,
            shared: HalfHandle(shared.clone()),
            completions,
            probe,
        };
        (sender, completer, Monitor::new(shared))
    }
}
