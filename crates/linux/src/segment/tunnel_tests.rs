//! Partial checksums behind link headers, in tunnels, and of SCTP and GRE.

use proptest::prelude::*;

use super::partial_checksum::tests::{complete, partial_frame};
use super::*;

/// A frame with complete checksums, and the position of the one that a sender can leave partial.
struct Tunnel {
    frame: Vec<u8>,
    field_at: usize,
    partial: [u8; 2],
}

impl Tunnel {
    fn partial(&self) -> Vec<u8> {
        let mut frame = self.frame.clone();
        frame[self.field_at..self.field_at + 2].copy_from_slice(&self.partial);
        frame
    }
}

/// Returns an IP packet of `protocol`.
fn ip(is_v6: bool, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let mut packet = if is_v6 {
        let mut packet = vec![0x60, 0, 0, 0];
        packet.extend(length.to_be_bytes());
        packet.extend([protocol, 64]);
        packet.extend((0..32).map(|at| at * 5));
        packet
    } else {
        let mut packet = vec![0x45, 0];
        packet.extend((20 + length).to_be_bytes());
        packet.extend([0, 1, 0x40, 0, 64, protocol, 0, 0, 10, 1, 0, 1, 10, 1, 0, 2]);
        let checksum = !fold(sum(&packet));
        put(&mut packet, 10, checksum);
        packet
    };
    packet.extend(payload);
    packet
}

fn ethernet(is_v6: bool, packet: &[u8]) -> Vec<u8> {
    let ethertype = if is_v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
    [&[2; 12][..], &ethertype, packet].concat()
}

/// Returns an outer UDP packet, with or without a checksum.
fn udp(is_v6: bool, header: &[u8], inner: &[u8], has_checksum: bool) -> Vec<u8> {
    let length = 8 + (header.len() + inner.len()) as u16;
    let mut datagram = vec![0x30, 0x39, 0x12, 0xb5];
    datagram.extend(length.to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(header);
    datagram.extend(inner);
    if has_checksum {
        let packet = ip(is_v6, 17, &[]);
        let addresses = if is_v6 {
            &packet[8..40]
        } else {
            &packet[12..20]
        };
        let checksum = !fold(sum(addresses) + 17 + u64::from(length) + sum(&datagram));
        put(&mut datagram, 6, checksum);
    }
    ip(is_v6, 17, &datagram)
}

fn gre(is_v6: bool, flags: u8, ethertype: [u8; 2], inner: &[u8]) -> Vec<u8> {
    let words = (flags >> 4).count_ones() as usize;
    let options = vec![0; 4 * words];
    let mut packet = [&[flags, 0][..], &ethertype, &options, inner].concat();
    if flags & 0x80 != 0 {
        let checksum = !fold(sum(&packet));
        put(&mut packet, 4, checksum);
    }
    ip(is_v6, 47, &packet)
}

/// Returns each encapsulation of an Ethernet frame and its packet.
fn encapsulations(outer_v6: bool, inner_v6: bool, frame: &[u8]) -> Vec<Vec<u8>> {
    let packet = &frame[14..];
    let (ethertype, protocol) = match inner_v6 {
        true => ([0x86, 0xdd], 41),
        false => ([0x08, 0x00], 4),
    };
    let ppp = if inner_v6 { [0, 0x57] } else { [0, 0x21] };
    let mut frames = vec![
        [
            &[2; 12][..],
            &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 9],
            &frame[12..],
        ]
        .concat(),
        [
            &[2; 12][..],
            &[0x88, 0x64, 0x11, 0, 0, 7, 0, 0],
            &ppp,
            packet,
        ]
        .concat(),
        [
            &[2; 12][..],
            &[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64],
            packet,
        ]
        .concat(),
    ];
    let mut packets = vec![ip(outer_v6, protocol, packet)];
    for flags in [0, 0x20, 0x30, 0x80, 0xb0] {
        packets.push(gre(outer_v6, flags, ethertype, packet));
        packets.push(gre(outer_v6, flags, [0x65, 0x58], frame));
    }
    for has_checksum in [false, true] {
        let udp = |header: &[u8], inner: &[u8]| udp(outer_v6, header, inner, has_checksum);
        packets.extend([
            udp(&[8, 0, 0, 0, 0, 0, 7, 0], frame),
            udp(&[0, 0, 0x65, 0x58, 0, 0, 7, 0], frame),
            udp(
                &[2, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 1, 1, 1, 0, 0, 0, 0],
                frame,
            ),
            udp(&[&[0, 0][..], &ethertype, &[0, 0, 7, 0]].concat(), packet),
            udp(&[0x30, 0xff, 0, 9, 0, 0, 0, 1], packet),
            udp(
                &[0x34, 0xff, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0],
                packet,
            ),
            udp(&[0, protocol, 0, 0], packet),
            udp(&[], packet),
        ]);
    }
    frames.extend(packets.iter().map(|packet| ethernet(outer_v6, packet)));
    frames
}

/// Returns every encapsulation of a TCP segment or UDP datagram.
fn tunnels(outer_v6: bool, inner_v6: bool, is_tcp: bool, payload: &[u8]) -> Vec<Tunnel> {
    let (partial, start) = partial_frame(inner_v6, is_tcp, &[], payload);
    let mut inner = complete(&partial, start, is_tcp);
    if !inner_v6 {
        // Behind MPLS labels, the checksum of IPv4 identifies it.
        put(&mut inner[14..], 10, 0);
        let checksum = !fold(sum(&inner[14..34]));
        put(&mut inner[14..], 10, checksum);
    }
    let from_end = inner.len() - start - if is_tcp { 16 } else { 6 };
    let field = inner.len() - from_end;
    let encapsulated = encapsulations(outer_v6, inner_v6, &inner);
    let tunnel = |frame: Vec<u8>| Tunnel {
        field_at: frame.len() - from_end,
        partial: [partial[field], partial[field + 1]],
        frame,
    };
    encapsulated.into_iter().map(tunnel).collect()
}

proptest! {
    #[test]
    fn inner_partial_checksum_is_completed(
        outer_v6 in any::<bool>(),
        inner_v6 in any::<bool>(),
        is_tcp in any::<bool>(),
        payload in prop::collection::vec(any::<u8>(), 1..60),
    ) {
        for (index, tunnel) in tunnels(outer_v6, inner_v6, is_tcp, &payload).iter().enumerate() {
            let mut frame = tunnel.partial();
            let is_partial = frame != tunnel.frame;
            prop_assert_eq!(complete_partial_checksum(&mut frame), is_partial, "{}", index);
            prop_assert_eq!(&frame, &tunnel.frame, "{}", index);
            prop_assert!(!complete_partial_checksum(&mut frame), "complete");
            prop_assert_eq!(&frame, &tunnel.frame);
        }
    }

    /// A damaged frame is not partial, so nothing repairs it.
    #[test]
    fn wrong_complete_checksum_is_unchanged(
        inner_v6 in any::<bool>(),
        is_tcp in any::<bool>(),
        damage in 1u16..,
    ) {
        for tunnel in tunnels(false, inner_v6, is_tcp, b"payload") {
            let mut frame = tunnel.frame.clone();
            let field = get(&frame, tunnel.field_at) ^ damage;
            prop_assume!(field.to_be_bytes() != tunnel.partial);
            put(&mut frame, tunnel.field_at, field);
            let before = frame.clone();
            prop_assert!(!complete_partial_checksum(&mut frame));
            prop_assert_eq!(frame, before);
        }
    }

    #[test]
    fn damaged_tunnels_never_panic(
        inner_v6 in any::<bool>(),
        which in any::<prop::sample::Index>(),
        length in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        start in 0u16..120,
        offset in prop::sample::select(vec![4u16, 6, 8, 16]),
    ) {
        let mut frame = which.get(&tunnels(false, inner_v6, true, b"payload")).partial();
        for (at, value) in changes {
            *at.get_mut(&mut frame) = value;
        }
        frame.truncate(length.index(frame.len() + 1));
        complete_partial_checksum(&mut frame);
        let header = VirtioNetHeader {
            flags: 1,
            checksum_start: start,
            checksum_offset: offset,
            ..VirtioNetHeader::default()
        };
        let before = frame.clone();
        if complete_checksum(&mut frame, header).is_err() {
            prop_assert_eq!(frame, before);
        }
    }
}

/// A valid outer checksum covers the bytes as they are: the payload of a program, not a tunnel.
#[test]
fn payload_under_a_valid_checksum_is_unchanged() {
    let (partial, _) = partial_frame(false, true, &[], b"captured");
    for packet in [
        udp(false, &[8, 0, 0, 0, 0, 0, 7, 0], &partial, true),
        gre(false, 0x80, [0x65, 0x58], &partial),
    ] {
        let mut frame = ethernet(false, &packet);
        let before = frame.clone();
        assert!(!complete_partial_checksum(&mut frame));
        assert_eq!(frame, before);
    }
}

/// An INIT chunk, and its checksum by an independent implementation.
const SCTP_INIT: [u8; 32] = [
    0x8e, 0x3c, 0x96, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 20, 0x11, 0x22, 0x33, 0x44, 0, 0,
    0xff, 0xff, 0, 10, 0, 10, 0, 0, 0, 7,
];
const SCTP_CHECKSUM: [u8; 4] = [0xec, 0x07, 0x97, 0x67];

#[test]
fn sctp_has_a_crc32c() {
    let mut complete_sctp = SCTP_INIT;
    complete_sctp[8..12].copy_from_slice(&SCTP_CHECKSUM);
    for is_v6 in [false, true] {
        let stacks = |sctp: &[u8]| {
            let frame = ethernet(is_v6, &ip(is_v6, 132, sctp));
            [vec![frame.clone()], encapsulations(false, is_v6, &frame)].concat()
        };
        let expected = stacks(&complete_sctp);
        for (mut expected, partial) in expected.into_iter().zip(stacks(&SCTP_INIT)) {
            let start = partial.len() - SCTP_INIT.len();
            let header = VirtioNetHeader {
                flags: 1,
                checksum_start: start as u16,
                checksum_offset: 8,
                ..VirtioNetHeader::default()
            };
            // The checksum of the tunnel is that of the complete packet.
            let partial = [&expected[..start], &partial[start..]].concat();
            let mut frame = partial.clone();
            assert_eq!(complete_checksum(&mut frame, header), Ok(true));
            assert_eq!(frame, expected);
            let mut frame = partial.clone();
            assert!(complete_partial_checksum(&mut frame));
            assert_eq!(frame, expected);
            assert!(!complete_partial_checksum(&mut frame));
            expected[start + 9] ^= 1;
            let mut wrong = expected.clone();
            assert!(!complete_partial_checksum(&mut wrong));
            assert_eq!(wrong, expected);
        }
    }
}

#[test]
fn padding_is_not_part_of_the_checksum() {
    let mut frame = ethernet(false, &ip(false, 132, &SCTP_INIT));
    frame.extend([7; 3]);
    let mut again = frame.clone();
    let header = VirtioNetHeader {
        flags: 1,
        checksum_start: 34,
        checksum_offset: 8,
        ..VirtioNetHeader::default()
    };
    assert_eq!(complete_checksum(&mut frame, header), Ok(true));
    assert_eq!(frame[42..46], SCTP_CHECKSUM);
    assert!(complete_partial_checksum(&mut again));
    assert_eq!(frame, again);
}

#[test]
fn gre_checksum_is_completed() {
    let (inner, start) = partial_frame(false, false, &[], b"inner");
    let inner = complete(&inner, start, false);
    let expected = ethernet(false, &gre(false, 0xa0, [0x65, 0x58], &inner));
    let mut partial = expected.clone();
    put(&mut partial, 34 + 4, 0);
    assert!(complete_partial_checksum(&mut partial));
    assert_eq!(partial, expected);
}

#[test]
fn checksum_of_other_protocols_is_rejected() {
    use crate::ChecksumError::UnknownProtocol;
    for (protocol, offset) in [
        (1, 2),
        (33, 6),
        (58, 2),
        (136, 6),
        (200, 8),
        (6, 6),
        (132, 16),
    ] {
        let mut frame = ethernet(false, &ip(false, protocol, &[0; 40]));
        let before = frame.clone();
        let header = VirtioNetHeader {
            flags: 1,
            checksum_start: 34,
            checksum_offset: offset,
            ..VirtioNetHeader::default()
        };
        let result = complete_checksum(&mut frame, header);
        assert_eq!(result, Err(UnknownProtocol), "{protocol}");
        assert_eq!(frame, before);
    }
}
