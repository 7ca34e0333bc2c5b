//! The headers of a GSO packet.

use crate::checksum::ChecksumKind;
use crate::layers::{self, ETHERTYPE_IPV4, ETHERTYPE_IPV6, IPV6_BYTES, UDP_BYTES, u16_at};
use crate::vlan;
use crate::vnet_header::{Segments, VirtioNetHeader};

const TCP_BYTES: usize = 20;

/// Extension headers of IPv6 that are the same in each segment: hop-by-hop and destination options.
/// A routing header changes the bytes that the checksum covers.
const IPV6_OPTIONS: [u8; 2] = [0, 60];

/// Why a GSO packet is not segmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum SegmentError {
    /// Not a GSO packet.
    #[error("not a GSO packet")]
    Plain,
    /// The packet to be segmented is inside another one, or behind headers that change with it.
    #[error("a GSO packet inside a tunnel")]
    Tunnel,
    /// A GSO type other than TCP over IPv4 or IPv6, or UDP datagrams of one size.
    #[error("an unknown GSO type")]
    Kind,
    /// The lengths in its headers differ from those of the frame.
    #[error("a GSO packet with inconsistent lengths")]
    Malformed,
}

/// The headers that are repeated in each segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Headers {
    pub(super) is_v6: bool,
    /// TCP or UDP.
    pub(super) transport: ChecksumKind,
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
        let is_v6 = ethertype == ETHERTYPE_IPV6;
        let (protocol, network_bytes) = ip(ethertype, packet)?;
        let transport = match (kind, ChecksumKind::of(protocol)) {
            (Segments::TcpV4, Some(ChecksumKind::Tcp)) if !is_v6 => ChecksumKind::Tcp,
            (Segments::TcpV6, Some(ChecksumKind::Tcp)) if is_v6 => ChecksumKind::Tcp,
            (Segments::Udp, Some(ChecksumKind::Udp)) => ChecksumKind::Udp,
            _ => return Err(SegmentError::Tunnel),
        };
        let transport_at = network_at + network_bytes;
        // The header with the partial checksum is the one to be segmented: behind other headers, it
        // is inside a tunnel.
        if header.needs_checksum()
            && (usize::from(header.checksum_start) != transport_at
                || header.checksum_offset != transport.offset())
        {
            return Err(SegmentError::Tunnel);
        }
        let segment = &frame[transport_at..];
        let transport_bytes = match transport {
            ChecksumKind::Tcp => tcp_bytes(segment).ok_or(SegmentError::Malformed)?,
            _ => UDP_BYTES,
        };
        let header_bytes = transport_at + transport_bytes;
        if segment.len() < transport_bytes || header_bytes > usize::from(u16::MAX) {
            return Err(SegmentError::Malformed);
        }
        Ok(Self {
            is_v6,
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

/// Removes the jumbo payload option in front of the TCP header of a GSO packet, which must not be
/// in its segments. Returns the headers and the bytes to skip at the start of `frame`.
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
    let (protocol, network_bytes) = match ip(ethertype, &frame[network_at..]) {
        Ok(outer) => outer,
        Err(error) => return error == SegmentError::Malformed,
    };
    let transport_at = network_at + network_bytes;
    let is_inside = usize::from(header.checksum_start) > transport_at;
    protocol == ChecksumKind::Udp as u8 && is_inside && u16_at(frame, transport_at + 6) != Some(0)
}

/// Returns the EtherType behind all VLAN tags, and the offset of its packet.
fn network(frame: &[u8]) -> Option<(u16, usize)> {
    let at = 12 + vlan::tags(frame).count() * vlan::TAG_BYTES as usize;
    Some((u16_at(frame, at)?, at + 2))
}

/// Returns `true` if a length field of IP describes `bytes`. It is 0 if they exceed its 16 bits
/// (BIG TCP).
fn is_length(field: Option<u16>, bytes: usize) -> bool {
    let is_big = bytes > usize::from(u16::MAX);
    field.is_some_and(|field| usize::from(field) == bytes || is_big && field == 0)
}

/// Returns the protocol and the length of the headers of IP. `Malformed` if they are inconsistent
/// with the length of `packet`, or of a fragment; `Tunnel` for another protocol.
fn ip(ethertype: u16, packet: &[u8]) -> Result<(u8, usize), SegmentError> {
    let (version, length, found) = match ethertype {
        ETHERTYPE_IPV4 => (
            4,
            is_length(u16_at(packet, 2), packet.len()),
            layers::ipv4(packet),
        ),
        ETHERTYPE_IPV6 => {
            let payload_bytes = packet.len().saturating_sub(IPV6_BYTES);
            let length = is_length(u16_at(packet, 4), payload_bytes);
            (6, length, layers::ipv6(packet, &IPV6_OPTIONS))
        }
        _ => return Err(SegmentError::Tunnel),
    };
    let is_sound = length && packet.first().is_some_and(|first| first >> 4 == version);
    found
        .filter(|&(_, bytes)| is_sound && bytes <= packet.len())
        .ok_or(SegmentError::Malformed)
}

fn tcp_bytes(segment: &[u8]) -> Option<usize> {
    let bytes = usize::from(*segment.get(12)? >> 4) * 4;
    (TCP_BYTES..=segment.len())
        .contains(&bytes)
        .then_some(bytes)
}
