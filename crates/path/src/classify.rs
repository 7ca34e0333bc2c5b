//! Reads priority, flow and congestion from the headers of an Ethernet frame, and writes congestion
//! marks.

mod link;

use crate::packet::Ecn;
use link::{Network, u16_at};

pub use link::ip_offset;

/// Priority of each type of service, in steps of 4: the table of tc-prio(8), without the lowest two
/// bits, which are the ECN field since RFC 3168.
const PRIORITY_OF_TOS: [u8; 8] = [0, 0, 2, 2, 6, 6, 4, 4];

/// The ECN field in the type of service (RFC 3168): both bits set is a mark.
const ECN_BITS: u8 = 3;

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const PROTOCOL_DCCP: u8 = 33;
const PROTOCOL_ESP: u8 = 50;
const PROTOCOL_SCTP: u8 = 132;
const PROTOCOL_UDP_LITE: u8 = 136;

/// Extension headers of IPv6 before the transport header: hop-by-hop options, routing, destination
/// options. A fragment header is not one of them, because only the first fragment has ports.
const IPV6_EXTENSIONS: [u8; 3] = [0, 43, 60];

/// The classification of a frame.
///
/// The IP header is found behind VLAN tags (0x8100 and 0x88a8), PPPoE and MPLS labels. A tunnel is
/// classified by its outer IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameClass {
    /// Priority 0..=15, from the type of service; 0 (best effort) for other protocols than IP.
    pub priority: u8,
    /// Hash of addresses, protocol and ports, or the SPI of IPsec in place of ports. Fragments
    /// carry no ports, so all fragments between two hosts are one flow. For MPLS without IP, the
    /// hash of its labels. 0 for other protocols.
    pub flow: u32,
    /// The ECN field; not capable for other protocols than IP.
    pub ecn: Ecn,
}

/// Classifies an Ethernet frame. Short and malformed frames are best effort.
pub fn classify(frame: &[u8]) -> FrameClass {
    match link::network(frame) {
        Some(Network::Ip(at)) => classify_ip(&frame[at..]),
        Some(Network::Labels(labels)) => FrameClass {
            flow: label_hash(&frame[labels]),
            ..FrameClass::default()
        },
        None => FrameClass::default(),
    }
}

/// As [`classify`], for a packet without a link header, as on a TUN.
pub fn classify_ip(packet: &[u8]) -> FrameClass {
    let class = match packet.first().map(|first| first >> 4) {
        Some(4) => ipv4(packet),
        Some(6) => ipv6(packet),
        _ => None,
    };
    class.unwrap_or_default()
}

/// Marks congestion experienced in the IP header that [`FrameClass`] describes, and updates the
/// checksum of IPv4. The headers inside a tunnel stay unchanged.
///
/// Returns `true` if the frame is marked; a frame without ECN support (RFC 3168) stays unchanged.
pub fn mark_congestion(frame: &mut [u8]) -> bool {
    match link::network(frame) {
        Some(Network::Ip(at)) => mark_congestion_ip(&mut frame[at..]),
        _ => false,
    }
}

/// As [`mark_congestion`], for a packet without a link header.
pub fn mark_congestion_ip(packet: &mut [u8]) -> bool {
    match packet.first().map(|first| first >> 4) {
        Some(4) => mark_ipv4(packet),
        Some(6) => mark_ipv6(packet),
        _ => false,
    }
}

fn ipv4(packet: &[u8]) -> Option<FrameClass> {
    let header_words = packet.first()? & 0xf;
    if header_words < 5 {
        return None;
    }
    let header_bytes = usize::from(header_words) * 4;
    let protocol = *packet.get(9)?;
    let addresses = packet.get(12..20)?;
    // More fragments, or an offset: the ports are absent from all but the first.
    let fragment = u16_at(packet, 6)? & 0x3fff != 0;
    let ports = if fragment {
        None
    } else {
        ports(packet, protocol, header_bytes)
    };
    Some(FrameClass {
        priority: priority_of_tos(packet[1]),
        flow: flow_hash(addresses, protocol, ports),
        ecn: ecn_of_tos(packet[1]),
    })
}

fn ipv6(packet: &[u8]) -> Option<FrameClass> {
    let traffic_class = (u16_at(packet, 0)? >> 4) as u8;
    let addresses = packet.get(8..40)?;
    let (protocol, header_bytes) = ipv6_transport(packet, packet[6]);
    Some(FrameClass {
        priority: priority_of_tos(traffic_class),
        flow: flow_hash(addresses, protocol, ports(packet, protocol, header_bytes)),
        ecn: ecn_of_tos(traffic_class),
    })
}

/// Returns the protocol and the offset of the transport header.
fn ipv6_transport(packet: &[u8], mut next: u8) -> (u8, usize) {
    let mut at = 40;
    while IPV6_EXTENSIONS.contains(&next) {
        // A truncated extension header has no ports behind it.
        let Some(&[following, words]) = packet.get(at..at + 2) else {
            break;
        };
        next = following;
        at += (usize::from(words) + 1) * 8;
    }
    (next, at)
}

fn ports(packet: &[u8], protocol: u8, header_bytes: usize) -> Option<&[u8]> {
    match protocol {
        PROTOCOL_TCP | PROTOCOL_UDP | PROTOCOL_DCCP | PROTOCOL_ESP | PROTOCOL_SCTP
        | PROTOCOL_UDP_LITE => packet.get(header_bytes..header_bytes + 4),
        _ => None,
    }
}

fn priority_of_tos(tos: u8) -> u8 {
    PRIORITY_OF_TOS[usize::from(tos >> 2) & 7]
}

fn ecn_of_tos(tos: u8) -> Ecn {
    match tos & ECN_BITS {
        0 => Ecn::NotCapable,
        ECN_BITS => Ecn::Marked,
        _ => Ecn::Capable,
    }
}

fn mark_ipv4(packet: &mut [u8]) -> bool {
    let (Some(before), Some(checksum)) = (u16_at(packet, 0), u16_at(packet, 10)) else {
        return false;
    };
    if ecn_of_tos(before as u8) == Ecn::NotCapable {
        return false;
    }
    let after = before | u16::from(ECN_BITS);
    // RFC 1624, equation 3: the checksum is the complement of a sum, in which the new word replaces
    // the old one.
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let sum = (sum & 0xffff) + (sum >> 16);
    let checksum = !((sum + (sum >> 16)) as u16);
    packet[1] = after as u8;
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    true
}

fn mark_ipv6(packet: &mut [u8]) -> bool {
    let Some(word) = u16_at(packet, 0) else {
        return false;
    };
    if ecn_of_tos((word >> 4) as u8) == Ecn::NotCapable {
        return false;
    }
    // The traffic class starts in the lower half of the first byte.
    packet[1] |= ECN_BITS << 4;
    true
}

fn flow_hash(addresses: &[u8], protocol: u8, ports: Option<&[u8]>) -> u32 {
    let ports = ports.unwrap_or_default();
    let protocol = core::iter::once(&protocol);
    fnv(addresses.iter().chain(protocol).chain(ports).copied())
}

/// Returns the hash of the labels alone: traffic class and time to live can vary in a flow.
fn label_hash(labels: &[u8]) -> u32 {
    const LABEL_BITS: [u8; 4] = [0xff, 0xff, 0xf0, 0];
    let masks = LABEL_BITS.iter().cycle();
    fnv(labels.iter().zip(masks).map(|(byte, mask)| byte & mask))
}

/// FNV-1a: suited to short keys, stateless, and equal on every machine.
fn fnv(bytes: impl Iterator<Item = u8>) -> u32 {
    const OFFSET_BASIS: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    bytes.fold(OFFSET_BASIS, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(PRIME)
    })
}
