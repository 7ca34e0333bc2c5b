//! The packet ring: every frame arrives unchanged and exactly once, is completed when the shaper
//! released it, and arrives in order if one CPU sends.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::packets::{LONGEST_BYTES, Ring, numbered, reap_into, receive_into, shaper};
use crate::common::{StopOnDrop, allowed, until};
use taut_linux::af_packet::PacketReceiver;
use taut_linux::link::RootQdisc;
use taut_linux::sched;
use taut_path::{Completions, TxRing};

const FRAMES: u32 = 2000;

/// Sends `FRAMES` frames from one thread and checks that all come in order, exactly once, and are
/// completed.
fn send_all(ring: &mut Ring) {
    let (mut next, mut received, mut completed) = (0, 0, 0);
    until("all are received and completed", || {
        // Slots are filled again before the frames that were in them are read.
        for _ in 0..8 {
            ring.fill(&mut next, FRAMES).expect("kicks");
            completed += ring.reap().len() as u32;
        }
        for number in ring.receive() {
            assert_eq!(number, received);
            received += 1;
        }
        assert!(completed <= next);
        (received, completed) == (FRAMES, FRAMES)
    });
    assert_eq!(ring.tx.slots_free(), ring.completions.slots_free());
    assert_eq!(ring.pool.free_frames(), ring.tx.slots_free() * 2);
}

#[test]
fn slots_are_reused_and_frames_unchanged() {
    if !allowed() {
        return;
    }
    for slots in [1, 2, 5, 64] {
        send_all(&mut Ring::new(slots, RootQdisc::NoQueue));
    }
}

#[test]
fn shaped_frames_arrive_intact_exactly_once() {
    if !allowed() {
        return;
    }
    let mut ring = Ring::new(256, shaper(10_000));
    let at_the_sender = PacketReceiver::open(&ring.left, "veth0").expect("receiver");
    send_all(&mut ring);
    let mut buffer = vec![0; PacketReceiver::READ_LIMIT_BYTES];
    receive_into(&at_the_sender, &mut buffer, |number| {
        panic!("{number} goes out, not in")
    });
    assert!(
        at_the_sender.read(&mut [0; 1514]).is_err(),
        "too short for what may come"
    );
}

/// A frame is completed when the shaper releases it, so completions are never far ahead of
/// arrivals. If frames completed at submission, they would be ahead by the shaper's backlog.
#[test]
fn completions_have_the_rate_of_the_shaper() {
    if !allowed() {
        return;
    }
    // Frames between shaper and receiver on another CPU: 120 ms of them, because that CPU can be
    // busy. The shaper holds up to 2000.
    let just_arriving = 256;
    let rate_bits_per_s = 20_000_000;
    let qdisc = RootQdisc::Tbf {
        rate_bits_per_s,
        burst_bytes: 2 * LONGEST_BYTES as u32,
        limit_bytes: 16 << 20,
    };
    let mut ring = Ring::new(512, qdisc);
    let (mut next, mut received, mut completed, mut completed_bytes) = (0, 0, 0, 0);
    let start_ns = sched::monotonic_ns();
    until("all are received and completed", || {
        ring.fill(&mut next, FRAMES).expect("kicks");
        let reaped = ring.reap();
        completed += reaped.len() as u32;
        completed_bytes += reaped.into_iter().map(u64::from).sum::<u64>();
        received += ring.receive().len() as u32;
        let most = received + just_arriving;
        assert!(
            completed <= most,
            "{completed} completed, {received} received"
        );
        ring.wait();
        (received, completed) == (FRAMES, FRAMES)
    });
    // Never faster than the shaper; a slow machine can take longer. Half of the rate, with a large
    // margin.
    let least_ns = completed_bytes * 8 * 1_000_000_000 / rate_bits_per_s / 2;
    let took_ns = sched::monotonic_ns() - start_ns;
    assert!(
        took_ns > least_ns,
        "{completed_bytes} bytes in {took_ns} ns"
    );
}

/// The halves on two threads and the receiver on a third, with a ring small enough to be often full
/// and empty. Both halves ring, each on its own CPU, so the kernel might reorder frames.
#[test]
fn two_threads_share_the_ring() {
    if !allowed() {
        return;
    }
    for qdisc in [RootQdisc::NoQueue, shaper(10_000)] {
        let Ring {
            mut tx,
            mut completions,
            receiver,
            pool,
            left: _left,
            right: _right,
            ..
        } = Ring::for_threads(8, qdisc);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let _stop_in_the_end = StopOnDrop(&stop);
            scope.spawn(|| {
                for number in 0..FRAMES {
                    while tx.slots_free() == 0 && !stop.load(Ordering::Relaxed) {
                        thread::yield_now();
                    }
                    if tx.slots_free() == 0 {
                        return;
                    }
                    tx.submit(numbered(&pool, number), 0).expect("takes it");
                    tx.kick(0).expect("kicks");
                }
            });
            let reaper = scope.spawn(|| {
                let mut completed = 0;
                while completed < FRAMES && !stop.load(Ordering::Relaxed) {
                    reap_into(&mut completions, &pool, |_| completed += 1);
                    thread::yield_now();
                }
                completed
            });
            let mut buffer = vec![0; PacketReceiver::READ_LIMIT_BYTES];
            let mut received = BTreeSet::new();
            until("all are received and completed", || {
                receive_into(&receiver, &mut buffer, |number| {
                    assert!(number < FRAMES, "{number} was never sent");
                    assert!(received.insert(number), "{number} came twice");
                });
                received.len() == FRAMES as usize && reaper.is_finished()
            });
            assert_eq!(reaper.join().expect("reaper"), FRAMES);
        });
        assert_eq!(pool.free_frames(), 16);
    }
}

/// The completing thread renews the ring repeatedly while another thread fills it.
#[test]
fn ring_is_renewed_with_a_sender_thread() {
    const RENEWALS: u64 = 50;
    if !allowed() {
        return;
    }
    for qdisc in [RootQdisc::NoQueue, shaper(10_000)] {
        let Ring {
            mut tx,
            mut completions,
            receiver,
            pool,
            left: _left,
            right: _right,
            ..
        } = Ring::for_threads(8, qdisc);
        let stop = AtomicBool::new(false);
        let (mut reaped, mut received) = (0, BTreeSet::new());
        let submitted = thread::scope(|scope| {
            let stop_in_the_end = StopOnDrop(&stop);
            let sender = scope.spawn(|| {
                let mut submitted = 0;
                while !stop.load(Ordering::Relaxed) {
                    // In bursts, so that the sender is usually within the ring at a request.
                    let room = tx.slots_free().min(pool.free_frames());
                    for _ in 0..room {
                        let packet = numbered(&pool, submitted);
                        tx.submit(packet, 0).expect("takes it");
                        submitted += 1;
                    }
                    tx.kick(0).expect("kicks");
                    thread::yield_now();
                }
                submitted
            });
            let mut buffer = vec![0; PacketReceiver::READ_LIMIT_BYTES];
            for renewed in 1..=RENEWALS {
                let before = received.len();
                completions.request_reopen();
                until("it is renewed, and sends", || {
                    reap_into(&mut completions, &pool, |_| reaped += 1);
                    receive_into(&receiver, &mut buffer, |number| {
                        assert!(received.insert(number), "{number} came twice");
                    });
                    completions.reopened() == renewed && received.len() > before
                });
            }
            drop(stop_in_the_end);
            sender.join().expect("sender")
        });
        // Frames of the last ring return too.
        completions.request_reopen();
        assert!(tx.slots_free() <= 8);
        until("all are back", || {
            reap_into(&mut completions, &pool, |_| reaped += 1);
            reaped == submitted
        });
        assert!(received.last().is_none_or(|&last| last < submitted));
        assert_eq!(pool.free_frames(), 16);
    }
}
