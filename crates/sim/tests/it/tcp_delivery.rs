//! The stream arrives complete, in order and once for any network, and any input of the peer is
//! handled.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::tcp_support::{Fate, Link, MS, Network, SECOND};
use proptest::prelude::*;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use taut_sim::tcp::{Ack, GsoSize, SackBlocks, TcpConfig, TcpReceiver, TcpSender};

#[derive(Clone, Debug)]
struct Trouble {
    seed: u64,
    loss_percent: u64,
    late_percent: u64,
    twice_percent: u64,
    buffer_packets: usize,
}

fn trouble() -> impl Strategy<Value = Trouble> {
    (any::<u64>(), 0..30_u64, 0..30_u64, 0..10_u64, 1..200_usize).prop_map(
        |(seed, loss_percent, late_percent, twice_percent, buffer_packets)| Trouble {
            seed,
            loss_percent,
            late_percent,
            twice_percent,
            buffer_packets,
        },
    )
}

fn config() -> impl Strategy<Value = TcpConfig> {
    let gso_size = prop_oneof![
        Just(GsoSize::Off),
        (1..70_000_u32).prop_map(GsoSize::Fixed),
        Just(GsoSize::Auto)
    ];
    (
        any::<bool>(),
        gso_size,
        1..2000_u32,
        1..20_u32,
        1..200_000_u32,
        1..4_u32,
    )
        .prop_map(
            |(ecn, gso_size, mss_bytes, window, buffer, acks)| TcpConfig {
                mss_bytes,
                initial_window_segments: window,
                max_rto_ns: 2 * SECOND,
                ecn,
                gso_size,
                receive_buffer_bytes: buffer,
                delayed_ack_segments: acks,
                ..TcpConfig::default()
            },
        )
}

fn fate(random: &mut Xoshiro256PlusPlus, trouble: &Trouble) -> Fate {
    let draw = random.next_u64() % 100;
    let late = trouble.loss_percent + trouble.late_percent;
    match draw {
        draw if draw < trouble.loss_percent => Fate::Drop,
        draw if draw < late => Fate::Delay(random.next_u64() % (30 * MS)),
        draw if draw < late + trouble.twice_percent => Fate::Twice,
        95.. => Fate::Mark,
        _ => Fate::Deliver,
    }
}

/// A simple record of the bytes that have arrived.
#[derive(Default)]
struct Arrived {
    next: u64,
    beyond: BTreeSet<(u64, u64)>,
}

impl Arrived {
    fn add(&mut self, start: u64, end: u64, window_bytes: u64) {
        if end <= self.next + window_bytes || start <= self.next {
            self.beyond.insert((start, end));
        }
        while let Some(&(start, end)) = self.beyond.first() {
            if start > self.next {
                break;
            }
            self.beyond.pop_first();
            self.next = self.next.max(end);
        }
    }
}

fn run(config: &TcpConfig, trouble: &Trouble, segments: u64) -> Result<(), TestCaseError> {
    let link = Link {
        rate_bits_per_s: 100_000_000,
        round_trip_ns: 10 * MS,
        buffer_packets: trouble.buffer_packets,
        mark_above: None,
        jitter_ns: 0,
    };
    let mut network = Network::new(link, &[*config]);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(trouble.seed);
    let mut random_acks = Xoshiro256PlusPlus::seed_from_u64(!trouble.seed);
    let (bad, bad_acks) = (trouble.clone(), trouble.clone());
    network.data_fate = Box::new(move |_, _| fate(&mut random, &bad));
    network.ack_fate = Box::new(move |_, _| fate(&mut random_acks, &bad_acks));
    let arrived = Rc::new(RefCell::new(Arrived::default()));
    let (log, window) = (Rc::clone(&arrived), u64::from(config.receive_buffer_bytes));
    network.on_arrival = Box::new(move |_, packet, receiver: &TcpReceiver| {
        let end = packet.start + u64::from(packet.payload_bytes);
        let mut arrived = log.borrow_mut();
        arrived.add(packet.start, end, window);
        assert_eq!(
            receiver.delivered_bytes(),
            arrived.next,
            "in order and complete"
        );
        for (start, end) in receiver.current_ack().sacked() {
            assert!(arrived.next < start && start < end);
            assert!(
                arrived.beyond.iter().any(|&(_, last)| last == end),
                "not arrived"
            );
        }
    });
    let total = segments * u64::from(config.mss_bytes) + 17;
    network.write(0, total - 5);
    network.run_until(50 * MS);
    network.write(0, 5);
    let mut until = SECOND;
    while network.flows[0].sender.acked_bytes() < total && until < 40_000 * SECOND {
        until *= 2;
        network.run_until(until);
    }
    let flow = &network.flows[0];
    prop_assert_eq!(flow.receiver.delivered_bytes(), total);
    prop_assert_eq!(flow.sender.unacked_bytes(), 0);
    prop_assert_eq!(flow.sender.in_flight_bytes(), 0);
    prop_assert_eq!(flow.sender.next_timer_ns(), None);
    if trouble.loss_percent == 0 && trouble.late_percent == 0 && network.drops == 0 {
        prop_assert!(trouble.twice_percent > 0 || flow.sender.stats().retransmissions == 0);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_byte_arrives_once_and_in_order(
        config in config(),
        trouble in trouble(),
        segments in 0..300_u64,
    ) {
        run(&config, &trouble, segments)?;
    }

    #[test]
    fn any_acknowledgement_is_handled(
        config in config(),
        seed in any::<u64>(),
        largest in prop_oneof![Just(10_000_u64), Just(1 << 20), Just(u64::MAX)],
    ) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut number = |below: u64| random.next_u64() % below;
        let mut sender = TcpSender::new(&config);
        let mut receiver = TcpReceiver::new(&config);
        let mut now_ns = 0_u64;
        for _ in 0..500 {
            now_ns = now_ns.saturating_add(number(largest));
            match number(5) {
                0 => sender.write(number(largest)),
                1 => sender.on_timer(now_ns),
                2 => {
                    let (start, bytes) = (number(largest), number(70_000) as u32);
                    let _ = receiver.on_segment(start, bytes, true, now_ns);
                }
                _ => {
                    let cumulative = sender.acked_bytes().saturating_add(number(3) * number(3000));
                    let mut sack = SackBlocks::default();
                    for _ in 0..number(4) {
                        let start = cumulative.saturating_add(number(50_000));
                        sack.push(cumulative, start, start.saturating_add(number(5000)));
                    }
                    let ece = number(4) == 0;
                    let window_bytes = number(1 << 32) as u32;
                    sender.on_ack(&Ack { cumulative, window_bytes, sack, ece }, now_ns);
                }
            }
            for _ in 0..50 {
                let Some(segment) = sender.next_segment(now_ns) else { break };
                prop_assert!(segment.payload_bytes > 0);
                prop_assert!(segment.start >= sender.acked_bytes());
            }
            prop_assert!(sender.in_flight_bytes() <= sender.unacked_bytes().saturating_mul(2));
            prop_assert!(sender.cwnd_bytes() >= u64::from(config.mss_bytes));
        }
    }
}

#[test]
fn same_seed_gives_the_same_run() {
    let trouble = Trouble {
        seed: 7,
        loss_percent: 5,
        late_percent: 5,
        twice_percent: 1,
        buffer_packets: 50,
    };
    let trace = || {
        let link = Link {
            rate_bits_per_s: 10_000_000,
            round_trip_ns: 20 * MS,
            buffer_packets: trouble.buffer_packets,
            mark_above: None,
            jitter_ns: MS,
        };
        let mut network = Network::new(link, &[TcpConfig::default(); 3]);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(trouble.seed);
        let bad = trouble.clone();
        network.data_fate = Box::new(move |_, _| fate(&mut random, &bad));
        let log = Rc::new(RefCell::new(Vec::new()));
        let arrivals = Rc::clone(&log);
        network.on_arrival =
            Box::new(move |now, packet, _| arrivals.borrow_mut().push((now, packet.start)));
        (0..3).for_each(|flow| network.write(flow, 1 << 20));
        network.run_until(60 * SECOND);
        drop(network);
        log.take()
    };
    let first = trace();
    assert!(first.len() > 2000);
    assert_eq!(first, trace());
}
