//! Reads priority, flow and congestion from the headers of an Ethernet frame, and writes congestion
//! marks.

use crate::packet::Ecn;

/// Priority of each type of service, in steps of 4: the table of tc-prio(8), without the lowest two
/// bits, which are the ECN field since RFC 3168.
const PRIORITY_OF_TOS: [u8; 8] = [0, 0, 2, 2, 6, 6, 4, 4];

/// The ECN field in the type of service (RFC 3168): both bits set is a mark.
const ECN_BITS: u8 = 3;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_VLAN: u16 = 0x8100;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// The classification of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameClass {
    /// Priority 0..=15, from the type of service; 0 (best effort) for other protocols than IP.
    pub priority: u8,
    /// Hash of addresses, protocol and ports; 0 for other protocols than IP. Fragments carry no
    /// ports, so all fragments between two hosts are one flow.
    pub flow: u32,
    /// The ECN field; not capable for other protocols than IP.
    pub ecn: Ecn,
}

/// Classifies an Ethernet frame. Short and malformed frames are best effort.
pub fn classify(frame: &[u8]) -> FrameClass {
    parse(frame).unwrap_or_default()
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

/// Marks congestion experienced in an Ethernet frame, and updates the checksum of an IPv4 header.
/// Returns `true` if the frame is marked; a frame without ECN support (RFC 3168) stays unchanged.
pub fn mark_congestion(frame: &mut [u8]) -> bool {
    match network(frame) {
        Some((ETHERTYPE_IPV4, at)) => frame.get_mut(at..).is_some_and(mark_ipv4),
        Some((ETHERTYPE_IPV6, at)) => frame.get_mut(at..).is_some_and(mark_ipv6),
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

fn parse(frame: &[u8]) -> Option<FrameClass> {
    let (ethertype, at) = network(frame)?;
    let packet = frame.get(at..)?;
    match ethertype {
        ETHERTYPE_IPV4 => ipv4(packet),
        ETHERTYPE_IPV6 => ipv6(packet),
        _ => None,
    }
}

/// Returns the type and the start of the packet in a frame.
fn network(frame: &[u8]) -> Option<(u16, usize)> {
    match u16_at(frame, 12)? {
        ETHERTYPE_VLAN => Some((u16_at(frame, 16)?, 18)),
        ethertype => Some((ethertype, 14)),
    }
}

fn ipv4(packet: &[u8]) -> Option<FrameClass> {
    let (version, header_words) = (packet.first()? >> 4, packet[0] & 0xf);
    if version != 4 || header_words < 5 {
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
    if packet.first()? >> 4 != 6 {
        return None;
    }
    let traffic_class = (u16_at(packet, 0)? >> 4) as u8;
    let protocol = *packet.get(6)?;
    let addresses = packet.get(8..40)?;
    Some(FrameClass {
        priority: priority_of_tos(traffic_class),
        flow: flow_hash(addresses, protocol, ports(packet, protocol, 40)),
        ecn: ecn_of_tos(traffic_class),
    })
}

fn ports(packet: &[u8], protocol: u8, header_bytes: usize) -> Option<&[u8]> {
    match protocol {
        PROTOCOL_TCP | PROTOCOL_UDP => packet.get(header_bytes..header_bytes + 4),
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
    if before >> 12 != 4 || ecn_of_tos(before as u8) == Ecn::NotCapable {
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
    if word >> 12 != 6 || ecn_of_tos((word >> 4) as u8) == Ecn::NotCapable {
        return false;
    }
    // The traffic class starts in the lower half of the first byte.
    packet[1] |= ECN_BITS << 4;
    true
}

/// FNV-1a: suited to short keys, stateless, and equal on every machine.
fn flow_hash(addresses: &[u8], protocol: u8, ports: Option<&[u8]>) -> u32 {
    const OFFSET_BASIS: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    addresses
        .iter()
        .chain(core::iter::once(&protocol))
        .chain(ports.unwrap_or_default())
        .fold(OFFSET_BASIS, |hash, &byte| {
            (hash ^ u32::from(byte)).wrapping_mul(PRIME)
        })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}
