//! A sending and a completing thread share one queue over a packet ring: every packet is returned
//! once, every wake-up arrives, and the queue works after a reset and after a stall.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use crate::common::packets::{Ring, bytes_of, numbered, receive_into, shaper};
use crate::common::{PATIENCE, StopOnDrop, allowed, until};
use taut_linux::NetNs;
use taut_linux::af_packet::{AfPacketCompletions, AfPacketTx, PacketReceiver};
use taut_linux::link::{self, RootQdisc};
use taut_linux::sched::monotonic_ns;
use taut_path::limit::AnyLimit;
use taut_path::pool::{FramePool, PoolError};
use taut_path::qdisc::Fifo;
use taut_path::queue::many::{self, Intake, SubmitError, Submitter};
use taut_path::queue::{Completer, Monitor, QueueConfig, Sender};
use taut_path::{Completed, Completions, Queue, Stop};

const FRAMES: u32 = 4000;
const SLOTS: u32 = 32;
/// Short, so that the limit, the ring and the discipline are all full most of the time.
const QDISC_PACKETS: u32 = 8;

/// Wakes a parked thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn waker_of_this_thread() -> Waker {
    Waker::from(Arc::new(Unpark(thread::current())))
}

/// Sleeps until another thread wakes this one.
fn sleep() {
    let start = Instant::now();
    thread::park_timeout(PATIENCE);
    assert!(start.elapsed() < PATIENCE, "lost wake-up");
}

/// The sending half, which stays on the test's thread.
struct SendingSide {
    sender: Sender<AfPacketTx, Fifo>,
    pool: FramePool,
    left: NetNs,
    _right: NetNs,
    sleeps: u64,
}

/// The completing half and the receiver at the far end, which run on another thread.
struct CompletingSide {
    completer: Completer<AfPacketCompletions>,
    monitor: Monitor,
    pool: FramePool,
    receiver: PacketReceiver,
    buffer: Vec<u8>,
    received: BTreeSet<u32>,
}

/// Creates the queue; its sender is woken on the calling thread.
fn halves(
    qdisc: RootQdisc,
    limit: AnyLimit,
    stall_threshold_ns: u64,
) -> (SendingSide, CompletingSide) {
    let ring = Ring::for_threads(SLOTS, qdisc);
    let config = QueueConfig {
        stall_threshold_ns,
        waker: waker_of_this_thread(),
        ..QueueConfig::default()
    };
    let halves = Queue::builder(ring.tx, ring.completions)
        .limit(limit)
        .with_qdisc(Fifo::new(QDISC_PACKETS))
        .config(config)
        .build_halves(monotonic_ns());
    let (sender, completer, monitor) = halves.expect("valid settings");
    let sending = SendingSide {
        sender,
        pool: ring.pool.clone(),
        left: ring.left,
        _right: ring.right,
        sleeps: 0,
    };
    let completing = CompletingSide {
        completer,
        monitor,
        pool: ring.pool,
        receiver: ring.receiver,
        buffer: vec![0; PacketReceiver::READ_LIMIT_BYTES],
        received: BTreeSet::new(),
    };
    (sending, completing)
}

impl SendingSide {
    /// Sends the frames from 0 to `end`, and sleeps without room.
    fn send_all(&mut self, end: u32) {
        let mut next = 0;
        while next < end || self.sender.backlog().packets > 0 {
            let now_ns = monotonic_ns();
            let has_room = self.sender.backlog().packets < u64::from(QDISC_PACKETS);
            if next < end && has_room && self.pool.free_frames() > 0 {
                let packet = numbered(&self.pool, next);
                self.sender.enqueue(packet, now_ns, &mut self.pool);
                next += 1;
            }
            let stop = self.sender.run(now_ns, &mut self.pool);
            self.follow(&stop);
        }
    }

    /// Receives packets of the submitters and sends them, until `end` packets were sent.
    fn send_submitted(&mut self, intake: &mut Intake, end: u32) {
        loop {
            let stop = intake.run(&mut self.sender, monotonic_ns(), &mut self.pool);
            if self.sender.counters().sent_packets == u64::from(end) {
                break;
            }
            self.follow(&stop);
            if matches!(stop, Stop::Idle) && intake.must_wait() {
                self.sleeps += 1;
                sleep();
            }
        }
    }

    /// Sleeps if the queue has no room.
    fn follow(&mut self, stop: &Stop<std::io::Error>) {
        match stop {
            Stop::Limit | Stop::RingFull if self.sender.must_wait() => {
                self.sleeps += 1;
                sleep();
            }
            Stop::Idle | Stop::Limit | Stop::RingFull => {}
            other => panic!("unexpected stop: {other:?}"),
        }
    }
}

impl CompletingSide {
    fn receive(&mut self) {
        receive_into(&self.receiver, &mut self.buffer, |number| {
            assert!(self.received.insert(number), "{number} came twice");
        });
    }

    /// Completes and receives until the sender is done and the ring is empty; `look` receives each
    /// batch.
    fn complete_all(&mut self, sender_is_done: &AtomicBool, mut look: impl Look) {
        until("the ring is empty after the last packet", || {
            let is_last = sender_is_done.load(Ordering::Acquire);
            let batch = self.completer.complete(monotonic_ns(), &mut self.pool);
            look(&self.completer, batch.expect("a batch"));
            self.receive();
            let in_ring = self.completer.completions().in_ring().expect("counted");
            is_last && in_ring.packets == 0
        });
    }
}

trait Look: FnMut(&Completer<AfPacketCompletions>, Completed) + Send {}
impl<F: FnMut(&Completer<AfPacketCompletions>, Completed) + Send> Look for F {}

/// Runs `send` here and the completing side on another thread, until all packets were returned.
fn run(
    (sending, completing): &mut (SendingSide, CompletingSide),
    look: impl Look,
    send: impl FnOnce(&mut SendingSide),
) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let done_in_the_end = StopOnDrop(&done);
        scope.spawn(|| completing.complete_all(&done, look));
        send(sending);
        drop(done_in_the_end);
    });
}

/// Waits until all frames arrived at the far end.
fn receive_all(completing: &mut CompletingSide, frames: u32) {
    until("every frame arrived", || {
        completing.receive();
        completing.received.len() == frames as usize
    });
    assert_eq!(completing.received.last(), Some(&(frames - 1)));
}

/// Every packet was returned once, with its frame.
fn assert_all_came_back((sending, completing): &(SendingSide, CompletingSide), packets: u32) {
    let (sent, completed) = (sending.sender.counters(), completing.completer.counters());
    assert_eq!(sent.sent_packets, u64::from(packets));
    assert_eq!(sent.drops.total(), 0);
    let came_back = completed.completed_packets + completed.stale_packets;
    assert_eq!(came_back, u64::from(packets), "{completed:?}");
    assert_eq!(completed.unknown_completions, 0);
    assert_eq!(completing.completer.snapshot().in_flight, 0);
    assert_eq!(sending.pool.free_frames(), SLOTS * 2);
    assert!(sending.sleeps > 0, "the sender never had to wait");
}

#[test]
fn halves_lose_no_packet_and_no_wakeup() {
    if !allowed() {
        return;
    }
    // Behind a shaper the limit stops the sender; without a limit the full ring does.
    let runs = [
        (shaper(10_000), AnyLimit::dql()),
        (RootQdisc::NoQueue, AnyLimit::bytes(20_000)),
        (shaper(10_000), AnyLimit::off()),
    ];
    for (qdisc, limit) in runs {
        let mut halves = halves(qdisc, limit, 0);
        run(&mut halves, |_, _| {}, |sending| sending.send_all(FRAMES));
        receive_all(&mut halves.1, FRAMES);
        assert_all_came_back(&halves, FRAMES);
    }
}

/// Submits `frames`, and sleeps while the owner's ring is full; counts the sleeps.
fn submit(submitter: &Submitter, pool: &FramePool, frames: impl Iterator<Item = u32>) -> u64 {
    let mut waiter = submitter.waiter(waker_of_this_thread());
    let mut sleeps = 0;
    for number in frames {
        let mut packet = loop {
            match pool.packet(&bytes_of(number)) {
                Ok(packet) => break packet,
                Err(PoolError::Empty { .. }) => thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        };
        while let Err(refused) = submitter.offer(packet) {
            assert!(matches!(refused, SubmitError::NoRoom(_)), "{refused}");
            packet = refused.into_packet();
            if waiter.must_wait() {
                sleeps += 1;
                sleep();
            }
        }
    }
    sleeps
}

#[test]
fn three_submitters_lose_no_packet_and_no_wakeup() {
    const SUBMITTERS: u32 = 3;
    if !allowed() {
        return;
    }
    for qdisc in [shaper(10_000), RootQdisc::NoQueue] {
        let mut halves = halves(qdisc, AnyLimit::bytes(8_000), 0);
        let (submitter, mut intake) = many::split(4, SUBMITTERS, waker_of_this_thread());
        let pool = halves.0.pool.clone();
        let submitter_sleeps: u64 = thread::scope(|scope| {
            let (submitter, pool) = (&submitter, &pool);
            let submitting = [0, 1, 2].map(|first| {
                let frames = (first..FRAMES).step_by(SUBMITTERS as usize);
                scope.spawn(move || submit(submitter, pool, frames))
            });
            run(
                &mut halves,
                |_, _| {},
                |sending| sending.send_submitted(&mut intake, FRAMES),
            );
            submitting
                .map(|thread| thread.join().expect("submits"))
                .iter()
                .sum()
        });
        receive_all(&mut halves.1, FRAMES);
        assert_all_came_back(&halves, FRAMES);
        assert!(submitter_sleeps > 0, "no submitter ever had to wait");
    }
}

#[test]
fn resets_between_threads_count_each_packet_once() {
    const RESETS: u64 = 20;
    if !allowed() {
        return;
    }
    let mut halves = halves(shaper(10_000), AnyLimit::packets(24), 0);
    let mut requested = 0;
    let monitor = halves.1.monitor.clone();
    let look = |completer: &Completer<AfPacketCompletions>, batch: Completed| {
        // The next one once this one has ended, with packets in the ring.
        let ended = completer.counters().resets == requested && batch.counts.packets > 0;
        if ended && requested < RESETS && completer.snapshot().in_flight > 0 {
            monitor.request_reset();
            requested += 1;
        }
    };
    run(&mut halves, look, |sending| sending.send_all(FRAMES));
    receive_all(&mut halves.1, FRAMES);
    assert_all_came_back(&halves, FRAMES);
    let completed = halves.1.completer.counters();
    assert_eq!(completed.resets, RESETS);
    assert!(completed.stale_packets >= RESETS, "{completed:?}");
}

/// A shaper that passes one frame and then holds all others for minutes.
const STALLED: RootQdisc = RootQdisc::Tbf {
    rate_bits_per_s: 1_000,
    burst_bytes: 2_000,
    limit_bytes: 16 << 20,
};

#[test]
fn stall_is_reported_and_the_sender_continues() {
    const THRESHOLD_NS: u64 = 50_000_000;
    const SENT: u32 = 100;
    if !allowed() {
        return;
    }
    let mut halves = halves(STALLED, AnyLimit::packets(4), THRESHOLD_NS);
    let left = halves.0.left.clone();
    let mut oldest_ns = 0;
    let look = |completer: &Completer<AfPacketCompletions>, batch: Completed| {
        let Some(stall) = batch.stalled else { return };
        assert!(completer.snapshot().in_flight > 0);
        if oldest_ns == 0 {
            // The kernel completes what it purges with the shaper.
            link::set_root_qdisc(&left, "veth0", RootQdisc::NoQueue).expect("qdisc");
        }
        oldest_ns = oldest_ns.max(stall.age_ns);
    };
    run(&mut halves, look, |sending| sending.send_all(SENT));
    assert_all_came_back(&halves, SENT);
    assert!(oldest_ns >= THRESHOLD_NS, "{oldest_ns}");
    assert!(halves.1.completer.counters().stalls > 0);
    assert!(!halves.1.received.is_empty());
}
