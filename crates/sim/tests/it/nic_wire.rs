//! Wire time of frames, and its accuracy in the emulated NIC.

use crate::support::{Freed, gso_packet, nic, packet};
use proptest::prelude::*;
use taut_path::{Completions, Packet, PacketSink, Segmentation, TxRing};
use taut_sim::nic::{
    DescriptorRule, EmulatedNic, FinishedAt, Framing, InterruptRule, NicConfig, NicConfigError,
    NicEvent,
};

/// Keeps the ring full until `packets` have left. Returns their times, in ns.
fn sent_times(nic: &mut EmulatedNic, packets: usize, make: fn(u32) -> Packet) -> Vec<u64> {
    let mut freed = Freed::default();
    let (mut times, mut frame, mut now_ns) = (Vec::new(), 0, 0);
    while times.len() < packets {
        while TxRing::slots_free(nic) > 0 {
            nic.submit(make(frame), now_ns)
                .expect("it takes every packet");
            frame += 1;
        }
        let Ok(()) = nic.kick(now_ns);
        match nic.advance(u64::MAX).expect("the wire is busy") {
            (at_ns, NicEvent::Frame(_)) => times.push(at_ns),
            (at_ns, NicEvent::Interrupt(_)) => {
                now_ns = at_ns;
                let Ok(_) = nic.reap(now_ns, u32::MAX, &mut |packet| freed.freed(packet));
            }
        }
    }
    times
}

#[test]
fn frame_takes_at_least_84_bytes_of_time() {
    for bytes in 0..2_000 {
        let padded = if bytes > 60 { bytes } else { 60 };
        assert_eq!(Framing::ETHERNET.frame_time_bytes(bytes), padded + 24);
    }
}

#[test]
fn gigabit_carries_1_488_million_minimal_frames() {
    let mut nic = nic(1_000_000_000, InterruptRule::every(100_000));
    let times = sent_times(&mut nic, 1_488_096, |frame| packet(frame, 60));
    let in_a_second = times
        .iter()
        .filter(|&&at_ns| at_ns <= 1_000_000_000)
        .count();
    assert_eq!(in_a_second, 1_488_095);
}

#[test]
fn rounding_does_not_accumulate() {
    for (rate, bytes) in [(400_000_000_000u64, 1_538u128), (399_999_999_989, 1_538)] {
        let mut nic = nic(rate, InterruptRule::every(5_000));
        let times = sent_times(&mut nic, 1_000_000, |frame| packet(frame, 1_514));
        for (index, &at_ns) in times.iter().enumerate() {
            let exact = (index as u128 + 1) * bytes * 8_000_000_000 / u128::from(rate);
            assert_eq!(u128::from(at_ns), exact, "packet {index}");
        }
    }
}

#[test]
fn gso_packet_repeats_headers_in_each_segment() {
    let packet = gso_packet(0);
    let cost = Framing::ETHERNET.packet_time(&packet);
    drop(packet.into_frame());
    assert_eq!((cost.frames, cost.bytes), (45, 45 * 1_538));
}

proptest! {
    /// Compares with segmentation of the payload segment by segment.
    #[test]
    fn gso_wire_time_is_the_sum_of_segments(
        bytes in 0u32..200_000,
        header_bytes in 0u16..200,
        payload_bytes in 1u16..9_000,
    ) {
        let mut packet = packet(0, bytes);
        let frame_bytes = Framing::ETHERNET.frame_time_bytes(bytes.into());
        prop_assert_eq!(Framing::ETHERNET.packet_time(&packet).bytes, frame_bytes);
        packet.segmentation = Segmentation::new(header_bytes, payload_bytes);
        let cost = Framing::ETHERNET.packet_time(&packet);
        drop(packet.into_frame());
        let header = u64::from(header_bytes);
        let mut left = u64::from(bytes).saturating_sub(header);
        let (mut frames, mut total) = (0, 0);
        loop {
            let piece = left.min(u64::from(payload_bytes));
            frames += 1;
            total += Framing::ETHERNET.frame_time_bytes(header + piece);
            left -= piece;
            if left == 0 {
                break;
            }
        }
        prop_assert_eq!((cost.frames, cost.bytes), (frames, total));
    }
}

fn one_on_the_wire(rate_bits_per_s: u64) -> EmulatedNic {
    let mut nic = nic(rate_bits_per_s, InterruptRule::every(0));
    nic.submit(packet(0, 1_226), 0)
        .expect("it takes every packet");
    let Ok(()) = nic.kick(0);
    nic
}

#[test]
fn rate_change_applies_to_remainder_of_packet() {
    // 1,250 bytes: 10 us at 1 Gbit/s.
    let mut nic = one_on_the_wire(1_000_000_000);
    assert_eq!(nic.next_event_ns(), Some(10_000));
    assert_eq!(nic.advance(4_000), None);
    assert_eq!(nic.set_rate(100_000_000, 4_000), Ok(()));
    assert_eq!(nic.next_event_ns(), Some(4_000 + 60_000));
    assert_eq!(nic.set_rate(1_000_000_000, 34_000), Ok(()));
    assert_eq!(nic.next_event_ns(), Some(34_000 + 3_000));
    assert_eq!(nic.rate_bits_per_s(), 1_000_000_000);
}

#[test]
fn rate_change_does_not_move_sent_frames() {
    let mut nic = one_on_the_wire(1_000_000_000);
    assert_eq!(nic.set_rate(100_000_000, 25_000), Ok(()));
    assert_eq!(nic.next_event_ns(), Some(10_000));
}

#[test]
fn zero_rate_is_rejected() {
    let mut nic = one_on_the_wire(1_000_000_000);
    assert_eq!(nic.set_rate(0, 4_000), Err(NicConfigError::RateZero));
    assert_eq!(nic.next_event_ns(), Some(10_000));
    assert_eq!(nic.rate_bits_per_s(), 1_000_000_000);
}

#[test]
fn wire_starts_at_the_doorbell() {
    let mut nic = nic(1_000_000_000, InterruptRule::every(0));
    nic.submit(packet(0, 60), 0).expect("it takes every packet");
    assert_eq!(nic.next_event_ns(), None, "no doorbell yet");
    let Ok(()) = nic.kick(500);
    nic.submit(packet(1, 60), 600)
        .expect("it takes every packet");
    let mut sent = Vec::new();
    while let Some((at_ns, event)) = nic.advance(10_000) {
        if let NicEvent::Frame(frame) = event {
            sent.push((at_ns, frame.packet.frame().index()));
        }
    }
    assert_eq!(sent, [(500 + 672, 0)]);
    let Ok(()) = nic.kick(20_000);
    assert_eq!(
        nic.next_event_ns(),
        Some(20_000 + 672),
        "an idle wire starts at the doorbell"
    );
}

#[test]
fn counters_match_the_wire() {
    let mut nic = nic(1_000_000_000, InterruptRule::every(0));
    nic.submit(packet(0, 14), 0).expect("it takes every packet");
    nic.submit(gso_packet(1), 0).expect("it takes every packet");
    let Ok(()) = nic.kick(0);
    let mut interrupts = 0;
    while let Some((_, event)) = nic.advance(u64::MAX) {
        interrupts += u64::from(event == NicEvent::Interrupt(0));
    }
    let wire = nic.counters(0);
    assert_eq!((wire.packets, wire.frames), (2, 46));
    assert_eq!(wire.time_bytes, 84 + 45 * 1_538);
    assert_eq!((wire.interrupts, interrupts), (2, 2));
}

/// Returns the frame events of one packet: event time, end time, and whether it is the last.
fn frames_of_one(
    packet: Packet,
    finished_at: FinishedAt,
    segments_apart: bool,
) -> Vec<(u64, u64, bool)> {
    let mut nic = EmulatedNic::new(NicConfig {
        rate_bits_per_s: 1_000_000_000,
        framing: Framing::ETHERNET,
        slots: 64,
        rule: DescriptorRule::OnePerPacket,
        interrupt: InterruptRule::every(0),
        finished_at,
        segments_apart,
        seed: 1,
    })
    .expect("the settings are valid");
    nic.submit(packet, 0).expect("it takes every packet");
    let Ok(()) = nic.kick(0);
    let mut events = Vec::new();
    while let Some((at_ns, event)) = nic.advance(u64::MAX) {
        if let NicEvent::Frame(frame) = event {
            assert_eq!(frame.index as usize, events.len());
            events.push((at_ns, frame.ends_ns, frame.last));
        }
    }
    assert_eq!(nic.counters(0).packets, 1);
    events
}

#[test]
fn separate_segments_share_the_time_of_their_packet() {
    // 2 full segments of 1514 bytes and one of 66 + 104: 12,304 ns each, and 1,552.
    let three = || {
        let mut packet = packet(0, 66 + 2 * 1448 + 104);
        packet.segmentation = Segmentation::new(66, 1448);
        packet
    };
    let (first, second, third) = (12_304, 24_608, 24_608 + 1_552);
    assert_eq!(
        frames_of_one(three(), FinishedAt::End, false),
        [(third, third, true)]
    );
    assert_eq!(
        frames_of_one(three(), FinishedAt::End, true),
        [
            (first, first, false),
            (second, second, false),
            (third, third, true)
        ]
    );
    assert_eq!(
        frames_of_one(three(), FinishedAt::Start, true),
        [
            (0, first, false),
            (first, second, false),
            (second, third, true)
        ]
    );
}

#[test]
fn packet_finished_at_start_leaves_ring_early() {
    assert_eq!(
        frames_of_one(packet(0, 1514), FinishedAt::Start, false),
        [(0, 12_304, true)]
    );
    assert_eq!(
        frames_of_one(packet(0, 1514), FinishedAt::End, false),
        [(12_304, 12_304, true)]
    );
}

#[test]
fn rate_change_keeps_start_of_waiting_frame() {
    let config = NicConfig {
        framing: Framing::ETHERNET,
        finished_at: FinishedAt::Start,
        ..NicConfig::plain(1_000_000_000, 16)
    };
    let mut nic = EmulatedNic::new(config).expect("the settings are valid");
    for frame in 0..2 {
        nic.submit(packet(frame, 60), 0)
            .expect("it takes every packet");
    }
    let Ok(()) = nic.kick(0);
    let mut ends = Vec::new();
    while let Some((at_ns, event)) = nic.advance(u64::MAX) {
        if let NicEvent::Frame(frame) = event {
            ends.push((at_ns, frame.ends_ns));
            nic.set_rate(100_000_000, 100).expect("it is a rate");
        }
    }
    // The first frame has the old rate; the second has the new rate from its start.
    assert_eq!(ends, [(0, 672), (672, 672 + 6_720)]);
}

#[test]
fn rounding_remainder_is_cleared_when_idle() {
    // 672 bits take 610.9 ns.
    let mut nic = EmulatedNic::new(NicConfig {
        framing: Framing::ETHERNET,
        ..NicConfig::plain(1_100_000_000, 1_024)
    })
    .expect("the settings are valid");
    let mut times = Vec::new();
    for number in 0..20_u64 {
        let start_ns = number * 10_000;
        nic.submit(packet(number as u32, 60), start_ns)
            .expect("it takes every packet");
        let Ok(()) = nic.kick(start_ns);
        while let Some((at_ns, event)) = nic.advance(start_ns + 9_999) {
            if matches!(event, NicEvent::Frame(_)) {
                times.push(at_ns - start_ns);
            }
        }
    }
    assert_eq!(times, [times[0]; 20]);
    assert!((610..=611).contains(&times[0]));
}
