//! Descriptors of packets, and the content of a full ring.

use crate::support::{gso_packet, packet};
use proptest::prelude::*;
use taut_path::{Packet, Segmentation};
use taut_sim::nic::{DescriptorRing, DescriptorRule, NicConfigError};

const SLOTS: u32 = 1_024;

fn e1000() -> DescriptorRing {
    DescriptorRing::new(SLOTS, DescriptorRule::E1000).expect("large enough")
}

/// Returns the mean descriptors of a packet over many consecutive ones.
fn average(make: impl Fn(u32) -> Packet) -> f64 {
    const PACKETS: u32 = 100_000;
    let mut ring = e1000();
    let mut taken = 0u64;
    for frame in 0..PACKETS {
        let packet = make(frame);
        let slots = ring.take(&packet);
        taken += u64::from(slots);
        ring.release(slots);
        drop(packet.into_frame());
    }
    taken as f64 / f64::from(PACKETS)
}

/// Returns the mean bytes in a full ring over many fillings.
fn full_ring_bytes(make: impl Fn(u32) -> Packet) -> f64 {
    const FILLINGS: u32 = 1_000;
    let mut ring = e1000();
    let mut total = 0u64;
    for _ in 0..FILLINGS {
        let mut used = 0;
        while ring.slots_free() >= ring.slots_of_largest() {
            let packet = make(0);
            total += u64::from(packet.wire_bytes());
            used += ring.take(&packet);
            drop(packet.into_frame());
        }
        ring.release(used);
    }
    total as f64 / f64::from(FILLINGS)
}

#[test]
fn e1000_needs_3_35_descriptors_for_1514_bytes() {
    let slots = average(|frame| packet(frame, 1_514));
    assert!((slots - 3.35).abs() <= 0.01, "{slots}");
}

#[test]
fn e1000_needs_19_descriptors_for_a_gso_packet() {
    let slots = average(gso_packet);
    assert!((18.5..=19.5).contains(&slots), "{slots}");
}

#[test]
fn e1000_needs_two_descriptors_for_an_ack() {
    let mut ring = e1000();
    for bytes in [0, 54, 66] {
        let ack = packet(0, bytes);
        assert_eq!(ring.take(&ack), 2);
        drop(ack.into_frame());
    }
}

#[test]
fn full_e1000_ring_holds_the_published_bytes() {
    let packets = full_ring_bytes(|frame| packet(frame, 1_514));
    assert!((452e3..=455e3).contains(&packets), "{packets}");
    let gso_packets = full_ring_bytes(gso_packet);
    assert!((3.2e6..=3.6e6).contains(&gso_packets), "{gso_packets}");
}

#[test]
fn e1000_stops_below_20_and_restarts_at_32() {
    let ring = e1000();
    assert_eq!(ring.slots_of_largest(), 20);
    assert_eq!(ring.restart_slots(), 32);
}

#[test]
fn plain_ring_restarts_half_empty() {
    let rule = DescriptorRule::OnePerPacket;
    for (slots, restart) in [(1, 1), (2, 1), (511, 255), (512, 256), (4_096, 2_048)] {
        let ring = DescriptorRing::new(slots, rule).expect("large enough");
        assert_eq!(
            (ring.slots_of_largest(), ring.restart_slots()),
            (1, restart)
        );
    }
}

#[test]
fn ring_that_could_never_restart_is_rejected() {
    let rejected = |slots, rule| DescriptorRing::new(slots, rule).err();
    let too_small = |slots, min_slots| Some(NicConfigError::RingTooSmall { slots, min_slots });
    assert_eq!(rejected(0, DescriptorRule::OnePerPacket), too_small(0, 1));
    assert_eq!(rejected(31, DescriptorRule::E1000), too_small(31, 32));
    assert_eq!(rejected(32, DescriptorRule::E1000), None);
}

proptest! {
    #[test]
    fn descriptors_are_bounded_and_conserved(
        packets in prop::collection::vec((0u32..=u32::MAX, any::<bool>()), 1..200),
    ) {
        for rule in [DescriptorRule::E1000, DescriptorRule::OnePerPacket] {
            let mut ring = DescriptorRing::new(64, rule).expect("large enough");
            let mut held = std::collections::VecDeque::new();
            for &(bytes, segmented) in &packets {
                let mut packet = packet(0, bytes);
                packet.segmentation = Segmentation::new(u16::MAX, 1).filter(|_| segmented);
                while ring.slots_free() < ring.slots_of_largest() {
                    ring.release(held.pop_front().expect("something is in the ring"));
                }
                let slots = ring.take(&packet);
                drop(packet.into_frame());
                prop_assert!((1..=ring.slots_of_largest()).contains(&slots));
                held.push_back(slots);
                prop_assert_eq!(ring.slots_free() + held.iter().sum::<u32>(), 64);
            }
        }
    }
}

#[test]
fn whole_pages_need_two_extra_descriptors() {
    let mut ring = DescriptorRing::new(SLOTS, DescriptorRule::WholePages).expect("large enough");
    let mut slots = |packet: Packet| {
        let slots = ring.take(&packet);
        drop(packet.into_frame());
        slots
    };
    assert_eq!(slots(packet(0, 1_514)), 3);
    let cut = Segmentation::new(66, 1_448);
    let mut gso_packet = packet(1, 66 + 45 * 1_448);
    gso_packet.segmentation = cut;
    assert_eq!(slots(gso_packet), 18);
}
