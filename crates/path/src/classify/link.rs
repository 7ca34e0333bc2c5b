//! Finds the IP header behind the headers of a link.

use core::ops::Range;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_VLAN: u16 = 0x8100;
const ETHERTYPE_SERVICE_VLAN: u16 = 0x88a8;
const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
const ETHERTYPE_MPLS: u16 = 0x8847;
const ETHERTYPE_MPLS_MULTICAST: u16 = 0x8848;

/// Version 1, type 1 and the code of session data (RFC 2516).
const PPPOE_DATA: u16 = 0x1100;
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
const PPP_MPLS: u16 = 0x0281;
const PPP_MPLS_MULTICAST: u16 = 0x0283;

const ETHERNET_BYTES: usize = 14;
const LABEL_BYTES: usize = 4;

/// Maximum number of headers, so that a malicious frame does not take longer than any other: as
/// many as Linux dissects.
const MAX_HEADERS: usize = 15;

/// The packet behind the link headers.
pub(super) enum Network {
    /// An IP packet at this offset, which is inside the frame.
    Ip(usize),
    /// MPLS labels in this range, which is inside the frame, and another payload than IP.
    Labels(Range<usize>),
}

/// Returns the packet in an Ethernet frame; `None` for other packets.
#[inline]
pub(super) fn network(frame: &[u8]) -> Option<Network> {
    let ethertype = u16_at(frame, ETHERNET_BYTES - 2)?;
    // Most frames have no further header.
    match version_of(ethertype) {
        Some(version) => ip(frame, ETHERNET_BYTES, version),
        None => behind(ethertype, frame, ETHERNET_BYTES),
    }
}

/// Returns the offset of the IP header in `packet`, the payload of an Ethernet frame with this
/// EtherType. VLAN tags, PPPoE and MPLS labels can precede it. `None` for other packets, and for
/// more than 15 headers.
pub fn ip_offset(ethertype: u16, packet: &[u8]) -> Option<usize> {
    match behind(ethertype, packet, 0)? {
        Network::Ip(at) => Some(at),
        Network::Labels(_) => None,
    }
}

fn behind(mut ethertype: u16, frame: &[u8], mut at: usize) -> Option<Network> {
    for _ in 0..=MAX_HEADERS {
        if let Some(version) = version_of(ethertype) {
            return ip(frame, at, version);
        }
        match ethertype {
            ETHERTYPE_VLAN | ETHERTYPE_SERVICE_VLAN => {
                ethertype = u16_at(frame, at + 2)?;
                at += 4;
            }
            ETHERTYPE_PPPOE_SESSION if u16_at(frame, at)? == PPPOE_DATA => {
                ethertype = match u16_at(frame, at + 6)? {
                    PPP_IPV4 => ETHERTYPE_IPV4,
                    PPP_IPV6 => ETHERTYPE_IPV6,
                    PPP_MPLS | PPP_MPLS_MULTICAST => ETHERTYPE_MPLS,
                    _ => return None,
                };
                at += 8;
            }
            ETHERTYPE_MPLS | ETHERTYPE_MPLS_MULTICAST => return behind_labels(frame, at),
            _ => return None,
        }
    }
    None
}

/// Returns the version of IP that an EtherType announces.
#[inline]
fn version_of(ethertype: u16) -> Option<u8> {
    match ethertype {
        ETHERTYPE_IPV4 => Some(4),
        ETHERTYPE_IPV6 => Some(6),
        _ => None,
    }
}

#[inline]
fn ip(frame: &[u8], at: usize, version: u8) -> Option<Network> {
    has_version(frame, at, version).then_some(Network::Ip(at))
}

#[inline]
fn has_version(frame: &[u8], at: usize, version: u8) -> bool {
    frame.get(at).is_some_and(|first| first >> 4 == version)
}

fn behind_labels(frame: &[u8], start: usize) -> Option<Network> {
    for at in (start..).step_by(LABEL_BYTES).take(MAX_HEADERS) {
        let label = frame.get(at..at + LABEL_BYTES)?;
        let is_bottom = label[2] & 1 != 0;
        if is_bottom {
            let payload_at = at + LABEL_BYTES;
            let packet = &frame[payload_at..];
            return Some(match is_ipv4(packet) || is_ipv6(packet) {
                true => Network::Ip(payload_at),
                false => Network::Labels(start..payload_at),
            });
        }
    }
    None
}

/// Labels do not identify their payload. A control word starts with 0 (RFC 4385), but an Ethernet
/// frame without one can start like IP (RFC 8469). So length and checksum must be right too.
fn is_ipv4(packet: &[u8]) -> bool {
    let header_bytes = packet.first().map_or(0, |first| first & 0xf) as usize * 4;
    let Some(header) = packet.get(..header_bytes.max(20)) else {
        return false;
    };
    let total_bytes = u16_at(header, 2).unwrap_or(0) as usize;
    has_version(packet, 0, 4)
        && header_bytes >= 20
        && (header_bytes..=packet.len()).contains(&total_bytes)
        && has_valid_checksum(header)
}

fn has_valid_checksum(header: &[u8]) -> bool {
    let words = header.chunks_exact(2);
    let sum: u32 = words
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum();
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

/// IPv6 has no checksum, so its length must be exact, or else the frame be short enough for padding
/// (IEEE 802.3).
fn is_ipv6(packet: &[u8]) -> bool {
    const MAX_PADDING_BYTES: usize = 46;
    let payload_bytes = u16_at(packet, 4).unwrap_or(0) as usize;
    let padding_bytes = packet.len().checked_sub(40 + payload_bytes);
    let max_bytes = match packet.len() <= MAX_PADDING_BYTES {
        true => MAX_PADDING_BYTES,
        false => 0,
    };
    has_version(packet, 0, 6) && padding_bytes.is_some_and(|bytes| bytes <= max_bytes)
}

/// Returns the big-endian number at `at`.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}
