//! A tunnel: a queue and a limit for each path.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use taut_path::{Limit, Qdisc};
use taut_udp::LimitedUdp;

use crate::core::{Core, lock, wake_all};
use crate::gate::Gate;
use crate::queue::PayloadQueue;
use crate::snapshot::Snapshot;

/// Packets that wait between a TUN device and UDP sockets. A clone is the same tunnel.
///
/// `T` is a buffer with one IP packet. Any number of threads and tasks can use a tunnel. A *path*
/// is a peer, or several peers behind one link, with a discipline and a limit of its own.
///
/// Only a socket reports departures and runs timers. While the tunnel has none, packets are
/// released up to the limit, and none of them expires.
pub struct Tunnel<T> {
    pub(crate) core: Arc<Core>,
    queues: Arc<Mutex<Queues<T>>>,
}

struct Queues<T> {
    paths: Vec<PayloadQueue<T>>,
    /// The paths with packets, in the order of service.
    active: VecDeque<usize>,
}

impl<T> Clone for Tunnel<T> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            queues: Arc::clone(&self.queues),
        }
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Tunnel<T> {
    pub(crate) fn from_parts(core: Core, paths: Vec<PayloadQueue<T>>) -> Self {
        let active = VecDeque::new();
        Self {
            core: Arc::new(core),
            queues: Arc::new(Mutex::new(Queues { paths, active })),
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
    /// If the path does not exist.
    #[track_caller]
    pub fn push_to(&self, path: usize, packet: T) {
        let now_ns = LimitedUdp::now_ns();
        let mut queues = self.queues();
        check_path(path, queues.paths.len());
        let queue = &mut queues.paths[path];
        let was_empty = queue.is_empty();
        queue.push(packet, now_ns);
        // A packet behind others is released after them.
        if was_empty && !queue.is_empty() {
            queues.active.push_back(path);
            drop(queues);
            let mut gates = self.core.gates();
            if gates.paths[path].has_room(now_ns) {
                wake_all(gates);
            } else {
                // No task is woken, so none would record it.
                gates.paths[path].note_blocked();
            }
        }
    }

    /// Sets the endpoint of a path. Datagrams to it belong to this path, and datagrams to unknown
    /// addresses to the first path. When a peer moves, its bytes in the kernel no longer count:
    /// they left over the previous link.
    ///
    /// Call it for each path except the first. An endpoint belongs to the path that set it last. A
    /// path without one receives no departures: its packets block it until they expire.
    ///
    /// # Panics
    /// If the path does not exist.
    #[track_caller]
    pub fn set_endpoint(&self, path: usize, endpoint: SocketAddr) {
        let mut gates = self.core.gates();
        check_path(path, gates.paths.len());
        gates.set_endpoint(path, endpoint);
        wake_all(gates);
    }

    /// Releases up to `max` packets (at least 1) for which there is room, and appends them to
    /// `into`. Returns their number. Does not wait.
    pub fn try_next_batch(&self, into: &mut Vec<T>, max: usize) -> usize {
        self.release(into, max, None)
    }

    /// As [`try_next_batch`](Self::try_next_batch). Returns `Pending` if no packet is released; the
    /// task is then woken when one might be.
    pub fn poll_next_batch(
        &self,
        context: &mut Context<'_>,
        into: &mut Vec<T>,
        max: usize,
    ) -> Poll<()> {
        match self.release(into, max, Some(context.waker())) {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }

    /// Releases packets, or registers `waker` under the same lock, so that no wake-up is lost.
    fn release(&self, into: &mut Vec<T>, max: usize, waker: Option<&Waker>) -> usize {
        let now_ns = LimitedUdp::now_ns();
        let before = into.len();
        let mut queues = self.queues();
        let mut gates = self.core.gates();
        let (mut ready_ns, mut check_ns) = (None, None);
        let mut visits_all = true;
        for _ in 0..queues.active.len() {
            let left = max.max(1) - (into.len() - before);
            if left == 0 {
                visits_all = false; // The next call continues with the next path.
                break;
            }
            let Some(path) = queues.active.pop_front() else {
                break;
            };
            let (queue, gate) = (&mut queues.paths[path], &mut gates.paths[path]);
            let path_ready_ns = release_path(queue, gate, into, left, now_ns);
            ready_ns = path_ready_ns.into_iter().chain(ready_ns).min();
            check_ns = gate.next_wakeup().into_iter().chain(check_ns).min();
            if !queue.is_empty() {
                queues.active.push_back(path);
            }
        }
        let released = into.len() - before;
        let woken = match waker {
            Some(waker) if released == 0 => gates.wait(waker),
            _ => Vec::new(),
        };
        // Before the gates are unlocked: a tick in between would plan without these times.
        self.core.set_ready(&mut gates, ready_ns, visits_all);
        if let Some(check_ns) = check_ns {
            self.core.check_at(check_ns, now_ns);
        }
        drop((gates, queues));
        woken.into_iter().for_each(Waker::wake);
        released
    }

    /// Waits for a packet, and releases up to `max` for which there is room. Cancel-safe: a dropped
    /// future has released nothing.
    pub async fn next_batch(&self, into: &mut Vec<T>, max: usize) {
        poll_fn(|context| self.poll_next_batch(context, into, max)).await;
    }

    /// As [`next_batch`](Self::next_batch), in a thread, for at most `timeout`. Returns `true` if a
    /// packet was released.
    pub fn wait_next_batch(&self, into: &mut Vec<T>, max: usize, timeout: Duration) -> bool {
        let started = Instant::now();
        THREAD_WAKER.with(|waker| {
            let mut context = Context::from_waker(waker);
            while self.poll_next_batch(&mut context, into, max).is_pending() {
                let left = timeout.saturating_sub(started.elapsed());
                if left.is_zero() {
                    return false;
                }
                thread::park_timeout(left);
            }
            true
        })
    }

    /// Returns a function that returns this tunnel while it exists. The function does not keep it.
    pub(crate) fn downgrade(&self) -> impl Fn() -> Option<Self> + use<T> {
        let (core, queues) = (Arc::downgrade(&self.core), Arc::downgrade(&self.queues));
        move || {
            Some(Self {
                core: core.upgrade()?,
                queues: queues.upgrade()?,
            })
        }
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
    /// If the path does not exist.
    #[track_caller]
    pub fn snapshot(&self, path: usize) -> Snapshot {
        let queues = self.queues();
        check_path(path, queues.paths.len());
        let (queue, gates) = (&queues.paths[path], self.core.gates());
        let gate = &gates.paths[path];
        let config = gate.limit.rule().config();
        Snapshot {
            limit: gate.limit.limit(),
            min_limit: config.min_limit,
            max_limit: config.max_limit,
            hold_time_ns: config.hold_time_ns,
            limit_applies: gate.limit_applies,
            program_bytes: gate.program_bytes,
            kernel_bytes: gate.kernel_bytes,
            backlog: queue.qdisc.backlog(),
            stall: gate.stall(LimitedUdp::now_ns()),
            counters: gate.counters,
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

#[track_caller]
fn check_path(path: usize, paths: usize) {
    assert!(path < paths, "path is {path}; allowed: 0 to {}", paths - 1);
}

/// Releases up to `max` packets of a path. Returns when its shaper releases the next one.
fn release_path<T: AsRef<[u8]> + AsMut<[u8]>>(
    queue: &mut PayloadQueue<T>,
    gate: &mut Gate,
    into: &mut Vec<T>,
    max: usize,
    now_ns: u64,
) -> Option<u64> {
    for _ in 0..max {
        if queue.is_empty() {
            break;
        }
        if !gate.has_room(now_ns) {
            gate.note_blocked();
            break;
        }
        let Some(packet) = queue.pop(now_ns) else {
            return queue.qdisc.next_ready(now_ns);
        };
        let bytes = packet.as_ref().len();
        gate.release(u32::try_from(bytes).unwrap_or(u32::MAX), now_ns);
        into.push(packet);
    }
    None
}

thread_local! {
    /// One waker for each thread, so that a thread is registered once.
    static THREAD_WAKER: Waker = Arc::new(ThreadWaker(thread::current())).into();
}

struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
