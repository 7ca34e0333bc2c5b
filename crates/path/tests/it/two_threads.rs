//! A sender thread and a completer thread that share only the queue's two halves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::SharedRing;
use taut_path::limit::{Dynamic, Fixed, Limit};
use taut_path::qdisc::Fifo;
use taut_path::queue::{Completer, Sender};
use taut_path::{
    DropReason, Frame, LateSegmentation, Packet, PacketSink, Queue, Segmentation, Stop,
};

const PACKETS: u64 = 1_000_000;
const PACKET_BYTES: u32 = 1_514;
const SLOTS: u32 = 512;

/// Not a time limit: it only ends a test that hangs.
const HANG_GUARD: Duration = Duration::from_secs(120);

/// Ended whole packets, and chunks.
#[derive(Default)]
struct Count(u64, u64);

impl PacketSink for Count {
    fn freed(&mut self, packet: Packet) {
        assert_eq!(packet.wire_bytes(), PACKET_BYTES);
        drop(packet.into_frame());
        self.0 += 1;
    }

    fn chunk_freed(&mut self, _chunk: &Packet) {
        self.1 += 1;
    }

    fn dropped(&mut self, _packet: Packet, reason: DropReason) {
        panic!("dropped: {}", reason.name());
    }
}

/// Sends all packets, and sleeps without room.
fn send_all(sender: &mut Sender<SharedRing, Fifo>, cut: Option<Segmentation>) {
    let (mut offered, sink) = (0, &mut Count::default());
    while offered < PACKETS {
        while offered < PACKETS {
            let mut packet = Packet::new(Frame::new(offered as u32), PACKET_BYTES);
            packet.segmentation = cut;
            match sender.offer(packet, 0, sink) {
                Ok(()) => offered += 1,
                Err(_) => break,
            }
        }
        assert_eq!(sender.run_blocking(|| 0, sink), Stop::Idle);
    }
}

/// Reaps everything. Returns the freed packets and the chunks.
fn complete_all<L: Limit>(
    completer: &mut Completer<SharedRing, L>,
    ring: &SharedRing,
) -> (u64, u64) {
    let (mut sink, mut now_ns) = (Count::default(), 0);
    while sink.0 < PACKETS {
        // A clock of batches, because the limit's window needs one that advances.
        now_ns += 1_000;
        ring.get().finish(usize::MAX);
        let batch = completer.complete(now_ns, &mut sink);
        assert_eq!(batch.expect("nothing is broken").stale_packets, 0);
        thread::yield_now();
    }
    (sink.0, sink.1)
}

fn pass_a_million<L: Limit + Send>(limit: L, cut: Option<Segmentation>) {
    let done = Arc::new(AtomicBool::new(false));
    hang_guard(done.clone());
    let ring = SharedRing::new(SLOTS);
    let queue = Queue::builder(ring.clone(), ring.clone())
        .with_limit(limit)
        .with_qdisc(Fifo::new(64))
        .late_segmentation(LateSegmentation::EachSegment)
        .build_halves(0);
    let (mut sender, mut completer, watch) = queue.expect("valid settings");
    let (freed, chunks) = thread::scope(|scope| {
        let completing = scope.spawn(|| complete_all(&mut completer, &ring));
        send_all(&mut sender, cut);
        completing.join().expect("it does not panic")
    });
    done.store(true, Ordering::Relaxed);
    assert_eq!(freed, PACKETS);
    let counters = sender.counters();
    assert_eq!(chunks, counters.chunks);
    let whole = PACKETS - counters.segmented_packets;
    assert_eq!(counters.sent_packets, whole + chunks);
    if cut.is_some() {
        assert!(chunks >= PACKETS, "{chunks} chunks");
    }
    assert_eq!(completer.snapshot().in_flight, 0);
    let wakeups = u64::from(completer.wakeups());
    assert!((1..PACKETS / 4).contains(&wakeups), "{wakeups} wake-ups");
    let seen = watch.snapshot();
    assert_eq!(
        (seen.sender, seen.completer),
        (sender.counters(), completer.counters())
    );
}

/// Ends the process if a sleeper is never woken: a parked thread cannot fail.
fn hang_guard(done: Arc<AtomicBool>) {
    thread::spawn(move || {
        thread::sleep(HANG_GUARD);
        if !done.load(Ordering::Relaxed) {
            eprintln!("lost wake-up: the sender sleeps for ever");
            std::process::abort();
        }
    });
}

#[test]
fn no_lost_wakeup_with_a_full_ring() {
    pass_a_million(Fixed::off(), None);
}

#[test]
fn no_lost_wakeup_with_a_limit() {
    pass_a_million(Fixed::packets(128), None);
}

#[test]
fn no_lost_wakeup_with_the_dynamic_limit() {
    pass_a_million(Dynamic::default(), None);
}

#[test]
fn million_gso_packets_in_chunks_end_once() {
    // Three segments. More packets wait than can be segmented at a time, so that some are sent
    // whole.
    pass_a_million(Fixed::bytes(100_000), Segmentation::new(14, 500));
}

#[test]
fn blocked_sender_returns_when_the_completer_drops() {
    let ring = SharedRing::new(SLOTS);
    let queue = Queue::builder(ring.clone(), ring.clone())
        .with_limit(Fixed::packets(1))
        .build_halves(0);
    let (mut sender, completer, _) = queue.expect("valid settings");
    let (sink, done) = (&mut Count::default(), Arc::new(AtomicBool::new(false)));
    hang_guard(done.clone());
    for number in 0..4 {
        sender.enqueue(Packet::new(Frame::new(number), PACKET_BYTES), 0, sink);
    }
    let stop = thread::scope(|scope| {
        let dropping = scope.spawn(move || {
            // Not before the sender used the limit up.
            while completer.snapshot().in_flight == 0 {
                thread::yield_now();
            }
            drop(completer);
        });
        let stop = sender.run_blocking(|| 0, sink);
        dropping.join().expect("it does not panic");
        stop
    });
    done.store(true, Ordering::Relaxed);
    assert_eq!(stop, Stop::Closed);
}
