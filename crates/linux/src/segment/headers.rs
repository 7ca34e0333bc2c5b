//! The headers of a GSO packet.

use super::error::SegmentError;
use crate::checksum::ChecksumKind;
use crate::layers::u16_at;
use crate::vnet_header::{Segments, VirtioNetHeader};

/// The fixed header of IPv6.
pub(super) const IPV6_BYTES: usize = 40;
const IPV4_BYTES: usize = 20;
const TCP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// VLAN tags, of customers and of providers.
const ETHERTYPES_VLAN: [u16; 2] = [0x8100, 0x88a8];

/// Extension headers of IPv6 that are the same in each segment: hop-by-hop and destination options.
/// A routing header changes the bytes that the checksum covers.
const IPV6_OPTIONS: [u8; 2] = [0, 60];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    V4,
    V6,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Tcp,
    Udp,
}

impl Transport {
    /// Its protocol number in IP.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
        }
    }

    /// Its checksum.
    pub(super) const fn checksum(self) -> ChecksumKind {
        match self {
            Self::Tcp => ChecksumKind::Tcp,
            Self::Udp => ChecksumKind::Udp,
        }
    }

    /// Returns the offset of the checksum in its header.
    pub(super) const fn checksum_offset(self) -> u16 {
        // Cannot truncate: headers are shorter.
        self.checksum().field().start as u16
    }
}

/// The headers that are repeated in each segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Headers {
    pub(super) network: Network,
    pub(super) transport: Transport,
    /// Offsets of both in the frame.
    pub(super) network_at: u16,
    pub(super) transport_at: u16,
    /// Bytes of all headers.
    pub(super) header_bytes: u16,
}

impl Headers {
    /// Parses the headers of `frame`, if they agree with `header`.
    pub(super) fn of(header: VirtioNetHeader, frame: &[u8]) -> Result<Self, SegmentError> {
        let kind = header.segments().ok_or(SegmentError::Kind)?;
        let (ethertype, network_at) = network(frame).ok_or(SegmentError::Malformed)?;
        let packet = &frame[network_at..];
        let (network, (protocol, network_bytes)) = match ethertype {
            ETHERTYPE_IPV4 => (Network::V4, ipv4(packet)?),
            ETHERTYPE_IPV6 => (Network::V6, ipv6(packet)?),
            _ => return Err(SegmentError::Tunnel),
        };
        let transport = match (kind, network, protocol) {
            (Segments::TcpV4, Network::V4, 6) | (Segments::TcpV6, Network::V6, 6) => Transport::Tcp,
            (Segments::Udp, _, 17) => Transport::Udp,
            _ => return Err(SegmentError::Tunnel),
        };
        let transport_at = network_at + network_bytes;
        // The header with the partial checksum is the one to be segmented: behind other headers, it
        // is inside a tunnel.
        if header.needs_checksum()
            && (usize::from(header.checksum_start) != transport_at
                || header.checksum_offset != transport.checksum_offset())
        {
            return Err(SegmentError::Tunnel);
        }
        let segment = &frame[transport_at..];
        let transport_bytes = match transport {
            Transport::Tcp => tcp_bytes(segment).ok_or(SegmentError::Malformed)?,
            Transport::Udp => UDP_BYTES,
        };
        let header_bytes = transport_at + transport_bytes;
        if segment.len() < transport_bytes || header_bytes > usize::from(u16::MAX) {
            return Err(SegmentError::Malformed);
        }
        Ok(Self {
            network,
            transport,
            // Cannot truncate: all offsets are smaller.
            network_at: network_at as u16,
            transport_at: transport_at as u16,
            header_bytes: header_bytes as u16,
        })
    }
}

/// Returns the frame at the start of `space`, with the length in its IP header.
pub(super) fn frame(space: &[u8]) -> Option<&[u8]> {
    let (ethertype, network_at) = network(space)?;
    let packet = &space[network_at..];
    let bytes = match ethertype {
        ETHERTYPE_IPV4 => usize::from(u16_at(packet, 2)?),
        ETHERTYPE_IPV6 => usize::from(u16_at(packet, 4)?) + IPV6_BYTES,
        _ => return None,
    };
    space.get(..network_at + bytes)
}

/// The hop-by-hop header of a jumbogram (RFC 2675) without its first byte: no further 8 bytes, and
/// the option with a length of 32 bits.
const JUMBO_OPTION: [u8; 3] = [0, 0xc2, 4];
const JUMBO_BYTES: usize = 8;

/// Removes the jumbo payload option in front of the TCP header of a GSO packet, which must not be in
/// its segments. Returns the headers and the bytes to skip at the start of `frame`.
pub fn remove_jumbo_option(header: VirtioNetHeader, frame: &mut [u8]) -> (VirtioNetHeader, usize) {
    let unchanged = (header, 0);
    let Some((ETHERTYPE_IPV6, network_at)) = network(frame) else {
        return unchanged;
    };
    let at = network_at + IPV6_BYTES;
    let Some(option) = frame.get(at..at + JUMBO_BYTES) else {
        return unchanged;
    };
    let (next, length) = (option[0], [option[4], option[5], option[6], option[7]]);
    let is_jumbo = header.is_segmented()
        && frame[network_at + 4..network_at + 7] == [0; 3]
        && option[1..4] == JUMBO_OPTION
        && u32::from_be_bytes(length) as usize == frame.len() - at;
    if !is_jumbo {
        return unchanged;
    }
    frame[network_at + 6] = next;
    frame.copy_within(..at, JUMBO_BYTES);
    let checksum_start = header.checksum_start.saturating_sub(JUMBO_BYTES as u16);
    let header = VirtioNetHeader {
        checksum_start,
        ..header
    };
    (header, JUMBO_BYTES)
}

/// Returns `true` if the partial checksum in `frame` is inside a UDP datagram that has a checksum
/// too.
pub(super) fn has_outer_checksum(header: VirtioNetHeader, frame: &[u8]) -> bool {
    let Some((ethertype, network_at)) = network(frame) else {
        return false;
    };
    let packet = &frame[network_at..];
    let outer = match ethertype {
        ETHERTYPE_IPV4 => ipv4(packet),
        ETHERTYPE_IPV6 => ipv6(packet),
        _ => return false,
    };
    // An unknown header might have one.
    let Ok((protocol, network_bytes)) = outer else {
        return true;
    };
    let transport_at = network_at + network_bytes;
    let is_inside = usize::from(header.checksum_start) > transport_at;
    protocol == Transport::Udp.number() && is_inside && u16_at(frame, transport_at + 6) != Some(0)
}

/// Returns the EtherType behind all VLAN tags, and the offset of its packet.
fn network(frame: &[u8]) -> Option<(u16, usize)> {
    let mut at = 12;
    loop {
        let ethertype = u16_at(frame, at)?;
        at += 2;
        if !ETHERTYPES_VLAN.contains(&ethertype) {
            return Some((ethertype, at));
        }
        at += 2;
    }
}

/// Returns `true` if a length field of IP describes `bytes`. It is 0 if they exceed its 16 bits
/// (BIG TCP).
fn is_length(field: Option<u16>, bytes: usize) -> bool {
    let is_big = bytes > usize::from(u16::MAX);
    field.is_some_and(|field| usize::from(field) == bytes || is_big && field == 0)
}

/// Returns the protocol and the length of the header.
fn ipv4(packet: &[u8]) -> Result<(u8, usize), SegmentError> {
    let header = packet.get(..IPV4_BYTES).ok_or(SegmentError::Malformed)?;
    let header_bytes = usize::from(header[0] & 0xf) * 4;
    let is_sound = header[0] >> 4 == 4
        && (IPV4_BYTES..=packet.len()).contains(&header_bytes)
        && is_length(u16_at(packet, 2), packet.len());
    // A fragment is already a part of a datagram.
    let is_fragment = u16_at(packet, 6).unwrap_or(0) & 0x3fff != 0;
    if !is_sound || is_fragment {
        return Err(SegmentError::Malformed);
    }
    Ok((header[9], header_bytes))
}

fn ipv6(packet: &[u8]) -> Result<(u8, usize), SegmentError> {
    let header = packet.get(..IPV6_BYTES).ok_or(SegmentError::Malformed)?;
    let payload_bytes = packet.len() - IPV6_BYTES;
    if header[0] >> 4 != 6 || !is_length(u16_at(packet, 4), payload_bytes) {
        return Err(SegmentError::Malformed);
    }
    let (mut next, mut at) = (header[6], IPV6_BYTES);
    while IPV6_OPTIONS.contains(&next) {
        let option = packet.get(at..at + 2).ok_or(SegmentError::Malformed)?;
        next = option[0];
        at += (usize::from(option[1]) + 1) * 8;
    }
    if at > packet.len() {
        return Err(SegmentError::Malformed);
    }
    Ok((next, at))
}

fn tcp_bytes(segment: &[u8]) -> Option<usize> {
    let bytes = usize::from(*segment.get(12)? >> 4) * 4;
    (TCP_BYTES..=segment.len())
        .contains(&bytes)
        .then_some(bytes)
}
