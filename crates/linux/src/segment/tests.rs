//! Every GSO packet of the generators: payload conserved, every field and checksum right.

use super::*;
use proptest::prelude::*;

/// The parts of a GSO packet.
#[derive(Debug, Clone)]
struct TestPacket {
    vlans: Vec<u16>,
    is_v6: bool,
    is_udp: bool,
    /// Words of options of IPv4, or eights of bytes of an option header of IPv6.
    network_options: u8,
    tcp_options_words: u8,
    tcp_flags: u8,
    id: u16,
    sequence: u32,
    each_bytes: u16,
    payload: Vec<u8>,
}

impl TestPacket {
    fn transport_at(&self) -> usize {
        let options = usize::from(self.network_options);
        let network = match self.is_v6 {
            true if options == 0 => 40,
            true => 40 + options * 8,
            false => 20 + options * 4,
        };
        14 + 4 * self.vlans.len() + network
    }

    fn transport_bytes(&self) -> usize {
        if self.is_udp {
            8
        } else {
            20 + usize::from(self.tcp_options_words) * 4
        }
    }

    fn header(&self) -> VirtioNetHeader {
        VirtioNetHeader {
            flags: 1,
            gso_type: match (self.is_udp, self.is_v6) {
                (true, _) => 5,
                (false, false) => 1,
                (false, true) => 4,
            },
            header_bytes: 0,
            segment_payload_bytes: self.each_bytes,
            checksum_start: self.transport_at() as u16,
            checksum_offset: if self.is_udp { 6 } else { 16 },
        }
    }

    fn frame(&self) -> Vec<u8> {
        let mut frame: Vec<u8> = (1..=12).collect();
        for vlan in &self.vlans {
            frame.extend([0x81, 0x00]);
            frame.extend(vlan.to_be_bytes());
        }
        let transport_bytes = self.transport_bytes() + self.payload.len();
        let protocol = if self.is_udp { 17 } else { 6 };
        let options = usize::from(self.network_options);
        if self.is_v6 {
            let payload_bytes = (options * 8 + transport_bytes) as u16;
            frame.extend([0x86, 0xdd, 0x60, 0x12, 0x34, 0x56]);
            frame.extend(payload_bytes.to_be_bytes());
            frame.extend([if options > 0 { 60 } else { protocol }, 64]);
            frame.extend(100..132);
            if options > 0 {
                frame.extend([protocol, options as u8 - 1]);
                frame.extend(vec![1; options * 8 - 2]);
            }
        } else {
            let total_bytes = (20 + options * 4 + transport_bytes) as u16;
            frame.extend([0x08, 0x00, 0x45 + options as u8, 0x03]);
            frame.extend(total_bytes.to_be_bytes());
            frame.extend(self.id.to_be_bytes());
            frame.extend([0x40, 0, 64, protocol, 0xaa, 0xaa, 10, 0, 0, 1, 10, 0, 0, 2]);
            frame.extend(vec![1; options * 4]);
        }
        frame.extend([0x12, 0x34, 0x56, 0x78]);
        if self.is_udp {
            frame.extend((transport_bytes as u16).to_be_bytes());
            frame.extend([0xbb, 0xbb]);
        } else {
            frame.extend(self.sequence.to_be_bytes());
            frame.extend([
                9,
                9,
                9,
                9,
                (5 + self.tcp_options_words) << 4,
                self.tcp_flags,
            ]);
            frame.extend([0x10, 0x00, 0xbb, 0xbb, 0x00, 0x07]);
            frame.extend((0..self.tcp_options_words * 4).map(|at| at | 0x40));
        }
        frame.extend(&self.payload);
        frame
    }

    fn segments(&self) -> Vec<Vec<u8>> {
        let (frame, header) = (self.frame(), self.header());
        let segmenter = Segmenter::of(header, &frame).expect("cuts");
        let segment = |index| {
            let mut out = vec![0xcc; 65_600];
            let bytes = segmenter.write(&frame, index, &mut out).expect("fits");
            out.truncate(bytes);
            out
        };
        (0..segmenter.segments()).map(segment).collect()
    }
}

fn made() -> impl Strategy<Value = TestPacket> {
    let headers = (
        prop::collection::vec(any::<u16>(), 0..3),
        any::<bool>(),
        any::<bool>(),
        0..4u8,
        0..=10u8,
    );
    let numbers = (any::<u8>(), any::<u16>(), any::<u32>(), 1..3_000u16);
    let payload = prop::collection::vec(any::<u8>(), 1..9_000);
    (headers, numbers, payload).prop_map(|(headers, numbers, payload)| TestPacket {
        vlans: headers.0,
        is_v6: headers.1,
        is_udp: headers.2,
        network_options: headers.3,
        tcp_options_words: headers.4,
        tcp_flags: numbers.0,
        id: numbers.1,
        sequence: numbers.2,
        each_bytes: numbers.3,
        payload,
    })
}

/// The sum as in textbooks, two bytes at a time, independent of the tested code.
fn reference_sum(bytes: &[u8]) -> u16 {
    let mut total = 0u64;
    for pair in bytes.chunks(2) {
        total += u64::from(pair[0]) * 256 + pair.get(1).copied().map_or(0, u64::from);
    }
    while total > 0xffff {
        total = total % 0x1_0000 + total / 0x1_0000;
    }
    total as u16
}

proptest! {
    #[test]
    fn segments_are_those_of_the_packet(made in made()) {
        let (frame, segments) = (made.frame(), made.segments());
        let (network_at, at) = (14 + 4 * made.vlans.len(), made.transport_at());
        let header_bytes = at + made.transport_bytes();
        let payload = segments.iter().map(|it| &it[header_bytes..]).collect::<Vec<_>>().concat();
        prop_assert_eq!(&payload, &made.payload, "payload is conserved");
        let last = segments.len() - 1;
        for (index, segment) in segments.iter().enumerate() {
            let bytes = segment.len() - header_bytes;
            prop_assert!(bytes == usize::from(made.each_bytes) || index == last && bytes > 0);
            prop_assert_eq!(&segment[..network_at], &frame[..network_at]);
            let network = &segment[network_at..];
            let mut pseudo;
            if made.is_v6 {
                prop_assert_eq!(usize::from(get(network, 4)), network.len() - 40);
                pseudo = network[8..40].to_vec();
            } else {
                prop_assert_eq!(usize::from(get(network, 2)), network.len());
                prop_assert_eq!(get(network, 4), made.id.wrapping_add(index as u16));
                prop_assert_eq!(reference_sum(&network[..at - network_at]), 0xffff);
                pseudo = network[12..20].to_vec();
            }
            let transport = &segment[at..];
            pseudo.extend([0, if made.is_udp { 17 } else { 6 }]);
            pseudo.extend((transport.len() as u16).to_be_bytes());
            pseudo.extend(transport);
            prop_assert_eq!(reference_sum(&pseudo), 0xffff, "a receiver finds it right");
            // The other headers are unchanged.
            let mut same = vec![(0, 4)];
            if made.is_udp {
                prop_assert_eq!(usize::from(get(transport, 4)), transport.len());
                prop_assert_ne!(get(transport, 6), 0);
            } else {
                let sequence = u32::from_be_bytes(transport[4..8].try_into().unwrap());
                let start = index as u32 * u32::from(made.each_bytes);
                prop_assert_eq!(sequence, made.sequence.wrapping_add(start));
                let mut flags = made.tcp_flags;
                if index > 0 { flags &= 0x7f; }
                if index < last { flags &= !0x09; }
                prop_assert_eq!(transport[13], flags);
                same.extend([(8, 13), (14, 16), (18, made.transport_bytes())]);
            }
            for (from, to) in same {
                prop_assert_eq!(&transport[from..to], &frame[at..][from..to]);
            }
        }
    }

    #[test]
    fn chunks_have_the_segments_of_the_whole(made in made(), each in 1u32..9) {
        let (frame, header) = (made.frame(), made.header());
        let segmenter = Segmenter::of(header, &frame).expect("cuts");
        // Bytes after the frame in its space are ignored.
        let space = [&frame[..], &[0x55; 9]].concat();
        prop_assert_eq!(Segmenter::within(header, &space), Ok(segmenter));
        let mut segments = Vec::new();
        let (mut headers, mut slot) = (vec![0; 200], vec![0; frame.len()]);
        let mut first = 0;
        while first < segmenter.segments() {
            let count = each.min(segmenter.segments() - first);
            let parts = segmenter.piece(&space, first, count, &mut headers).expect("is there");
            let mut piece = headers[..parts.header_bytes].to_vec();
            piece.extend(&space[parts.payload.clone()]);
            prop_assert_eq!(parts.header.is_segmented(), count > 1);
            if count == 1 {
                let finished = crate::checksum::complete_checksum(&mut piece, parts.header);
                prop_assert_eq!(finished, Ok(true));
                segments.push(piece);
            } else {
                let again = Segmenter::of(parts.header, &piece).expect("cuts");
                prop_assert_eq!(again.segments(), count);
                for index in 0..count {
                    let bytes = again.write(&piece, index, &mut slot).expect("fits");
                    segments.push(slot[..bytes].to_vec());
                }
            }
            first += count;
        }
        prop_assert!(segmenter.piece(&space, first, 1, &mut headers).is_none());
        prop_assert!(segmenter.piece(&space, 0, 0, &mut headers).is_none());
        prop_assert_eq!(segments, made.segments());
    }

    #[test]
    fn any_bytes_are_segmented_or_rejected(
        mut frame in prop::collection::vec(any::<u8>(), 0..200),
        header in prop::array::uniform10(any::<u8>()),
        ethertype in prop::sample::select(vec![0x0800u16, 0x86dd, 0x8100, 0x88a8]),
        lengths_are_right in any::<bool>(),
    ) {
        let (header, _) = VirtioNetHeader::split(&header).expect("ten bytes");
        if frame.len() > 22 && lengths_are_right {
            put(&mut frame, 12, ethertype);
            let at = if ethertype == 0x86dd { 18 } else { 16 };
            let bytes = frame.len() as u16;
            put(&mut frame, at, bytes - at as u16 + 2);
            frame[14] = if ethertype == 0x86dd { 0x60 } else { 0x45 };
        }
        if let Ok(segmenter) = Segmenter::of(header, &frame) {
            let mut out = vec![0; frame.len()];
            for index in 0..segmenter.segments().min(300) {
                prop_assert!(segmenter.write(&frame, index, &mut out).is_some());
            }
            prop_assert!(segmenter.write(&frame, segmenter.segments(), &mut out).is_none());
        }
    }
}

fn plain() -> TestPacket {
    TestPacket {
        vlans: Vec::new(),
        is_v6: false,
        is_udp: false,
        network_options: 0,
        tcp_options_words: 0,
        tcp_flags: 0x99,
        id: 0xffff,
        sequence: u32::MAX,
        each_bytes: 1_000,
        payload: vec![7; 2_500],
    }
}

#[test]
fn zero_udp_checksum_is_sent_as_all_ones() {
    let mut made = TestPacket {
        is_udp: true,
        payload: vec![0; 4],
        each_bytes: 2,
        ..plain()
    };
    // This payload makes any checksum 0.
    let checksum = get(&made.segments()[0], made.transport_at() + 6);
    made.payload[..2].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(get(&made.segments()[0], made.transport_at() + 6), u16::MAX);
}

#[test]
fn accurate_ecn_sets_cwr_in_all_segments() {
    let made = plain();
    let (frame, header) = (made.frame(), made.header());
    let once = Segmenter::of(header, &frame).expect("cuts");
    for (segmenter, cwr) in [(once, 0), (once.with_accurate_ecn(true), 0x80)] {
        let (mut slot, mut headers) = (vec![0; frame.len()], [0; 200]);
        for (index, flags) in [0x90, 0x10 | cwr, 0x19 | cwr].into_iter().enumerate() {
            segmenter
                .write(&frame, index as u32, &mut slot)
                .expect("fits");
            assert_eq!(slot[47], flags, "segment {index}");
            segmenter
                .piece(&frame, index as u32, 1, &mut headers)
                .expect("is there");
            assert_eq!(headers[47], flags, "piece {index}");
        }
    }
}

#[test]
fn unsegmentable_frame_has_a_reason() {
    let made = plain();
    let (frame, header) = (made.frame(), made.header());
    let of = |header| Segmenter::of(header, &frame);
    assert_eq!(of(VirtioNetHeader::default()), Err(SegmentError::Plain));
    for gso_type in [3, 77] {
        assert_eq!(
            of(VirtioNetHeader { gso_type, ..header }),
            Err(SegmentError::Kind)
        );
    }
    // Over IPv6, UDP, or with an inner checksum: different from the outer headers.
    for gso_type in [4, 5] {
        assert_eq!(
            of(VirtioNetHeader { gso_type, ..header }),
            Err(SegmentError::Tunnel)
        );
    }
    let inner = VirtioNetHeader {
        checksum_start: 84,
        ..header
    };
    assert_eq!(of(inner), Err(SegmentError::Tunnel));
    let nothing_each = VirtioNetHeader {
        segment_payload_bytes: 0,
        ..header
    };
    assert_eq!(of(nothing_each), Err(SegmentError::Malformed));
    for end in [0, 13, 20, 33, 50, frame.len() - 1] {
        assert!(Segmenter::of(header, &frame[..end]).is_err(), "{end} bytes");
    }
    for (at, value, why) in [
        (20, 0x20, SegmentError::Malformed), // the first fragment
        (46, 0x40, SegmentError::Malformed), // a TCP header of 16 bytes
        (23, 47, SegmentError::Tunnel),      // GRE
        (12, 0x88, SegmentError::Tunnel),    // no IP at all
    ] {
        let mut frame = frame.clone();
        frame[at] = value;
        assert_eq!(Segmenter::of(header, &frame), Err(why), "{value} at {at}");
    }
}

#[test]
fn single_segment_has_complete_checksums() {
    let made = TestPacket {
        payload: vec![1; 10],
        ..plain()
    };
    let segmenter = Segmenter::of(made.header(), &made.frame()).expect("cuts");
    assert_eq!(
        (
            segmenter.segments(),
            segmenter.longest_bytes(),
            segmenter.segmentation()
        ),
        (1, 64, None)
    );
    assert_eq!(made.segments()[0][47], made.tcp_flags, "first and last");
    let whole = Segmenter::of(plain().header(), &plain().frame()).expect("cuts");
    assert_eq!(whole.segmentation(), Segmentation::new(54, 1_000));
    assert_eq!(whole.longest_bytes(), 1_054);
}

#[test]
fn short_tunnel_packet_is_sent_whole() {
    let inner = TestPacket {
        payload: vec![9; 301],
        ..plain()
    };
    for (outer_checksum, result) in [(0u16, Ok(())), (0x1234, Err(SegmentError::Tunnel))] {
        // VXLAN: IPv4, UDP, eight bytes, and the frame.
        let mut frame = plain().frame()[..14].to_vec();
        let total_bytes = 20 + 16 + inner.frame().len() as u16;
        frame.extend([0x45, 0]);
        frame.extend(total_bytes.to_be_bytes());
        frame.extend([0, 1, 0, 0, 64, 17, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        frame.extend([0x12, 0xb5, 0x12, 0xb5]);
        frame.extend((total_bytes - 20).to_be_bytes());
        frame.extend(outer_checksum.to_be_bytes());
        frame.extend([8, 0, 0, 0, 0, 0, 7, 0]);
        let inner_at = frame.len();
        frame.extend(inner.frame());
        let header = VirtioNetHeader {
            checksum_start: (inner_at + inner.transport_at()) as u16,
            ..inner.header()
        };
        assert_eq!(Segmenter::of(header, &frame), Err(SegmentError::Tunnel));
        let before = frame.clone();
        assert_eq!(finish_whole(header, &mut frame), result);
        assert_eq!(frame != before, result.is_ok());
    }
}

/// Returns a GSO packet of this many payload bytes of TCP over IPv6 behind the jumbo payload
/// option, as the kernel builds it for BIG TCP.
fn jumbogram(payload_bytes: usize) -> (VirtioNetHeader, Vec<u8>) {
    let mut frame = vec![2; 12];
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, 0, 64]);
    frame.extend(1..=32);
    frame.extend([6, 0, 0xc2, 4]);
    frame.extend((payload_bytes as u32 + 28).to_be_bytes());
    frame.extend([0; 20]);
    frame[14 + 48 + 12] = 5 << 4;
    frame.extend((0..payload_bytes).map(|at| (at / 7) as u8));
    let header = VirtioNetHeader {
        flags: 1,
        gso_type: 4,
        header_bytes: 82,
        segment_payload_bytes: 1_428,
        checksum_start: 62,
        checksum_offset: 16,
    };
    (header, frame)
}

#[test]
fn segments_of_a_jumbogram_have_no_jumbo_option() {
    let (header, mut frame) = jumbogram(150_000);
    let payload = frame[82..].to_vec();
    let (header, skipped) = remove_jumbo_option(header, &mut frame);
    assert_eq!((skipped, header.checksum_start), (8, 54));
    let frame = &frame[skipped..];
    let segmenter = Segmenter::of(header, frame).expect("segments");
    let (mut slot, mut sent) = ([0; 1_514], Vec::new());
    for index in 0..segmenter.segments() {
        let bytes = segmenter.write(frame, index, &mut slot).expect("fits");
        assert_eq!(usize::from(get(&slot, 18)), bytes - 54);
        assert_eq!((slot[20], slot[14] >> 4), (6, 6));
        sent.extend_from_slice(&slot[74..bytes]);
    }
    assert_eq!(sent, payload);
}

#[test]
fn only_a_consistent_jumbo_option_is_removed() {
    let (header, frame) = jumbogram(70_000);
    for (at, value) in [(18, 1), (20, 60), (55, 1), (56, 5), (57, 3), (61, 0)] {
        let mut other = frame.clone();
        other[at] = value;
        let before = other.clone();
        assert_eq!(remove_jumbo_option(header, &mut other), (header, 0), "{at}");
        assert_eq!(other, before, "{at}");
    }
    for short in 0..70 {
        let _ = remove_jumbo_option(header, &mut frame[..short].to_vec());
    }
}

#[test]
fn ipv4_length_is_zero_only_above_its_range() {
    let header = VirtioNetHeader {
        flags: 1,
        gso_type: 1,
        segment_payload_bytes: 1_448,
        checksum_start: 34,
        checksum_offset: 16,
        ..VirtioNetHeader::default()
    };
    for (payload_bytes, segments) in [(100_000, Some(70)), (1_000, None)] {
        let mut frame = vec![0; 54 + payload_bytes];
        frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
        (frame[23], frame[46]) = (6, 5 << 4);
        let segmenter = Segmenter::of(header, &frame);
        assert_eq!(segmenter.ok().map(|it| it.segments()), segments);
    }
}
