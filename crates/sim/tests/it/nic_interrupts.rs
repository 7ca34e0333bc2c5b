//! Interrupt times of the emulated NIC, and the packets that can be reaped at them.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use crate::support::{Freed, nic, packet};
use proptest::prelude::*;
use taut_path::{Completions, InRing, Packet, PacketSink, TxRing};
use taut_sim::nic::{
    DescriptorRule, EmulatedNic, FinishedAt, Framing, InterruptRule, NicConfig, NicConfigError,
    NicEvent, RareGap, RingOf, SharedNic, WireCounters,
};
use taut_sim::single_queue_bench::object;

/// Link time of a minimal frame at 1 Gbit/s.
const FRAME_NS: u64 = 672;

/// Keeps the ring full and reaps at each interrupt. Returns the times of the first `count` ones.
fn interrupts(rule: InterruptRule, seed: u64, count: usize) -> Vec<u64> {
    let config = NicConfig {
        rate_bits_per_s: 1_000_000_000,
        framing: Framing::ETHERNET,
        slots: 4_096,
        rule: DescriptorRule::OnePerPacket,
        interrupt: rule,
        finished_at: FinishedAt::End,
        segments_apart: false,
        seed,
    };
    let mut nic = EmulatedNic::new(config).expect("the settings are valid");
    let (mut times, mut freed, mut frame) = (Vec::new(), Freed::default(), 0);
    while times.len() < count {
        while TxRing::slots_free(&nic) > 0 {
            nic.submit(packet(frame, 60), 0)
                .expect("it takes every packet");
            frame += 1;
        }
        let Ok(()) = nic.kick(times.last().copied().unwrap_or(0));
        match nic.advance(u64::MAX).expect("the wire is busy") {
            (_, NicEvent::Frame(_)) => {}
            (at_ns, NicEvent::Interrupt(_)) => {
                times.push(at_ns);
                let Ok(_) = nic.reap(at_ns, u32::MAX, &mut |packet| freed.freed(packet));
            }
        }
    }
    times
}

fn gaps(times: &[u64]) -> Vec<u64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn under_load_the_period_is_exact() {
    let times = interrupts(InterruptRule::every(100_000), 1, 500);
    assert_eq!(times[0], FRAME_NS, "an idle NIC interrupts at once");
    assert!(gaps(&times).iter().all(|&gap| gap == 100_000));
}

#[test]
fn without_a_period_each_packet_interrupts() {
    let times = interrupts(InterruptRule::every(0), 1, 500);
    let each: Vec<u64> = (1..=500).map(|n| n * FRAME_NS).collect();
    assert_eq!(times, each);
}

#[test]
fn packet_threshold_interrupts_before_the_period() {
    let mut rule = InterruptRule::every(100_000);
    rule.packets = Some(10);
    let times = interrupts(rule, 1, 100);
    assert!(gaps(&times).iter().all(|&gap| gap == 10 * FRAME_NS));
    // More packets than are sent in the period: the period ends first.
    rule.packets = Some(200);
    let times = interrupts(rule, 1, 100);
    assert!(gaps(&times).iter().all(|&gap| gap == 100_000));
}

#[test]
fn idle_nic_interrupts_at_once() {
    let mut nic = nic(1_000_000_000, InterruptRule::every(50_000));
    let mut freed = Freed::default();
    let mut seen = Vec::new();
    for (frame, kick_ns) in [(0, 1_000), (1, 20_000), (2, 500_000)] {
        nic.submit(packet(frame, 60), kick_ns)
            .expect("it takes every packet");
        let Ok(()) = nic.kick(kick_ns);
        while let Some((at_ns, event)) = nic.advance(u64::MAX) {
            if event == NicEvent::Interrupt(0) {
                seen.push(at_ns);
                let Ok(more) = nic.reap(at_ns, u32::MAX, &mut |packet| freed.freed(packet));
                assert!(!more);
            }
        }
    }
    let first = 1_000 + FRAME_NS;
    assert_eq!(seen, [first, first + 50_000, 500_000 + FRAME_NS]);
    assert_eq!(freed.packets, 3);
}

#[test]
fn jitter_covers_its_range() {
    let mut rule = InterruptRule::every(100_000);
    rule.jitter_ns = 30_000;
    let gaps = gaps(&interrupts(rule, 7, 5_000));
    assert!(gaps.iter().all(|gap| (70_000..=130_000).contains(gap)));
    let mean = gaps.iter().sum::<u64>() / gaps.len() as u64;
    assert!((99_000..=101_000).contains(&mean), "{mean}");
    assert!(gaps.iter().any(|&gap| gap < 71_000) && gaps.iter().any(|&gap| gap > 129_000));
}

#[test]
fn rare_gaps_have_the_configured_frequency() {
    let mut rule = InterruptRule::every(20_000);
    rule.rare_gap = Some(RareGap {
        one_in: 100,
        gap_ns: 1_000_000,
    });
    let gaps = gaps(&interrupts(rule, 3, 20_000));
    let rare = gaps.iter().filter(|&&gap| gap == 1_000_000).count();
    assert!(gaps.iter().all(|&gap| gap == 20_000 || gap == 1_000_000));
    // 200 expected, standard deviation 14.
    assert!((130..=270).contains(&rare), "{rare}");
}

#[test]
fn a_seed_repeats_a_run_and_another_does_not() {
    let mut rule = InterruptRule::every(100_000);
    rule.jitter_ns = 50_000;
    let run = |seed| interrupts(rule, seed, 300);
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

/// Returns a NIC with `count` minimal frames submitted with one doorbell.
fn loaded(count: u32, rule: InterruptRule) -> EmulatedNic {
    let mut nic = nic(1_000_000_000, rule);
    for frame in 0..count {
        nic.submit(packet(frame, 60), 0)
            .expect("it takes every packet");
    }
    let Ok(()) = nic.kick(0);
    nic
}

#[test]
fn reported_packets_do_not_count_for_next_interrupt() {
    let rule = InterruptRule {
        packets: Some(2),
        ..InterruptRule::every(1_000_000)
    };
    let mut nic = loaded(2, rule);
    nic.advance(u64::MAX);
    let interrupt = nic.advance(u64::MAX);
    assert_eq!(interrupt, Some((FRAME_NS, NicEvent::Interrupt(0))));
    // The second of two packets waits for the period.
    nic.advance(u64::MAX);
    assert_eq!(nic.next_interrupt_ns(), Some(FRAME_NS + 1_000_000));
}

#[test]
fn unreaped_packets_do_not_interrupt_again() {
    let mut nic = loaded(10, InterruptRule::every(0));
    let mut interrupts = 0;
    while let Some((_, event)) = nic.advance(u64::MAX) {
        interrupts += u32::from(event == NicEvent::Interrupt(0));
        assert!(interrupts <= 10, "an interrupt for nothing new");
    }
    assert_eq!(interrupts, 10);
    assert_eq!(nic.packets_in_rings(), 10);
}

#[test]
fn polled_packets_do_not_interrupt() {
    let mut rule = InterruptRule::every(1_000_000);
    rule.packets = Some(4);
    let mut nic = loaded(9, rule);
    let mut freed = Freed::default();
    let mut sent = 0;
    let mut seen = Vec::new();
    while let Some((at_ns, event)) = nic.advance(u64::MAX) {
        if event == NicEvent::Interrupt(0) {
            seen.push(at_ns / FRAME_NS);
            let Ok(_) = nic.reap(at_ns, u32::MAX, &mut |packet| freed.freed(packet));
        } else {
            sent += 1;
            if sent == 4 {
                // Three are finished since the first interrupt; the fourth starts the count again.
                let Ok(_) = nic.reap(at_ns, u32::MAX, &mut |packet| freed.freed(packet));
            }
        }
    }
    // The first interrupt is at once, the next one for the fourth packet after the poll, then for
    // the period.
    assert_eq!(seen[..2], [1, 8]);
    assert_eq!(freed.packets, 9);
}

#[test]
fn packet_sent_at_interrupt_time_is_reaped() {
    let mut nic = loaded(20, InterruptRule::every(10 * FRAME_NS));
    let mut freed = Freed::default();
    let mut reaped = Vec::new();
    while let Some((at_ns, event)) = nic.advance(u64::MAX) {
        if event == NicEvent::Interrupt(0) {
            let Ok(_) = nic.reap(at_ns, u32::MAX, &mut |packet| freed.freed(packet));
            reaped.push((at_ns / FRAME_NS, freed.packets));
        }
    }
    assert_eq!(reaped, [(1, 1), (11, 11), (21, 20)]);
}

#[test]
fn packets_left_by_a_poll_interrupt() {
    let mut nic = loaded(6, InterruptRule::every(1_000_000));
    let mut freed = Freed::default();
    while nic.packets_to_send() > 0 {
        nic.advance(u64::MAX);
    }
    // One packet was reported at once; a poll reaps it and three of the other five.
    let Ok(more) = nic.reap(6 * FRAME_NS, 4, &mut |packet| freed.freed(packet));
    assert!(more);
    let at_ns = FRAME_NS + 1_000_000;
    assert_eq!(nic.advance(u64::MAX), Some((at_ns, NicEvent::Interrupt(0))));
    let Ok(more) = nic.reap(at_ns, u32::MAX, &mut |packet| freed.freed(packet));
    assert!(!more);
    assert_eq!(nic.next_event_ns(), None);
    assert_eq!(freed.packets, 6);
}

#[test]
fn reaping_keeps_to_its_budget_and_its_order() {
    let mut nic = loaded(10, InterruptRule::every(1_000_000_000));
    while nic.packets_to_send() > 0 {
        nic.advance(u64::MAX);
    }
    let mut freed = Freed::default();
    let mut reap = |budget| {
        let Ok(more) = nic.reap(0, budget, &mut |packet| freed.freed(packet));
        (more, Completions::slots_free(&nic))
    };
    assert_eq!(reap(4), (true, 1_018));
    assert_eq!(reap(6), (false, 1_024), "nothing is left at the budget");
    assert_eq!(reap(6), (false, 1_024));
    assert_eq!(freed.packets, 10);
}

#[test]
fn unusable_settings_are_rejected() {
    let config = NicConfig {
        rate_bits_per_s: 0,
        framing: Framing::ETHERNET,
        slots: 1_024,
        rule: DescriptorRule::E1000,
        interrupt: InterruptRule::every(0),
        finished_at: FinishedAt::End,
        segments_apart: false,
        seed: 0,
    };
    assert_eq!(
        EmulatedNic::new(config).err(),
        Some(NicConfigError::RateZero)
    );
    let small = NicConfig {
        rate_bits_per_s: 1,
        slots: 31,
        ..config
    };
    assert!(matches!(
        EmulatedNic::new(small).err(),
        Some(NicConfigError::RingTooSmall { .. })
    ));
}

/// Sums the packets of a ring and their bytes.
fn in_ring<'a>(packets: impl Iterator<Item = &'a Packet>) -> InRing {
    packets.fold(InRing::default(), |sum, packet| InRing {
        packets: sum.packets + 1,
        bytes: sum.bytes + packet.wire_bytes(),
    })
}

#[test]
fn nic_counts_sent_and_unsent_packets() {
    let mut nic = loaded(10, InterruptRule::every(1_000_000_000));
    let holds = |nic: &EmulatedNic| in_ring(nic.packets(0));
    let of = |packets| InRing {
        packets,
        bytes: packets * 60,
    };
    assert_eq!(holds(&nic), of(10));
    nic.advance(FRAME_NS);
    assert_eq!(holds(&nic), of(10), "sent, and not reaped");
    let mut freed = Freed::default();
    let Ok(_) = nic.reap(FRAME_NS, 4, &mut |packet| freed.freed(packet));
    assert_eq!(holds(&nic), of(9));
}

#[test]
fn multi_ring_counts_its_own_packets() {
    let config = NicConfig {
        rate_bits_per_s: 1_000_000_000,
        framing: Framing::ETHERNET,
        slots: 16,
        rule: DescriptorRule::OnePerPacket,
        interrupt: InterruptRule::every(0),
        finished_at: FinishedAt::End,
        segments_apart: false,
        seed: 1,
    };
    let (nic, rings) = SharedNic::shared(&config, 2, (), true).expect("the settings are valid");
    assert_eq!(rings[0].capacity_slots(), 16);
    let mut sender = rings[1].clone();
    // An empty frame needs room too: it counts as one byte.
    for bytes in [60, 0] {
        sender
            .submit(packet(0, bytes), 0)
            .expect("it takes every packet");
    }
    let held = InRing {
        packets: 2,
        bytes: 61,
    };
    let nic = nic.borrow();
    assert_eq!(in_ring(nic.packets(1)), held);
    assert_eq!(in_ring(nic.packets(0)), InRing::default());
}

#[test]
fn complete_poll_cancels_the_interrupt() {
    let mut nic = loaded(3, InterruptRule::every(1_000_000));
    while nic.packets_to_send() > 0 {
        nic.advance(u64::MAX);
    }
    assert_eq!(nic.next_event_ns(), Some(FRAME_NS + 1_000_000));
    let mut freed = Freed::default();
    let Ok(_) = nic.reap(3 * FRAME_NS, u32::MAX, &mut |packet| freed.freed(packet));
    assert_eq!(nic.next_event_ns(), None);
}

/// Submits `count` minimal frames at 1 Gbit/s to each of `rings` rings, with doorbells in order.
fn loaded_rings(
    rings: usize,
    count: u32,
    interrupt: InterruptRule,
) -> (Rc<RefCell<SharedNic>>, Vec<RingOf>) {
    let config = NicConfig {
        framing: Framing::ETHERNET,
        interrupt,
        ..NicConfig::plain(1_000_000_000, 1_024)
    };
    let (nic, mut rings) =
        SharedNic::shared(&config, rings, (), true).expect("the settings are valid");
    for ring in &mut rings {
        for frame in 0..count {
            ring.submit(packet(frame, 60), 0)
                .expect("it takes every packet");
        }
        let Ok(()) = ring.kick(0);
    }
    (nic, rings)
}

/// Returns the events of a NIC with several rings without reaping: the time, the ring, and whether
/// it is an interrupt.
fn events(nic: &Rc<RefCell<SharedNic>>) -> Vec<(u64, usize, bool)> {
    let mut nic = nic.borrow_mut();
    let next = || match nic.advance(u64::MAX)? {
        (at_ns, NicEvent::Frame(frame)) => Some((at_ns, frame.ring, false)),
        (at_ns, NicEvent::Interrupt(ring)) => Some((at_ns, ring, true)),
    };
    core::iter::from_fn(next).collect()
}

#[test]
fn rings_share_the_wire_round_robin() {
    let (nic, _rings) = loaded_rings(3, 3, InterruptRule::every(1_000_000));
    let sent = events(&nic)
        .into_iter()
        .filter_map(|(_, ring, interrupts)| (!interrupts).then_some(ring));
    assert_eq!(sent.collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[test]
fn first_interrupts_are_spread_over_a_period() {
    let (nic, _rings) = loaded_rings(4, 1, InterruptRule::every(100_000));
    let interrupts = events(&nic)
        .into_iter()
        .filter(|&(_, _, interrupts)| interrupts);
    let at = |ring: u64| {
        let sent_ns = (ring + 1) * FRAME_NS;
        (sent_ns.max(25_000 * ring), ring as usize, true)
    };
    assert_eq!(interrupts.collect::<Vec<_>>(), [at(0), at(1), at(2), at(3)]);
}

#[test]
fn rings_have_different_random_numbers() {
    let mut rule = InterruptRule::every(100_000);
    rule.jitter_ns = 50_000;
    let (nic, _rings) = loaded_rings(2, 2_000, rule);
    let seen = events(&nic);
    let gaps = |ring| {
        let at = |&(at_ns, of, interrupts): &(u64, usize, bool)| {
            (interrupts && of == ring).then_some(at_ns)
        };
        gaps(&seen.iter().filter_map(at).collect::<Vec<_>>())
    };
    let (first, second) = (gaps(0), gaps(1));
    assert!(first.len() > 20 && second.len() > 20);
    let alike = first.iter().zip(&second).filter(|(a, b)| a == b).count();
    assert!(alike < 3, "{alike} gaps are alike");
}

#[test]
fn complete_poll_cancels_the_interrupt_of_its_ring() {
    let (nic, mut rings) = loaded_rings(2, 1, InterruptRule::every(1_000_000));
    for _ in 0..2 {
        let mut nic = nic.borrow_mut();
        let event = nic.advance(u64::MAX).map(|(_, event)| event);
        assert!(matches!(
            event,
            Some(NicEvent::Frame(_) | NicEvent::Interrupt(0))
        ));
    }
    while nic.borrow().counters(1).packets == 0 {
        nic.borrow_mut().advance(u64::MAX);
    }
    for ring in &mut rings {
        let Ok(more) = ring.reap(2 * FRAME_NS, u32::MAX, &mut |packet| {
            drop(packet.into_frame())
        });
        assert!(!more);
    }
    assert_eq!(nic.borrow().next_event_ns(), None);
}

/// Events of a NIC: the time, and whether it is an interrupt.
type Events = Vec<(u64, bool)>;

/// Submits `bursts`, one per 20 us, and reaps up to `budget` packets at each interrupt.
fn one_ring(config: NicConfig, bursts: &[Vec<u32>], budget: u32) -> (Events, WireCounters) {
    let mut nic = EmulatedNic::new(config).expect("the settings are valid");
    let mut events = Vec::new();
    let mut until = |nic: &mut EmulatedNic, until_ns| {
        while let Some((at_ns, event)) = nic.advance(until_ns) {
            let interrupts = event == NicEvent::Interrupt(0);
            events.push((at_ns, interrupts));
            if interrupts {
                let Ok(_) = nic.reap(at_ns, budget, &mut |it| drop(it.into_frame()));
            }
        }
    };
    for (now_ns, burst) in (0..).step_by(20_000).zip(bursts) {
        until(&mut nic, now_ns);
        submit_all(&mut nic, burst, now_ns);
    }
    until(&mut nic, u64::MAX);
    let counters = nic.counters(0);
    (events, counters)
}

/// The same for a ring of a shared NIC.
fn one_of_several(config: &NicConfig, bursts: &[Vec<u32>], budget: u32) -> (Events, WireCounters) {
    let (nic, mut rings) = SharedNic::shared(config, 1, (), true).expect("the settings are valid");
    let ring = &mut rings[0];
    // The NIC is not borrowed while the ring is reaped.
    let next = |until_ns| {
        let mut nic = nic.borrow_mut();
        let (at_ns, event) = nic.advance(until_ns)?;
        Some((at_ns, event == NicEvent::Interrupt(0)))
    };
    let mut events = Vec::new();
    let mut until = |ring: &mut RingOf, until_ns| {
        while let Some((at_ns, interrupts)) = next(until_ns) {
            events.push((at_ns, interrupts));
            if interrupts {
                let Ok(_) = ring.reap(at_ns, budget, &mut |it| drop(it.into_frame()));
            }
        }
    };
    for (now_ns, burst) in (0..).step_by(20_000).zip(bursts) {
        until(ring, now_ns);
        submit_all(ring, burst, now_ns);
    }
    until(ring, u64::MAX);
    let counters = nic.borrow().counters(0);
    (events, counters)
}

fn submit_all(ring: &mut impl TxRing<Error = Infallible>, sizes: &[u32], now_ns: u64) {
    for &bytes in sizes {
        let Ok(()) = ring.submit(object(0, bytes), now_ns) else {
            panic!("it takes every packet")
        };
    }
    let Ok(()) = ring.kick(now_ns);
}

proptest! {
    #[test]
    fn ring_of_a_shared_nic_matches_the_nic(
        bursts in proptest::collection::vec(proptest::collection::vec(60_u32..20_000, 0..8), 1..20),
        rate_bits_per_s in 1_000_000_000_u64..11_000_000_000,
        (period_ns, jitter_ns) in (0_u64..60_000, 0_u64..10_000),
        packets in proptest::option::of(1_u32..6),
        (at_start, segments_apart, budget) in (any::<bool>(), any::<bool>(), 1_u32..10),
    ) {
        let config = NicConfig {
            framing: Framing::ETHERNET,
            interrupt: InterruptRule { packets, jitter_ns, ..InterruptRule::every(period_ns) },
            finished_at: if at_start { FinishedAt::Start } else { FinishedAt::End },
            segments_apart,
            ..NicConfig::plain(rate_bits_per_s, 1_024)
        };
        let of_several = one_of_several(&config, &bursts, budget);
        prop_assert_eq!(of_several, one_ring(config, &bursts, budget));
    }
}
