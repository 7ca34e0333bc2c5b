//! GSO packets: the segments of the kernel and ours are identical.

use std::os::fd::AsFd;

use taut_linux::af_packet::{AfPacket, PacketSender};
use taut_linux::segment::Segmenter;
use taut_linux::{Frames, GsoFrames, NetNs, Tap, TapConfig, VirtioNetHeader, link, poll, sched};
use taut_path::Queue;

use crate::common::{PATIENCE, allowed};

/// A GSO packet: its virtio-net header, and the frame with sums of pseudo headers instead of
/// checksums, as the kernel leaves it.
struct GsoPacket {
    header: VirtioNetHeader,
    frame: Vec<u8>,
}

struct Shape {
    is_v6: bool,
    is_udp: bool,
    tags: usize,
    /// Bytes of options, in IPv4 or of an IPv6 header.
    network_options: usize,
    tcp_options: usize,
    flags: u8,
    /// The virtio-net header has the ECN flag.
    has_ecn: bool,
    each_bytes: u16,
    payload_bytes: usize,
}

/// TCP over IPv4, with all flags of the first or the last segment only.
const PLAIN: Shape = Shape {
    is_v6: false,
    is_udp: false,
    tags: 0,
    network_options: 0,
    tcp_options: 0,
    flags: 0x99,
    has_ecn: true,
    each_bytes: 1400,
    payload_bytes: 20_000,
};

fn checksum_of_pseudo_header(addresses: &[u8], protocol: u8, bytes: usize) -> u16 {
    let words = addresses.chunks(2);
    let mut sum: u64 = words
        .map(|word| u64::from(word[0]) << 8 | u64::from(word[1]))
        .sum::<u64>()
        + u64::from(protocol)
        + bytes as u64;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn gso_packet(shape: &Shape) -> GsoPacket {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8];
    for tag in 0..shape.tags {
        frame.extend([0x81, 0x00, 0x60, 0x10 + tag as u8]);
    }
    let (protocol, transport) = match shape.is_udp {
        true => (17, 8),
        false => (6, 20 + shape.tcp_options),
    };
    let inside = transport + shape.payload_bytes;
    let addresses;
    if shape.is_v6 {
        frame.extend([0x86, 0xdd, 0x60, 0x0a, 0xbc, 0xde]);
        frame.extend(((inside + shape.network_options) as u16).to_be_bytes());
        frame.extend([
            if shape.network_options > 0 {
                60
            } else {
                protocol
            },
            64,
        ]);
        addresses = (1..=32).map(|at| at | 0x20).collect::<Vec<u8>>();
        frame.extend(&addresses);
        if shape.network_options > 0 {
            frame.extend([protocol, shape.network_options as u8 / 8 - 1, 1]);
            frame.extend([shape.network_options as u8 - 4]);
            frame.extend(vec![0; shape.network_options - 4]);
        }
    } else {
        let words = (20 + shape.network_options) / 4;
        frame.extend([0x08, 0x00, 0x40 | words as u8, 0x02]);
        frame.extend(((words * 4 + inside) as u16).to_be_bytes());
        frame.extend([0xff, 0xfe, 0x40, 0, 64, protocol, 0, 0]);
        addresses = vec![10, 1, 2, 3, 10, 1, 2, 4];
        frame.extend(&addresses);
        frame.extend(vec![1; shape.network_options]);
    }
    let start = frame.len();
    frame.extend([0x30, 0x39, 0x00, 0x50]);
    if shape.is_udp {
        frame.extend((inside as u16).to_be_bytes());
    } else {
        frame.extend([0xff, 0xff, 0xf0, 0, 1, 2, 3, 4]);
        frame.extend([(transport as u8 / 4) << 4, shape.flags, 0x12, 0x34]);
    }
    frame.extend(checksum_of_pseudo_header(&addresses, protocol, inside).to_be_bytes());
    if !shape.is_udp {
        frame.extend([0, 9]);
        frame.extend(vec![1; shape.tcp_options]);
    }
    frame.extend((0..shape.payload_bytes).map(|at| (at * 7 + at / 256) as u8));
    let header = VirtioNetHeader {
        flags: 1,
        gso_type: match (shape.is_udp, shape.is_v6) {
            (true, _) => 5,
            (false, is_v6) => {
                let kind = if is_v6 { 4 } else { 1 };
                kind | if shape.has_ecn { 0x80 } else { 0 }
            }
        },
        header_bytes: (start + transport) as u16,
        segment_payload_bytes: shape.each_bytes,
        checksum_start: start as u16,
        checksum_offset: if shape.is_udp { 6 } else { 16 },
    };
    GsoPacket { header, frame }
}

/// Segments of a packet ring, in chunks, through a queue with late segmentation; the frame stays
/// unchanged.
fn segment_by_packet_ring(
    ns: &NetNs,
    tap: &Tap,
    mut frames: GsoFrames,
    packet: &GsoPacket,
    segments: usize,
) -> Vec<Vec<u8>> {
    let (tx, completions) = AfPacket::open_with(ns, tap.name(), 16, frames.clone()).expect("ring");
    let mut queue = Queue::builder(tx, completions).build(0).expect("queue");
    let kept = frames.gso_packet(packet.header, &packet.frame);
    let kept = kept.expect("it is kept");
    assert_eq!(kept.segments() as usize, segments);
    queue.enqueue(kept, 0, &mut frames);
    let mut sent = Vec::new();
    let patience_ns = sched::monotonic_ns() + PATIENCE.as_nanos() as u64;
    while sent.len() < segments {
        assert!(
            sched::monotonic_ns() < patience_ns,
            "{} of {segments}",
            sent.len()
        );
        let now_ns = sched::monotonic_ns();
        let _ = queue.complete(now_ns, &mut frames).expect("completes");
        let _ = queue.run(now_ns, &mut frames);
        sent.extend(read_segments(tap, packet));
    }
    while queue.completer_counters().completed_packets < segments as u64 {
        assert!(sched::monotonic_ns() < patience_ns, "the last comes back");
        let _ = queue.complete(sched::monotonic_ns(), &mut frames);
    }
    let counters = queue.sender_counters();
    assert_eq!(
        (counters.segmented_packets, counters.chunks),
        (1, segments as u64)
    );
    assert_eq!(counters.drops.total(), 0);
    // Both frames are free again.
    for _ in 0..2 {
        assert!(frames.gso_packet(packet.header, &packet.frame).is_some());
    }
    sent
}

/// Frames for two GSO packets.
fn frames() -> GsoFrames {
    GsoFrames::new(8, 1514, 2)
}

/// Reads the segments of `packet` from the TAP.
fn read_segments(tap: &Tap, packet: &GsoPacket) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; tap.read_limit_bytes()];
    let mut segments = Vec::new();
    while let Some(bytes) = tap.read(&mut buffer).expect("reads") {
        let (header, frame) = VirtioNetHeader::split(&buffer[..bytes]).expect("header");
        assert!(!header.needs_checksum() && !header.is_segmented());
        // The kernel might send packets of its own, to other addresses.
        if frame[..12] == packet.frame[..12] {
            segments.push(frame.to_vec());
        }
    }
    segments
}

/// Segments of the kernel for a device without offloads.
fn segment_by_kernel(ns: &NetNs, tap: &Tap, packet: &GsoPacket, segments: usize) -> Vec<Vec<u8>> {
    let sender = PacketSender::open(ns, tap.name()).expect("sender");
    let bytes = [&packet.header.to_bytes()[..], &packet.frame].concat();
    sender.send(&bytes).expect("the kernel takes it");
    let mut cut = Vec::new();
    let patience_ns = sched::monotonic_ns() + PATIENCE.as_nanos() as u64;
    while cut.len() < segments {
        let ready = poll::wait(&[tap.as_fd()], Some(patience_ns)).expect("poll");
        assert!(
            ready.contains(&true),
            "{} of {segments} segments came",
            cut.len()
        );
        cut.extend(read_segments(tap, packet));
    }
    cut
}

/// Segments of the kernel for its chunks of this many segments.
fn segment_in_chunks(
    ns: &NetNs,
    tap: &Tap,
    packet: &GsoPacket,
    cut: &Segmenter,
    each: u32,
) -> Vec<Vec<u8>> {
    let mut segments = Vec::new();
    let mut headers = [0; 200];
    let mut first = 0;
    while first < cut.segments() {
        let count = each.min(cut.segments() - first);
        let parts = cut
            .piece(&packet.frame, first, count, &mut headers)
            .expect("is there");
        let piece = GsoPacket {
            header: parts.header,
            frame: [&headers[..parts.header_bytes], &packet.frame[parts.payload]].concat(),
        };
        segments.extend(segment_by_kernel(ns, tap, &piece, count as usize));
        first += count;
    }
    assert_eq!(segments.len(), cut.segments() as usize);
    segments
}

/// Shapes of GSO packets.
fn shapes() -> Vec<(&'static str, Shape)> {
    vec![
        ("TCP over IPv4", PLAIN),
        (
            "with options",
            Shape {
                network_options: 8,
                tcp_options: 12,
                ..PLAIN
            },
        ),
        (
            "no more than a segment and a byte",
            Shape {
                payload_bytes: 1401,
                ..PLAIN
            },
        ),
        (
            "odd lengths",
            Shape {
                each_bytes: 777,
                payload_bytes: 5_555,
                ..PLAIN
            },
        ),
        (
            "64 KB",
            Shape {
                payload_bytes: 65_495,
                ..PLAIN
            },
        ),
        ("with a VLAN tag", Shape { tags: 1, ..PLAIN }),
        ("with two VLAN tags", Shape { tags: 2, ..PLAIN }),
        (
            "without flags",
            Shape {
                flags: 0x10,
                ..PLAIN
            },
        ),
        (
            "with a header that does not tell of ECN",
            Shape {
                has_ecn: false,
                ..PLAIN
            },
        ),
        (
            "TCP over IPv6",
            Shape {
                is_v6: true,
                ..PLAIN
            },
        ),
        (
            "with an option header",
            Shape {
                is_v6: true,
                network_options: 16,
                tcp_options: 12,
                ..PLAIN
            },
        ),
        (
            "UDP over IPv4",
            Shape {
                is_udp: true,
                each_bytes: 1200,
                ..PLAIN
            },
        ),
        (
            "UDP over IPv6",
            Shape {
                is_udp: true,
                is_v6: true,
                each_bytes: 1200,
                ..PLAIN
            },
        ),
        (
            "UDP with a VLAN tag",
            Shape {
                is_udp: true,
                tags: 1,
                each_bytes: 1001,
                ..PLAIN
            },
        ),
    ]
}

/// A TAP with a deep queue, up.
fn open(ns: &NetNs, name: &str, offloads: bool) -> Tap {
    let config = TapConfig {
        checksum_offload: offloads,
        segmentation_offload: offloads,
        tx_queue_packets: 10_000,
        ..TapConfig::default()
    };
    let tap = Tap::open(ns, name, config).expect("tap");
    link::set_up(ns, name).expect("up");
    tap
}

/// Major and minor number of the kernel.
fn kernel() -> (u32, u32) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("there is one");
    let mut numbers = release
        .split(|letter: char| !letter.is_ascii_digit())
        .map(|number| number.parse().expect("a number"));
    let mut next = || numbers.next().expect("two at least");
    (next(), next())
}

/// The packet that the kernel passes to a TAP with all offloads.
fn passed_to_tap(ns: &NetNs, tap: &Tap, packet: &GsoPacket) -> GsoPacket {
    let sender = PacketSender::open(ns, tap.name()).expect("sender");
    let bytes = [&packet.header.to_bytes()[..], &packet.frame].concat();
    sender.send(&bytes).expect("the kernel takes it");
    let mut buffer = vec![0; tap.read_limit_bytes()];
    let patience_ns = sched::monotonic_ns() + PATIENCE.as_nanos() as u64;
    loop {
        let ready = poll::wait(&[tap.as_fd()], Some(patience_ns)).expect("poll");
        assert!(ready.contains(&true), "nothing came");
        while let Some(bytes) = tap.read(&mut buffer).expect("reads") {
            let (header, frame) = VirtioNetHeader::split(&buffer[..bytes]).expect("header");
            if frame[..12] == packet.frame[..12] {
                let frame = frame.to_vec();
                return GsoPacket { header, frame };
            }
        }
    }
}

#[test]
fn tap_with_segmentation_offload_passes_whole_gso_packets() {
    if !allowed() {
        return;
    }
    let ns = NetNs::new().expect("namespace");
    let (whole, plain) = (open(&ns, "tap0", true), open(&ns, "tap1", false));
    for (name, shape) in shapes() {
        if shape.is_udp && kernel() < (6, 2) {
            eprintln!("skipped: {name}: this kernel cuts UDP for a TAP");
            continue;
        }
        let packet = gso_packet(&shape);
        // With its headers, it is so long that the kernel segments it for every device.
        if packet.frame.len() > 65_536 {
            continue;
        }
        let came = passed_to_tap(&ns, &whole, &packet);
        assert_eq!(came.frame.len(), packet.frame.len(), "{name}");
        let cut = Segmenter::of(came.header, &came.frame).expect(name);
        let by_kernel = segment_by_kernel(&ns, &plain, &packet, cut.segments() as usize);
        let mut slot = vec![0; 2048];
        for (index, segment) in by_kernel.iter().enumerate() {
            let bytes = cut.write(&came.frame, index as u32, &mut slot);
            let bytes = bytes.expect(name);
            assert!(slot[..bytes] == **segment, "{name}: segment {index}");
        }
    }
}

/// The kernel cannot be compared here, because no virtio-net header has this flag.
#[test]
fn accurate_ecn_repeats_cwr_in_each_segment() {
    if !allowed() {
        return;
    }
    let ns = NetNs::new().expect("namespace");
    let tap = open(&ns, "tap0", false);
    let packet = gso_packet(&PLAIN);
    for (frames, cwr) in [(frames(), 0), (frames().with_accurate_ecn(), 0x80)] {
        let segments = segment_by_packet_ring(&ns, &tap, frames, &packet, 15);
        let flags: Vec<u8> = segments.iter().map(|segment| segment[47]).collect();
        assert_eq!((flags[0], flags[14]), (0x90, 0x19 | cwr));
        assert!(flags[1..14].iter().all(|&flags| flags == 0x10 | cwr));
    }
}

#[test]
fn kernel_creates_the_same_segments() {
    if !allowed() {
        return;
    }
    let ns = NetNs::new().expect("namespace");
    let tap = open(&ns, "tap0", false);
    for (name, shape) in shapes() {
        let packet = gso_packet(&shape);
        let cut = Segmenter::of(packet.header, &packet.frame).expect(name);
        let by_kernel = segment_by_kernel(&ns, &tap, &packet, cut.segments() as usize);
        let mut slot = vec![0; 2048];
        for (index, segment) in by_kernel.iter().enumerate() {
            let bytes = cut
                .write(&packet.frame, index as u32, &mut slot)
                .expect(name);
            assert!(slot[..bytes] == **segment, "{name}: segment {index}");
        }
        let by_ring = segment_by_packet_ring(&ns, &tap, frames(), &packet, by_kernel.len());
        assert!(by_ring == by_kernel, "{name}: from a packet ring");
        for each in [1, 2, 5] {
            let by_kernel = segment_in_chunks(&ns, &tap, &packet, &cut, each);
            for (index, segment) in by_kernel.iter().enumerate() {
                let bytes = cut
                    .write(&packet.frame, index as u32, &mut slot)
                    .expect(name);
                let same = slot[..bytes] == **segment;
                assert!(same, "{name}: segment {index} in pieces of {each}");
            }
        }
    }
}

/// A payload with a UDP checksum of 0, which would mean that there is none.
#[test]
fn kernel_sends_zero_udp_checksum_as_all_ones() {
    if !allowed() {
        return;
    }
    let ns = NetNs::new().expect("namespace");
    let tap = open(&ns, "tap0", false);
    let mut packet = gso_packet(&Shape {
        is_udp: true,
        each_bytes: 100,
        payload_bytes: 150,
        ..PLAIN
    });
    let mut slot = [0; 256];
    let cut = Segmenter::of(packet.header, &packet.frame).expect("cuts");
    packet.frame[42..44].fill(0);
    cut.write(&packet.frame, 0, &mut slot).expect("fits");
    packet.frame[42..44].copy_from_slice(&slot[40..42]);
    let by_kernel = segment_by_kernel(&ns, &tap, &packet, 2);
    cut.write(&packet.frame, 0, &mut slot).expect("fits");
    assert_eq!(by_kernel[0][40..42], [0xff, 0xff]);
    assert_eq!(
        segment_by_packet_ring(&ns, &tap, frames(), &packet, 2),
        by_kernel
    );
    assert_eq!(slot[..142], by_kernel[0]);
}
