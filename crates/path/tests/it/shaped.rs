//! The software shaper: exact over any time, never ahead, and late by at most its burst.

use crate::support::{Books, packet};
use proptest::prelude::*;
use taut_path::Stop;
use taut_path::limit::Fixed;
use taut_path::qdisc::{Fifo, Qdisc, Shaped};

const MS: u64 = 1_000_000;

/// Sends 1000 packets through it, polled every `step_ns`. Returns (time, total bytes).
fn run(rate_bits_per_s: u64, burst_ns: u64, step_ns: u64, bytes: u32) -> Vec<(u64, u64)> {
    let mut shaped = Shaped::new(Fifo::new(1000), rate_bits_per_s, burst_ns);
    let mut books = Books::default();
    for frame in 0..1000 {
        shaped.enqueue(packet(frame, bytes), 0, &mut books);
    }
    let (mut now_ns, mut sent, mut totals) = (1_000 * MS, 0, Vec::new());
    while shaped.backlog().packets > 0 {
        while let Some(packet) = shaped.dequeue(now_ns, &mut books) {
            sent += u64::from(packet.wire_bytes());
            drop(packet.into_frame());
        }
        totals.push((now_ns, sent));
        match shaped.next_ready(now_ns) {
            Some(at_ns) => now_ns = at_ns.max(now_ns + step_ns),
            None => assert_eq!(shaped.backlog().packets, 0),
        }
    }
    totals
}

proptest! {
    #[test]
    fn bytes_never_exceed_the_rate(
        rate_kbit in 10..2_000_000u64,
        step_ns in 0..400_000u64,
        bytes in 60..1515u32,
    ) {
        let rate_bits_per_s = rate_kbit * 1000;
        let totals = run(rate_bits_per_s, MS, step_ns, bytes);
        let (start_ns, _) = totals[0];
        for &(now_ns, sent) in &totals {
            // The last packet has left by the end of its time; the burst came before.
            let time_ns = u128::from(now_ns - start_ns + MS);
            let most = time_ns * u128::from(rate_bits_per_s) / 8_000_000_000 + u128::from(bytes);
            prop_assert!(u128::from(sent) <= most + 1, "{sent} of {most} at {now_ns}");
        }
        // Steps shorter than the burst time lose nothing.
        let (end_ns, sent) = totals[totals.len() - 1];
        let rate = u128::from(rate_bits_per_s);
        let min_ns = u128::from(sent - u64::from(bytes)) * 8_000_000_000 / rate;
        prop_assert!(u128::from(end_ns - start_ns) <= min_ns + u128::from(step_ns) + 1);
    }
}

#[test]
fn late_caller_catches_up_by_the_burst_only() {
    let mut shaped = Shaped::new(Fifo::new(1000), 8_000_000, 3 * MS);
    let mut books = Books::default();
    for frame in 0..100 {
        shaped.enqueue(packet(frame, 1000), 0, &mut books);
    }
    // A packet per ms, after one second without a poll.
    let at_once = std::iter::from_fn(|| shaped.dequeue(1_000 * MS, &mut books))
        .map(|packet| drop(packet.into_frame()))
        .count();
    assert_eq!(at_once, 4, "those of 3 ms, and the one that is due");
    assert_eq!(shaped.next_ready(1_000 * MS), Some(1_001 * MS));
    shaped.drain(&mut |packet| drop(packet.into_frame()));
    assert_eq!(shaped.next_ready(1_000 * MS), None, "nothing waits");
}

#[test]
fn queue_returns_the_next_departure_time() {
    use crate::support::FakeRing;
    let (mut ring, mut books) = (FakeRing::new(16), Books::default());
    let mut queue = taut_path::Queue::builder_for(&mut ring)
        .with_limit(Fixed::off())
        .with_qdisc(Shaped::new(Fifo::new(10), 8_000_000, 0))
        .build(0)
        .expect("fits");
    for frame in 0..3 {
        queue.enqueue(packet(frame, 1000), 0, &mut books);
    }
    assert_eq!(queue.run(5 * MS, &mut books), Stop::NotReady(6 * MS));
    assert_eq!(queue.run(6 * MS, &mut books), Stop::NotReady(7 * MS));
    assert_eq!(queue.run(7 * MS, &mut books), Stop::Idle);
    assert_eq!(queue.sender_counters().sent_packets, 3);
}

#[test]
fn shaped_packet_is_not_counted_as_blocked() {
    use crate::support::FakeRing;
    use taut_path::{Event, Probe};

    #[derive(Default)]
    struct Refusals(u32);
    impl Probe for Refusals {
        fn event(&mut self, _now_ns: u64, event: Event<'_>) {
            self.0 += u32::from(matches!(event, Event::Blocked));
        }
    }

    // A packet per ms, and one in flight.
    let mut queue = taut_path::Queue::builder_for(FakeRing::new(16))
        .with_limit(Fixed::packets(1))
        .with_qdisc(Shaped::new(Fifo::new(10), 8_000_000, 0))
        .probe(Refusals::default())
        .build(0)
        .expect("valid settings");
    let mut books = Books::default();
    for frame in 0..2 {
        queue.enqueue(packet(frame, 1_000), 0, &mut books);
    }
    assert_eq!(queue.run(0, &mut books), Stop::Limit);
    assert_eq!(queue.run(MS - 1, &mut books), Stop::Limit);
    assert_eq!(queue.probe().0, 0, "the shaper would not release it either");
    assert_eq!(queue.run(MS, &mut books), Stop::Limit);
    assert_eq!(queue.probe().0, 1, "now only the limit blocks it");
}
