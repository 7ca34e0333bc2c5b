//! The packet ring writes the CE mark of a packet that a discipline marked.

use crate::common::packets::Ring;
use crate::common::{LEFT, LEFT_MAC, RIGHT, RIGHT_MAC, allowed, until};
use taut_linux::VirtioNetHeader;
use taut_linux::af_packet::PacketReceiver;
use taut_linux::link::RootQdisc;
use taut_path::{Completions, Ecn, Packet, PacketSink, TxRing};

/// ECN-capable senders, and one that is not (RFC 3168).
const NOT_CAPABLE: u8 = 0;
const CAPABLE: u8 = 2;
const MARKED: u8 = 3;

/// Offset of the type of service in a frame.
const TOS: usize = 14 + 1;

fn ethernet(ethertype: [u8; 2], packet: &[u8]) -> Vec<u8> {
    [&RIGHT_MAC.0[..], &LEFT_MAC.0, &ethertype, packet].concat()
}

/// An IPv4 packet of an unused protocol, with a valid checksum.
fn ipv4(ecn: u8) -> Vec<u8> {
    let mut header = [
        &[0x45, ecn, 0, 40, 0, 1, 0, 0, 64, 253, 0, 0][..],
        &LEFT.octets(),
        &RIGHT.octets(),
    ]
    .concat();
    let checksum = !sum(&header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    ethernet([0x08, 0x00], &[header, vec![7; 20]].concat())
}

fn ipv6(ecn: u8) -> Vec<u8> {
    let mut header = vec![0x60, ecn << 4, 0, 0, 0, 20, 253, 64];
    header.extend((0..32).map(|byte| byte | 1));
    ethernet([0x86, 0xdd], &[header, vec![7; 20]].concat())
}

/// The ones' complement sum of 16-bit words.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let mut sum: u32 = words.map(u32::from).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Sends `frame` with this ECN field; returns the received frame. Checks that the frame in the pool
/// is unchanged.
fn sent(ring: &mut Ring, frame: &[u8], ecn: Ecn) -> Vec<u8> {
    let mut packet = ring.pool.packet(frame).expect("frame");
    packet.set_ecn(ecn);
    ring.tx.submit(packet, 0).expect("takes it");
    ring.tx.kick(0).expect("kicks");
    let (mut arrived, mut completed) = (None, false);
    let mut buffer = vec![0; PacketReceiver::READ_LIMIT_BYTES];
    until("it is there and completed", || {
        while let Some(bytes) = ring.receiver.read(&mut buffer).expect("receives") {
            let (_, bytes) = VirtioNetHeader::split(&buffer[..bytes]).expect("header");
            arrived = Some(bytes.to_vec());
        }
        let mut freed = |packet: Packet| {
            let look =
                |bytes: &mut [u8]| assert_eq!(&bytes[..frame.len()], frame, "the pool's own");
            ring.pool.with(packet.frame(), look).expect("its own");
            ring.pool.freed(packet);
            completed = true;
        };
        let _ = ring.completions.reap(0, 7, &mut freed).expect("reaps");
        completed && arrived.is_some()
    });
    arrived.expect("it is there")
}

#[test]
fn marked_packet_arrives_with_a_valid_checksum() {
    if !allowed() {
        return;
    }
    let mut ring = Ring::new(4, RootQdisc::NoQueue);
    let arrived = sent(&mut ring, &ipv4(CAPABLE), Ecn::Marked);
    assert_eq!(arrived[TOS], MARKED);
    assert_eq!(sum(&arrived[14..34]), 0xffff, "the header's checksum");
    let marked = ipv4(MARKED);
    assert_eq!(arrived, marked, "nothing else changed");
    // An existing mark stays.
    assert_eq!(sent(&mut ring, &marked, Ecn::Marked), marked);
    assert_eq!(sent(&mut ring, &ipv6(CAPABLE), Ecn::Marked), ipv6(MARKED));
}

#[test]
fn unmarked_packet_is_unchanged() {
    if !allowed() {
        return;
    }
    let mut ring = Ring::new(4, RootQdisc::NoQueue);
    let strange = ethernet([0x88, 0xb5], &[0xff; 40]);
    for (frame, ecn) in [
        (ipv4(CAPABLE), Ecn::Capable),
        (ipv4(NOT_CAPABLE), Ecn::NotCapable),
        (ipv4(NOT_CAPABLE), Ecn::Marked),
        (ipv6(CAPABLE), Ecn::Capable),
        (ipv6(NOT_CAPABLE), Ecn::Marked),
        (strange, Ecn::Marked),
    ] {
        assert_eq!(sent(&mut ring, &frame, ecn), frame, "{ecn:?}");
    }
}
