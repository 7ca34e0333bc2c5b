//! Notifications of a link and their order: packets counted as sent have arrived.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::packets::{Ring, numbered, shaper};
use crate::common::{StopOnDrop, allowed, until};
use taut_linux::link::{self, DeliveryTally, LinkMonitor, LinkState};
use taut_linux::{NetNs, sched};
use taut_path::pool::FramePool;
use taut_path::{AnyLimit, Packet, PacketSink, Queue};

#[test]
fn down_up_removed_and_recreated() {
    if !allowed() {
        return;
    }
    let (left, right) = (
        NetNs::new().expect("namespace"),
        NetNs::new().expect("namespace"),
    );
    let pair = || {
        let right = NetNs::new().expect("namespace");
        link::add_veth_pair(&left, "veth0", &right, "veth1").expect("pair");
        link::set_up(&right, "veth1").expect("up");
        link::set_up(&left, "veth0").expect("up");
        right
    };
    drop(right);
    assert!(LinkMonitor::open(&left, "veth0").is_err(), "no such device");
    let right = pair();
    let mut monitor = LinkMonitor::open(&left, "veth0").expect("watches");
    let mut reaches = |wanted: LinkState| {
        let mut broken = false;
        until("it is heard of", || {
            let look = monitor.poll().expect("looks");
            broken |= look.was_down;
            look.state == wanted
        });
        broken
    };
    reaches(LinkState::Running);
    assert!(!reaches(LinkState::Running), "nothing happened");
    link::set_down(&left, "veth0").expect("down");
    assert!(reaches(LinkState::Down));
    link::set_up(&left, "veth0").expect("up");
    assert!(reaches(LinkState::Running));
    // No carrier: the other end is down.
    link::set_down(&right, "veth1").expect("down");
    assert!(reaches(LinkState::Down));
    link::set_up(&right, "veth1").expect("up");
    assert!(reaches(LinkState::Running));
    // Faster than any poll.
    link::set_down(&left, "veth0").expect("down");
    link::set_up(&left, "veth0").expect("up");
    assert!(reaches(LinkState::Running));
    drop(right);
    assert!(reaches(LinkState::Removed));
    let _right = pair();
    assert!(reaches(LinkState::Running));
}

/// Counts the frames that a queue returns.
struct Ends {
    pool: FramePool,
    freed: u64,
}

impl PacketSink for Ends {
    fn freed(&mut self, packet: Packet) {
        self.freed += 1;
        self.pool.freed(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: taut_path::DropReason) {
        self.pool.dropped(packet, reason);
    }
}

/// The link goes down and up at any moment while a queue sends through a shaper that always holds
/// frames. All packets that the tally counts as completed have arrived, and every other packet is
/// uncertain.
#[test]
fn purged_frame_never_counts_as_sent() {
    if !allowed() {
        return;
    }
    let ring = Ring::for_threads(64, shaper(3_000));
    let mut monitor = LinkMonitor::open(&ring.left, "veth0").expect("watches");
    let (pool, left, receiver) = (ring.pool, ring.left, ring.receiver);
    let stop = AtomicBool::new(false);
    let (received, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut ends = Ends {
        pool: pool.clone(),
        freed: 0,
    };
    let mut queue = Queue::builder(ring.tx, ring.completions)
        .limit(AnyLimit::off())
        .build(sched::monotonic_ns())
        .expect("builds");
    let (mut tally, mut sent) = (DeliveryTally::default(), 0_u64);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _stopped = StopOnDrop(&stop);
            for round in 0..40_u64 {
                thread::sleep(Duration::from_micros(3_000 + round * 211 % 7_000));
                link::set_down(&left, "veth0").expect("down");
                if round % 3 == 0 {
                    thread::sleep(Duration::from_micros(round * 97 % 3_000));
                }
                link::set_up(&left, "veth0").expect("up");
            }
        });
        let (receiver, received, over) = (&receiver, &received, &is_over);
        let reading = scope.spawn(move || {
            let mut buffer = vec![0; taut_linux::af_packet::PacketReceiver::READ_LIMIT_BYTES];
            let mut quiet = 0;
            while quiet < 50 {
                // The receiver reports once that its own end lost its carrier.
                match receiver.read(&mut buffer) {
                    Ok(Some(_)) => {
                        quiet = 0;
                        received.fetch_add(1, Ordering::Relaxed);
                    }
                    _ => {
                        thread::sleep(Duration::from_millis(1));
                        quiet += u32::from(over.load(Ordering::Relaxed));
                    }
                }
            }
        });
        until("the link is left alone, and the ring empty", || {
            let now_ns = sched::monotonic_ns();
            let ended = stop.load(Ordering::Relaxed);
            while !ended && queue.backlog().packets < 32 && pool.free_frames() > 0 {
                queue.enqueue(numbered(&pool, sent as u32), now_ns, &mut ends);
                sent += 1;
            }
            // A link that is down fails the doorbell; frames in the ring are not lost.
            let _ = queue.run(now_ns, &mut ends);
            let before = queue.completer_counters();
            // The batch fails as well; frames returned before are counted even so.
            let _ = queue.complete(now_ns, &mut ends);
            let after = queue.completer_counters();
            tally.stale(after.stale_packets - before.stale_packets);
            tally.reaped(after.completed_packets - before.completed_packets);
            let look = monitor.poll().expect("looks");
            tally.confirm(look.was_down);
            if look.was_down {
                queue.reset(now_ns);
            }
            ended && pool.free_frames() == pool.frames() && queue.backlog().packets == 0
        });
        is_over.store(true, Ordering::Relaxed);
        reading.join().expect("reads");
    });
    let received = received.load(Ordering::Relaxed);
    assert_eq!(tally.completed + tally.uncertain, sent, "{tally:?}");
    assert!(tally.uncertain > 0, "the link went down with frames in it");
    assert!(
        tally.completed <= received && received <= sent,
        "{received} arrived of {sent}: {tally:?}"
    );
}
