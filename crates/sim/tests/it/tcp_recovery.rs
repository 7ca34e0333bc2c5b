//! Losses, timeouts and marks.

use std::cell::RefCell;
use std::rc::Rc;

use crate::tcp_support::{Fate, Link, MS, Network, SECOND};
use taut_sim::tcp::{Ack, SackBlocks, TcpConfig, TcpSender};

const MSS: u64 = 1448;

fn config() -> TcpConfig {
    TcpConfig {
        receive_buffer_bytes: 1 << 30,
        ..TcpConfig::default()
    }
}

/// Returns a link on which the transmission of a window takes no time.
fn fast_link() -> Link {
    Link {
        rate_bits_per_s: 100_000_000_000,
        round_trip_ns: 100 * MS,
        buffer_packets: 1 << 20,
        mark_above: None,
        jitter_ns: 0,
    }
}

#[test]
fn many_losses_are_recovered_in_a_round_trip() {
    for losses in [1, 2, 5, 20, 40] {
        let mut network = Network::new(fast_link(), &[config()]);
        // The window of 160 that starts with packet 150; its losses have a stride.
        network.data_fate = Box::new(move |_, packet| {
            let at = packet.number.wrapping_sub(150);
            let lost = at < 120 && at * 7 % 120 < losses && !packet.retransmission;
            if lost { Fate::Drop } else { Fate::Deliver }
        });
        network.write(0, 4000 * MSS);
        while network.flows[0].sender.stats().recoveries == 0 {
            network.run_until(network.now_ns + MS);
        }
        let start = network.now_ns;
        while network.flows[0].sender.in_recovery() {
            network.run_until(network.now_ns + MS);
        }
        let round_trips = (network.now_ns - start) as f64 / (100 * MS) as f64;
        network.run_until(60 * SECOND);
        let stats = network.flows[0].sender.stats();
        println!("{losses}: {round_trips:.2} round trips, {stats:?}");
        assert_eq!((stats.timeouts, stats.recoveries), (0, 1));
        assert_eq!(stats.retransmissions, losses);
        assert!(
            round_trips < 1.3,
            "{losses} losses took {round_trips} round trips"
        );
        assert_eq!(network.flows[0].receiver.delivered_bytes(), 4000 * MSS);
    }
}

#[test]
fn limited_transmit_avoids_a_timeout() {
    // Four segments in flight, the first lost: three duplicates are sufficient. With three in
    // flight, the third comes from a new segment that the second released (RFC 3042).
    for initial_window_segments in [3, 4] {
        let config = TcpConfig {
            initial_window_segments,
            ..config()
        };
        let mut network = Network::new(fast_link(), &[config]);
        network.data_fate = Box::new(|_, packet| match packet.number {
            0 => Fate::Drop,
            _ => Fate::Deliver,
        });
        network.write(0, 100 * MSS);
        network.run_until(30 * SECOND);
        let stats = network.flows[0].sender.stats();
        assert_eq!((stats.timeouts, stats.retransmissions), (0, 1));
        assert_eq!(network.flows[0].receiver.delivered_bytes(), 100 * MSS);
    }
}

#[test]
fn timeout_doubles_in_a_blackout() {
    let blackout = 3 * SECOND..40 * SECOND;
    let mut network = Network::new(fast_link(), &[config()]);
    let sent = Rc::new(RefCell::new(Vec::new()));
    let (log, dark) = (Rc::clone(&sent), blackout.clone());
    network.data_fate = Box::new(move |now, packet| {
        if !dark.contains(&now) {
            return Fate::Deliver;
        }
        if packet.retransmission {
            log.borrow_mut().push(now);
        }
        Fate::Drop
    });
    network.write(0, 1 << 20);
    network.run_until(blackout.start);
    let total = 200 << 20;
    network.write(0, total - (1 << 20));
    network.run_until(blackout.end);
    let times = sent.borrow().clone();
    assert!(times.len() >= 6, "{times:?}");
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for pair in gaps.windows(2) {
        assert_eq!(pair[1], 2 * pair[0], "{gaps:?}");
    }
    let stats = network.flows[0].sender.stats();
    assert_eq!(stats.timeouts as usize, times.len());
    assert_eq!(network.flows[0].sender.cwnd_bytes(), MSS);
    // 7/10 of the data sent during the blackout, then the initial window after the idle time. The
    // threshold is not reduced at each timeout of the same segment.
    assert_eq!(network.flows[0].sender.ssthresh_bytes(), 7 * MSS);
    network.run_until(300 * SECOND);
    let flow = &network.flows[0];
    assert_eq!(flow.receiver.delivered_bytes(), total);
    assert_eq!(flow.sender.acked_bytes(), total);
    // A sample of a new segment has reset the back-off.
    assert!(flow.sender.rto_ns() < SECOND);
}

#[test]
fn timeout_has_a_maximum() {
    let config = TcpConfig {
        max_rto_ns: 4 * SECOND,
        ..config()
    };
    let mut sender = TcpSender::new(&config);
    assert_eq!(sender.next_timer_ns(), None);
    sender.write(1);
    let mut times = vec![0];
    for _ in 0..40 {
        let now = *times.last().unwrap();
        assert!(sender.next_segment(now).is_some());
        assert_eq!(sender.next_segment(now), None);
        let next = sender.next_timer_ns().unwrap();
        sender.on_timer(next - 1);
        assert_eq!(sender.next_segment(next - 1), None);
        sender.on_timer(next);
        times.push(next);
    }
    let gaps: Vec<u64> = times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) / SECOND)
        .collect();
    assert_eq!(gaps[..5], [1, 2, 4, 4, 4]);
    assert_eq!(gaps[39], 4);
}

#[test]
fn lost_tail_is_sent_once_after_timeout() {
    let mut network = Network::new(fast_link(), &[config()]);
    network.data_fate = Box::new(|_, packet| match packet.number {
        97..100 => Fate::Drop,
        _ => Fate::Deliver,
    });
    network.write(0, 100 * MSS);
    network.run_until(10 * SECOND);
    let stats = network.flows[0].sender.stats();
    assert_eq!((stats.timeouts, stats.retransmissions), (1, 3));
    assert_eq!(network.flows[0].receiver.delivered_bytes(), 100 * MSS);
}

#[test]
fn marks_reduce_once_in_a_round_trip() {
    let config = TcpConfig {
        ecn: true,
        ..config()
    };
    let mut network = Network::new(fast_link(), &[config]);
    // Every packet of two seconds is marked: 20 round trips.
    network.data_fate = Box::new(|now, packet| {
        assert!(!packet.retransmission);
        let marked = (SECOND..3 * SECOND).contains(&now);
        if marked { Fate::Mark } else { Fate::Deliver }
    });
    network.write(0, u64::MAX);
    let (mut cuts, mut last) = (vec![], 0);
    while network.now_ns < 3 * SECOND {
        network.run_until(network.now_ns + MS);
        let cwnd = network.flows[0].sender.cwnd_bytes();
        if cwnd < last {
            cuts.push(network.now_ns);
            let smallest = (last as f64 * 0.7).max(2.0 * MSS as f64);
            assert!((cwnd as f64 - smallest).abs() < 0.02 * smallest + MSS as f64);
        }
        last = cwnd;
    }
    let stats = network.flows[0].sender.stats();
    println!("{stats:?}, cuts at {cuts:?}");
    assert_eq!((stats.retransmissions, stats.timeouts), (0, 0));
    assert!(cuts.len() > 3);
    assert!(
        cuts.windows(2).all(|pair| pair[1] - pair[0] >= 99 * MS),
        "{cuts:?}"
    );
    assert!(stats.ecn_reductions <= 20);
    // After the last mark CWR arrives, and the echo ends.
    network.run_until(4 * SECOND);
    let after = network.flows[0].sender.stats().ecn_reductions;
    network.run_until(6 * SECOND);
    assert_eq!(network.flows[0].sender.stats().ecn_reductions, after);
    assert!(!network.flows[0].receiver.current_ack().ece);
}

#[test]
fn a_marking_queue_fills_the_link_without_loss() {
    let config = TcpConfig {
        ecn: true,
        ..config()
    };
    let link = Link {
        rate_bits_per_s: 12_000_000,
        mark_above: Some(100),
        buffer_packets: 100_000,
        ..fast_link()
    };
    let mut network = Network::new(link, &[config]);
    network.write(0, u64::MAX);
    network.run_until(60 * SECOND);
    let before = network.sent_bytes;
    network.run_until(160 * SECOND);
    let utilisation = (network.sent_bytes - before) as f64 * 8.0 / 12e6 / 100.0;
    println!("{utilisation:.4}, {} marks", network.marks);
    assert!(utilisation > 0.99);
    assert_eq!(
        (
            network.drops,
            network.flows[0].sender.stats().retransmissions
        ),
        (0, 0)
    );
}

#[test]
fn mark_and_loss_reduce_the_window_once() {
    let config = TcpConfig {
        ecn: true,
        ..config()
    };
    let mut network = Network::new(fast_link(), &[config]);
    network.data_fate = Box::new(|_, packet| match packet.number {
        150 => Fate::Mark,
        300 => Fate::Drop,
        _ => Fate::Deliver,
    });
    network.write(0, 3000 * MSS);
    while network.flows[0].sender.stats().ecn_reductions == 0 {
        network.run_until(network.now_ns + 1000);
    }
    let threshold = network.flows[0].sender.ssthresh_bytes();
    network.run_until(5 * SECOND);
    let stats = network.flows[0].sender.stats();
    assert_eq!(
        (
            stats.ecn_reductions,
            stats.recoveries,
            stats.retransmissions
        ),
        (1, 1, 1)
    );
    assert_eq!(network.flows[0].sender.ssthresh_bytes(), threshold);
}

fn ack(cumulative: u64, sacked: Option<(u64, u64)>) -> Ack {
    let mut sack = SackBlocks::default();
    if let Some((start, end)) = sacked {
        assert!(sack.push(cumulative, start, end));
    }
    Ack {
        cumulative,
        window_bytes: 1 << 30,
        sack,
        ece: false,
    }
}

fn send_all(sender: &mut TcpSender, now_ns: u64) -> u64 {
    std::iter::from_fn(|| sender.next_segment(now_ns)).count() as u64
}

#[test]
fn recovery_ends_at_the_threshold() {
    let mut sender = TcpSender::new(&config());
    sender.write(u64::MAX);
    assert_eq!(send_all(&mut sender, 0), 10);
    for segment in 2..=10 {
        sender.on_ack(&ack(0, Some((MSS, segment * MSS))), 100 * MS);
        send_all(&mut sender, 100 * MS);
    }
    let kept = 7 * MSS;
    assert_eq!((sender.in_recovery(), sender.cwnd_bytes()), (true, kept));
    assert_eq!(sender.in_flight_bytes(), kept);
    // Limited transmit had sent two more segments before.
    sender.on_ack(&ack(1, None), 200 * MS);
    assert!(sender.in_recovery());
    sender.on_ack(&ack(12 * MSS, None), 200 * MS);
    assert_eq!((sender.in_recovery(), sender.cwnd_bytes()), (false, kept));
}

#[test]
fn retransmitted_data_is_not_sampled() {
    let sender = || {
        let mut sender = TcpSender::new(&config());
        sender.write(5 * MSS);
        assert_eq!(send_all(&mut sender, 0), 5);
        sender
    };
    // The first segment, which is timed, is sent again by fast retransmit, ...
    let mut fast = sender();
    fast.on_ack(&ack(0, Some((MSS, 4 * MSS))), 100 * MS);
    assert!(
        fast.next_segment(100 * MS)
            .is_some_and(|segment| segment.retransmission)
    );
    fast.on_ack(&ack(5 * MSS, None), 250 * MS);
    assert_eq!(fast.srtt_ns(), None);
    // ... or by the timer.
    let mut slow = sender();
    slow.on_timer(SECOND);
    assert!(
        slow.next_segment(SECOND)
            .is_some_and(|segment| segment.retransmission)
    );
    slow.on_ack(&ack(5 * MSS, None), SECOND + MS);
    assert_eq!(slow.srtt_ns(), None);
    // A timed segment that waits behind a loss for the timer gives no sample either.
    let mut behind = sender();
    behind.on_ack(&ack(MSS, None), 100 * MS);
    behind.write(MSS);
    assert_eq!(send_all(&mut behind, 100 * MS), 1);
    behind.on_timer(10 * SECOND);
    assert!(
        behind
            .next_segment(10 * SECOND)
            .is_some_and(|segment| segment.start == MSS)
    );
    behind.on_ack(&ack(6 * MSS, None), 11 * SECOND);
    assert_eq!(behind.srtt_ns(), Some(100 * MS));
}

#[test]
fn window_grows_after_a_timeout() {
    let config = TcpConfig {
        initial_window_segments: 100,
        ..config()
    };
    let mut network = Network::new(fast_link(), &[config]);
    network.data_fate = Box::new(|now, _| if now == 0 { Fate::Drop } else { Fate::Deliver });
    network.write(0, 50 * MSS);
    // One round trip for each segment would take more than 5 s.
    network.run_until(3 * SECOND);
    assert_eq!(network.flows[0].receiver.delivered_bytes(), 50 * MSS);
    assert_eq!(network.flows[0].sender.stats().timeouts, 1);
}
