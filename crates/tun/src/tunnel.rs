//! A tunnel: queues and gates.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use taut_path::Qdisc;
use taut_udp::LimitedUdp;

use crate::builder::{Builder, SocketSettings};
use crate::core::{Core, lock};
use crate::queue::PayloadQueue;
use crate::snapshot::Snapshot;

/// Packets that wait between a TUN device and UDP sockets. A clone is the same tunnel.
///
/// `T` is a buffer with one IP packet. Any number of threads and tasks can use a tunnel.
pub struct Tunnel<T> {
    pub(crate) core: Arc<Core>,
    queues: Arc<Mutex<Queues<T>>>,
    pub(crate) socket: SocketSettings,
}

struct Queues<T> {
    paths: Vec<PayloadQueue<T>>,
    /// The path that is served next.
    next: usize,
}

impl<T> Clone for Tunnel<T> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            queues: Arc::clone(&self.queues),
            socket: self.socket,
        }
    }
}

impl Tunnel<Vec<u8>> {
    /// Returns the default settings.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Tunnel<T> {
    pub(crate) fn from_parts(
        core: Core,
        paths: Vec<PayloadQueue<T>>,
        socket: SocketSettings,
    ) -> Self {
        Self {
            core: Arc::new(core),
            queues: Arc::new(Mutex::new(Queues { paths, next: 0 })),
            socket,
        }
    }

    fn queues(&self) -> MutexGuard<'_, Queues<T>> {
        lock(&self.queues)
    }

    /// Queues a packet of the TUN on the first path. The discipline can drop it or others.
    pub fn push(&self, packet: T) {
        self.push_to(0, packet);
    }

    /// As [`push`](Self::push), on a given path.
    ///
    /// # Panics
    /// If there is no such path.
    pub fn push_to(&self, path: usize, packet: T) {
        let now_ns = LimitedUdp::now_ns();
        let mut queues = self.queues();
        let queue = &mut queues.paths[path];
        let was_empty = queue.is_empty();
        queue.push(packet, now_ns);
        drop(queues);
        // A packet behind others is released after them.
        if was_empty && self.core.gates().paths[path].has_room(now_ns) {
            self.core.wake();
        }
    }

    /// Sets the endpoint of a path: datagrams to it are of this path, and those to unknown addresses
    /// are of the first. When a peer has moved, what the kernel holds for its previous endpoint is
    /// abandoned, because it waits for another link.
    ///
    /// # Panics
    /// If there is no such path.
    pub fn set_endpoint(&self, path: usize, endpoint: SocketAddr) {
        self.core.gates().set_endpoint(path, endpoint);
        self.core.wake();
    }

    /// Releases up to `max` packets for which there is room, and appends them to `into`.
    pub fn try_next(&self, into: &mut Vec<T>, max: usize) {
        let now_ns = LimitedUdp::now_ns();
        let before = into.len();
        let mut queues = self.queues();
        let mut gates = self.core.gates();
        let Queues { paths, next } = &mut *queues;
        let count = paths.len();
        let mut ready_ns = u64::MAX;
        for turn in 0..count {
            let path = (*next + turn) % count;
            let (queue, gate) = (&mut paths[path], &mut gates.paths[path]);
            while into.len() - before < max && !queue.is_empty() {
                if !gate.has_room(now_ns) {
                    gate.note_blocked();
                    break;
                }
                let Some(packet) = queue.pop(now_ns) else {
                    ready_ns = ready_ns.min(queue.qdisc.next_ready(now_ns).unwrap_or(u64::MAX));
                    break;
                };
                let bytes = packet.as_ref().len();
                gate.release(u32::try_from(bytes).unwrap_or(u32::MAX), now_ns);
                into.push(packet);
            }
        }
        *next = (*next + 1) % count;
        let check_ns = gates.next_wakeup();
        drop((gates, queues));
        self.plan(now_ns, ready_ns, check_ns);
    }

    /// Wakes the drivers if their deadlines are now earlier.
    fn plan(&self, now_ns: u64, ready_ns: u64, check_ns: Option<u64>) {
        self.core.note_active();
        let waits_for_shaper = ready_ns != u64::MAX;
        self.core.ready_ns.store(
            if waits_for_shaper { ready_ns } else { 0 },
            Ordering::Relaxed,
        );
        if waits_for_shaper {
            self.core.check_by(ready_ns);
        }
        if let Some(at_ns) = check_ns {
            // A check can be late by the time that it waits for.
            self.core
                .check_by(at_ns.saturating_add(at_ns.saturating_sub(now_ns)));
        }
    }

    /// As [`try_next`](Self::try_next); `Pending` if no packet is released. The task is then woken
    /// when one might be.
    pub fn poll_next(&self, context: &mut Context<'_>, into: &mut Vec<T>, max: usize) -> Poll<()> {
        let before = into.len();
        self.try_next(into, max);
        if into.len() == before {
            self.core.wait(context.waker());
            // A wake-up before the registration is not lost.
            self.try_next(into, max);
        }
        if into.len() > before {
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Waits for a packet, and releases up to `max` for which there is room. Cancel-safe: a dropped
    /// future has released nothing.
    pub async fn next_batch(&self, into: &mut Vec<T>, max: usize) {
        poll_fn(|context| self.poll_next(context, into, max)).await;
    }

    /// Waits for a packet, and releases it. Cancel-safe.
    pub async fn next(&self) -> T {
        let mut packet = Vec::with_capacity(1);
        loop {
            self.next_batch(&mut packet, 1).await;
            if let Some(packet) = packet.pop() {
                return packet;
            }
        }
    }

    /// As [`next_batch`](Self::next_batch), in a thread, for at most `timeout`. Returns `true` if a
    /// packet was released.
    pub fn wait_batch(&self, into: &mut Vec<T>, max: usize, timeout: Duration) -> bool {
        let (started, before) = (Instant::now(), into.len());
        loop {
            let wakeups = self.core.wakeups();
            self.try_next(into, max);
            let left = timeout.saturating_sub(started.elapsed());
            if into.len() > before || left.is_zero() {
                return into.len() > before;
            }
            self.core.wait_thread(wakeups, left);
        }
    }

    /// Returns a function that returns this tunnel while it exists: it does not keep the tunnel.
    pub(crate) fn downgrade(&self) -> impl Fn() -> Option<Self> + use<T> {
        let (core, queues) = (Arc::downgrade(&self.core), Arc::downgrade(&self.queues));
        let socket = self.socket;
        move || {
            Some(Self {
                core: core.upgrade()?,
                queues: queues.upgrade()?,
                socket,
            })
        }
    }

    pub(crate) fn limit_name(&self) -> String {
        self.core.gates().paths[0].limit_name()
    }

    /// Returns the number of paths.
    pub fn paths(&self) -> usize {
        self.queues().paths.len()
    }

    /// Returns the discipline of the first path, with every parameter.
    pub fn qdisc(&self) -> String {
        self.queues().paths[0].qdisc.to_string()
    }

    /// Returns the state of a path.
    ///
    /// # Panics
    /// If there is no such path.
    pub fn snapshot(&self, path: usize) -> Snapshot {
        let queues = self.queues();
        let (queue, gates) = (&queues.paths[path], self.core.gates());
        let gate = &gates.paths[path];
        Snapshot {
            limit: gate.limit(),
            limit_applies: gate.limit_applies,
            program_bytes: gate.program_bytes(),
            kernel_bytes: gate.kernel_bytes(),
            backlog: queue.qdisc.backlog(),
            stall: gate.stall(LimitedUdp::now_ns()),
            gate: gate.counters,
            queue: queue.counters(),
        }
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> std::fmt::Debug for Tunnel<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tunnel")
            .field("qdisc", &self.qdisc())
            .field("path", &self.snapshot(0))
            .finish()
    }
}
