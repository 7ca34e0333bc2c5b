//! Priority and flow of Ethernet frames.

use proptest::prelude::*;
use taut_path::classify::{FrameClass, classify, classify_ip, mark_congestion, mark_congestion_ip};
use taut_path::qdisc::{BandLimit, PfifoFast, Qdisc};
use taut_path::{DropReason, Ecn, Frame, Packet, PacketSink};

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;

/// An Ethernet header, tagged or not, and a packet.
fn ethernet(tagged: bool, ethertype: u16, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x02; 12];
    if tagged {
        frame.extend([0x81, 0x00, 0x00, 0x05]);
    }
    frame.extend(ethertype.to_be_bytes());
    frame.extend(packet);
    frame
}

/// An IPv4 packet with `options` words of options and two ports.
fn ipv4(tos: u8, protocol: u8, fragment: u16, options: u8, ports: [u16; 2]) -> Vec<u8> {
    let mut packet = vec![0x45 + options, tos, 0, 60, 0, 1];
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    packet.extend(std::iter::repeat_n(1, 4 * usize::from(options)));
    packet.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    packet.extend([0; 16]);
    packet
}

fn ipv6(traffic_class: u8, next_header: u8, ports: [u16; 2]) -> Vec<u8> {
    let mut packet = vec![
        0x60 | traffic_class >> 4,
        traffic_class << 4,
        0,
        0,
        0,
        20,
        next_header,
        64,
    ];
    packet.extend([0x20; 16]);
    packet.extend([0x21; 16]);
    packet.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    packet.extend([0; 16]);
    packet
}

fn class4(tos: u8, protocol: u8, ports: [u16; 2]) -> FrameClass {
    classify(&ethernet(false, 0x0800, &ipv4(tos, protocol, 0, 0, ports)))
}

fn class6(traffic_class: u8, ports: [u16; 2]) -> FrameClass {
    classify(&ethernet(false, 0x86dd, &ipv6(traffic_class, TCP, ports)))
}

struct Nothing;

impl PacketSink for Nothing {
    fn freed(&mut self, packet: Packet) {
        drop(packet.into_frame());
    }

    fn dropped(&mut self, _packet: Packet, reason: DropReason) {
        panic!("dropped: {}", reason.name());
    }
}

#[test]
fn minimum_delay_is_served_first() {
    assert_eq!(class4(0x10, TCP, [1, 2]).priority, 6);
    assert_eq!(class6(0x10, [1, 2]).priority, 6);
    let mut discipline = PfifoFast::new(10, BandLimit::Each);
    for (frame, tos) in [0x08, 0x00, 0x10].into_iter().enumerate() {
        let mut packet = Packet::new(Frame::new(frame as u32), 60);
        packet.priority = class4(tos, TCP, [1, 2]).priority;
        discipline.enqueue(packet, 0, &mut Nothing);
    }
    let order: Vec<u32> = std::iter::from_fn(|| discipline.dequeue(0, &mut Nothing))
        .map(|packet| packet.into_frame().index())
        .collect();
    assert_eq!(order, [2, 1, 0], "delay, best effort, bulk");
}

#[test]
fn priorities_are_those_of_tc_prio() {
    // Type of service by its documented bits: delay 0x10, throughput 0x08, reliability 0x04.
    let documented = [
        (0x00, 0),
        (0x04, 0),
        (0x08, 2),
        (0x0c, 2),
        (0x10, 6),
        (0x14, 6),
        (0x18, 4),
        (0x1c, 4),
    ];
    for (tos, priority) in documented {
        assert_eq!(class4(tos, UDP, [1, 2]).priority, priority, "{tos:#x}");
        assert_eq!(class6(tos, [1, 2]).priority, priority, "{tos:#x}");
        // Precedence has no effect.
        assert_eq!(
            class4(tos | 0xe0, UDP, [1, 2]).priority,
            priority,
            "{tos:#x}"
        );
    }
}

#[test]
fn congestion_mark_changes_neither_priority_nor_flow() {
    for tos in 0..=255u8 {
        let without_ecn = |class: FrameClass| (class.priority, class.flow);
        let without = tos & !3;
        assert_eq!(
            without_ecn(class4(tos, TCP, [1, 2])),
            without_ecn(class4(without, TCP, [1, 2]))
        );
        assert_eq!(
            without_ecn(class6(tos, [1, 2])),
            without_ecn(class6(without, [1, 2]))
        );
    }
}

#[test]
fn ecn_field_is_that_of_rfc_3168() {
    let documented = [
        (0, Ecn::NotCapable),
        (1, Ecn::Capable),
        (2, Ecn::Capable),
        (3, Ecn::Marked),
    ];
    for (bits, ecn) in documented {
        for tos in (0..64u8).map(|high| high << 2 | bits) {
            assert_eq!(class4(tos, TCP, [1, 2]).ecn, ecn);
            assert_eq!(class6(tos, [1, 2]).ecn, ecn);
        }
    }
    assert_eq!(classify(&[0xff; 64]).ecn, Ecn::NotCapable);
}

/// Returns the RFC 1071 sum over an IPv4 header: 0 for a valid checksum.
fn header_error(packet: &[u8]) -> u16 {
    let header = &packet[..usize::from(packet[0] & 0xf) * 4];
    let mut sum: u32 = 0;
    for word in header.chunks(2) {
        sum += u32::from(u16::from_be_bytes([word[0], word[1]]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Sets the valid checksum of an IPv4 header.
fn with_checksum(mut packet: Vec<u8>) -> Vec<u8> {
    packet[10..12].fill(0);
    let checksum = header_error(&packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet
}

/// Marks an IPv4 packet in a frame and checks every byte. Each identification gives another
/// checksum.
fn mark_and_check(tos: u8, identification: u16, options: u8, tagged: bool) {
    let mut packet = ipv4(tos, TCP, 0, options, [1, 2]);
    packet[4..6].copy_from_slice(&identification.to_be_bytes());
    let mut packet = with_checksum(packet);
    let mut frame = ethernet(tagged, 0x0800, &packet);
    let marked = mark_congestion(&mut frame);
    assert_eq!(marked, tos & 3 != 0);
    if marked {
        packet[1] |= 3;
    }
    assert_eq!(frame, ethernet(tagged, 0x0800, &with_checksum(packet)));
}

#[test]
fn mark_updates_every_checksum() {
    for identification in 0..=u16::MAX {
        for tos in [1, 2] {
            mark_and_check(tos, identification, 0, false);
        }
    }
}

proptest! {
    #[test]
    fn ipv4_mark_changes_only_ecn_and_checksum(
        tos in any::<u8>(),
        identification in any::<u16>(),
        options in 0u8..=10,
        tagged in any::<bool>(),
    ) {
        mark_and_check(tos, identification, options, tagged);
    }

    #[test]
    fn ipv6_mark_changes_only_ecn(tos in any::<u8>(), tagged in any::<bool>()) {
        let mut frame = ethernet(tagged, 0x86dd, &ipv6(tos, UDP, [1, 2]));
        let marked = mark_congestion(&mut frame);
        prop_assert_eq!(marked, tos & 3 != 0);
        let expected = if marked { tos | 3 } else { tos };
        prop_assert_eq!(frame, ethernet(tagged, 0x86dd, &ipv6(expected, UDP, [1, 2])));
    }

    #[test]
    fn mark_of_other_frames_changes_nothing(
        mut frame in prop::collection::vec(any::<u8>(), 0..80),
        ethertype in prop_oneof![Just(0x0800u16), Just(0x86dd), any::<u16>()],
    ) {
        if frame.len() >= 14 {
            frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
        }
        let before = frame.clone();
        if !mark_congestion(&mut frame) {
            prop_assert_eq!(frame, before);
        } else {
            let changed = frame.iter().zip(&before).filter(|(now, then)| now != then);
            prop_assert!(changed.count() <= 3);
        }
    }
}

#[test]
fn flows_differ_by_ports_and_protocols() {
    let flows = [
        class4(0, TCP, [1, 2]).flow,
        class4(0, TCP, [2, 1]).flow,
        class4(0, TCP, [1, 3]).flow,
        class4(0, UDP, [1, 2]).flow,
        class4(0, ICMP, [1, 2]).flow,
        class6(0, [1, 2]).flow,
        class6(0, [1, 3]).flow,
    ];
    for (index, flow) in flows.iter().enumerate() {
        assert!(!flows[..index].contains(flow), "flow {index} is not new");
    }
    assert_eq!(class4(0, TCP, [1, 2]), class4(0, TCP, [1, 2]));
    assert_eq!(class4(0, ICMP, [1, 2]), class4(0, ICMP, [3, 4]), "no ports");
}

#[test]
fn tag_and_options_change_nothing() {
    let plain = class4(0x10, TCP, [1, 2]);
    let tagged = ethernet(true, 0x0800, &ipv4(0x10, TCP, 0, 0, [1, 2]));
    assert_eq!(classify(&tagged), plain);
    let options = ethernet(false, 0x0800, &ipv4(0x10, TCP, 0, 10, [1, 2]));
    assert_eq!(classify(&options), plain);
    let tagged = ethernet(true, 0x86dd, &ipv6(0x10, TCP, [1, 2]));
    assert_eq!(classify(&tagged), class6(0x10, [1, 2]));
}

/// The headers of each link before a packet with this EtherType, and the EtherType before them.
fn link_stacks(is_v6: bool, packet_bytes: usize) -> Vec<Vec<u8>> {
    let ethertype = if is_v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
    let ppp = if is_v6 { [0x00, 0x57] } else { [0x00, 0x21] };
    let tag = |kind: [u8; 2], id: u8| [&kind[..], &[0x60, id]].concat();
    let pppoe_bytes = (packet_bytes as u16 + 2).to_be_bytes();
    let pppoe = [&[0x88, 0x64, 0x11, 0, 0, 7][..], &pppoe_bytes, &ppp].concat();
    let labels = [0x88, 0x47, 0, 1, 0x20, 64, 0, 1, 0x31, 63];
    let tags = [tag([0x88, 0xa8], 5), tag([0x81, 0], 9)].concat();
    let deep = tag([0x81, 0], 1).repeat(15);
    vec![
        [&tag([0x88, 0xa8], 5), &ethertype[..]].concat(),
        [&tag([0x81, 0], 5), &tag([0x81, 0], 6)[..], &ethertype].concat(),
        [&tags, &ethertype[..]].concat(),
        [&deep, &ethertype[..]].concat(),
        pppoe.clone(),
        [&tags[..], &pppoe].concat(),
        labels.to_vec(),
        [&tags[..], &labels].concat(),
        [
            &[0x88, 0x64, 0x11, 0, 0, 7, 0, 40, 2, 0x81][..],
            &labels[2..],
        ]
        .concat(),
    ]
}

/// An IPv4 or IPv6 packet of TCP whose lengths and checksum are right.
fn complete_packet(is_v6: bool, tos: u8, ports: [u16; 2]) -> Vec<u8> {
    if is_v6 {
        return ipv6(tos, TCP, ports);
    }
    let mut packet = ipv4(tos, TCP, 0, 0, ports);
    let bytes = packet.len() as u8;
    packet[3] = bytes;
    with_checksum(packet)
}

#[test]
fn link_headers_do_not_change_the_class() {
    for is_v6 in [false, true] {
        for ports in [[1, 2], [3, 4]] {
            let packet = complete_packet(is_v6, 0x12, ports);
            let plain = classify_ip(&packet);
            assert_eq!((plain.priority, plain.ecn), (6, Ecn::Capable));
            for stack in link_stacks(is_v6, packet.len()) {
                let start = [&[2; 12][..], &stack].concat();
                let mut frame = [&start[..], &packet].concat();
                assert_eq!(classify(&frame), plain, "{stack:x?}");
                let mut marked = packet.clone();
                assert!(mark_congestion_ip(&mut marked));
                assert!(mark_congestion(&mut frame), "{stack:x?}");
                assert_eq!(frame, [start, marked].concat());
            }
        }
    }
}

#[test]
fn too_many_or_other_link_headers_are_best_effort() {
    let packet = complete_packet(false, 0x12, [1, 2]);
    let others = [
        [0x81, 0, 0, 1].repeat(16),
        vec![0x88, 0x63, 0x11, 0, 0, 7, 0, 42, 0, 0x21],
        vec![0x88, 0x64, 0x11, 9, 0, 7, 0, 42, 0, 0x21],
        vec![0x88, 0x64, 0x21, 0, 0, 7, 0, 42, 0, 0x21],
        vec![0x88, 0x64, 0x11, 0, 0, 7, 0, 42, 0xc0, 0x21],
        vec![0x88, 0x64, 0x11, 0, 0, 7, 0, 42, 0, 0x57],
    ];
    for mut other in others {
        if other.len() > 10 {
            other.extend([8, 0]);
        }
        let mut frame = [&[2; 12][..], &other, &packet].concat();
        assert_eq!(classify(&frame), FrameClass::default(), "{other:x?}");
        assert!(!mark_congestion(&mut frame));
    }
}

#[test]
fn pseudowires_are_classified_by_labels() {
    let inner = ethernet(false, 0x0800, &complete_packet(false, 0x12, [1, 2]));
    // Without a control word, a destination address can start like IPv4 or IPv6.
    for first in [0x00, 0x02, 0x45, 0x46, 0x60] {
        for control_word in [&[0; 4][..], &[]] {
            let with = |label: u8, bits: u8, ttl: u8| {
                let labels = [0, 0, 0x70, 9, 0, label, 0x31 | bits, ttl];
                let start = [&[2; 12][..], &[0x88, 0x47], &labels, control_word].concat();
                let mut frame = [&start[..], &inner].concat();
                frame[start.len()] = first;
                let before = frame.clone();
                assert!(!mark_congestion(&mut frame));
                assert_eq!(frame, before);
                classify(&frame)
            };
            let class = with(1, 0, 64);
            assert_eq!((class.priority, class.ecn), (0, Ecn::NotCapable));
            assert_ne!(class.flow, with(2, 0, 64).flow, "another label");
            assert_eq!(class, with(1, 0x0e, 63), "traffic class and time to live");
        }
    }
}

#[test]
fn padding_behind_labels_is_allowed() {
    for is_v6 in [false, true] {
        let mut packet = complete_packet(is_v6, 0x12, [1, 2]);
        packet.truncate(if is_v6 { 40 } else { 28 });
        let bytes = packet.len() as u8;
        if is_v6 {
            packet[5] = 0;
        } else {
            packet[3] = bytes;
            packet = with_checksum(packet);
        }
        let mut frame = [&[2; 12][..], &[0x88, 0x47, 0, 1, 1, 64], &packet].concat();
        frame.resize(60, 0);
        assert_eq!(classify(&frame).priority, 6);
    }
}

#[test]
fn extension_headers_of_ipv6_do_not_change_the_flow() {
    let plain = ethernet(false, 0x86dd, &ipv6(0, UDP, [1, 2]));
    let with = |chain: &[u8], ports: [u16; 2]| {
        let mut packet = ipv6(0, chain.first().copied().unwrap_or(UDP), ports);
        let rest = packet.split_off(40);
        for (at, kind) in chain.iter().enumerate() {
            let next = chain.get(at + 1).copied().unwrap_or(UDP);
            // Only a fragment header has a fixed length.
            let words = if *kind == 44 { 0 } else { at as u8 };
            packet.extend([next, words]);
            packet.extend(vec![0; 6 + usize::from(words) * 8]);
        }
        packet.extend(rest);
        classify(&ethernet(false, 0x86dd, &packet))
    };
    for chain in [&[0][..], &[43], &[60], &[0, 60, 43, 60]] {
        assert_eq!(with(chain, [1, 2]), classify(&plain), "{chain:?}");
    }
    let fragment = with(&[44], [1, 2]);
    assert_eq!(fragment, with(&[0, 44], [3, 4]), "without ports");
    assert_ne!(fragment, classify(&plain));
}

#[test]
fn ports_of_other_transports_differ() {
    for protocol in [33, 50, 132, 136] {
        let flow = |ports| class4(0, protocol, ports).flow;
        assert_ne!(flow([1, 2]), flow([1, 3]), "{protocol}");
    }
    for tunnel in [4, 41, 47, 115] {
        let flow = |ports| class4(0, tunnel, ports).flow;
        assert_eq!(flow([1, 2]), flow([1, 3]), "{tunnel}");
    }
}

proptest! {
    /// Every truncation of every stack, with some bytes changed.
    #[test]
    fn damaged_link_headers_never_panic(
        is_v6 in any::<bool>(),
        stack in any::<prop::sample::Index>(),
        length in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let packet = complete_packet(is_v6, 0x12, [1, 2]);
        let stack = stack.get(&link_stacks(is_v6, packet.len())).clone();
        let mut frame = [&[2; 12][..], &stack, &packet].concat();
        for (at, value) in changes {
            *at.get_mut(&mut frame) = value;
        }
        frame.truncate(length.index(frame.len() + 1));
        let class = classify(&frame);
        let before = frame.clone();
        let marked = mark_congestion(&mut frame);
        let changed = frame.iter().zip(&before).filter(|(now, then)| now != then).count();
        let allowed = if marked { 3 } else { 0 };
        prop_assert!(changed <= allowed);
        if !marked {
            prop_assert_ne!(class.ecn, Ecn::Capable);
        }
    }
}

#[test]
fn all_fragments_of_two_hosts_are_one_flow() {
    let fragment = |bits, ports| classify(&ethernet(false, 0x0800, &ipv4(0, UDP, bits, 0, ports)));
    const MORE: u16 = 0x2000;
    const DO_NOT: u16 = 0x4000;
    let first = fragment(MORE, [1, 2]);
    assert_eq!(first, fragment(185, [77, 88]));
    assert_eq!(first, fragment(MORE | 370, [5, 5]));
    assert_eq!(
        fragment(DO_NOT, [1, 2]),
        class4(0, UDP, [1, 2]),
        "not a fragment"
    );
    assert_ne!(first, class4(0, UDP, [1, 2]));
}

#[test]
fn short_and_malformed_frames_are_best_effort() {
    let full = ethernet(false, 0x0800, &ipv4(0x10, TCP, 0, 0, [1, 2]));
    for length in 0..14 + 20 {
        assert_eq!(classify(&full[..length]), FrameClass::default(), "{length}");
    }
    let no_ports = classify(&full[..14 + 20]);
    assert_eq!(no_ports.priority, 6);
    assert_ne!(no_ports.flow, classify(&full).flow);
    let full = ethernet(false, 0x86dd, &ipv6(0x10, TCP, [1, 2]));
    for length in 0..14 + 40 {
        assert_eq!(classify(&full[..length]), FrameClass::default(), "{length}");
    }
    // A version that contradicts the Ethernet header, or a header that is too short.
    let strange = [
        ethernet(false, 0x0806, &ipv4(0x10, TCP, 0, 0, [1, 2])),
        ethernet(false, 0x0800, &ipv6(0x10, TCP, [1, 2])),
        ethernet(false, 0x86dd, &[&[0x45, 0x10][..], &[7; 60]].concat()),
        ethernet(false, 0x0800, &[&[0x44, 0x10][..], &[7; 60]].concat()),
    ];
    for frame in strange {
        assert_eq!(classify(&frame), FrameClass::default());
    }
}

proptest! {
    #[test]
    fn any_bytes_have_a_valid_priority(
        head in prop::collection::vec(any::<u8>(), 0..14),
        ethertype in prop_oneof![Just(0x0800u16), Just(0x86dd), Just(0x8100), any::<u16>()],
        rest in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        prop_assert!(classify(&head).priority <= 15);
        let mut frame = vec![0; 12];
        frame.extend(ethertype.to_be_bytes());
        frame.extend(&rest);
        prop_assert!(classify(&frame).priority <= 15);
    }
}

#[test]
fn link_header_does_not_change_the_class() {
    let packets = [
        (0x0800, ipv4(0xb9, TCP, 0, 0, [4, 5])),
        (0x86dd, ipv6(0xb9, TCP, [4, 5])),
        (0x0800, vec![]),
        (0x0800, vec![0xff; 64]),
    ];
    for (ethertype, mut packet) in packets {
        let mut frame = ethernet(false, ethertype, &packet);
        assert_eq!(classify_ip(&packet), classify(&frame));
        assert_eq!(mark_congestion_ip(&mut packet), mark_congestion(&mut frame));
        assert_eq!(packet, frame[14..]);
    }
}
