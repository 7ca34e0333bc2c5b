//! The IP packets of a frame: the outer one, and those inside its tunnels.

use taut_path::classify::ip_offset;

const IPV4_BYTES: usize = 20;
/// The fixed header of IPv6.
pub(crate) const IPV6_BYTES: usize = 40;
pub(crate) const UDP_BYTES: usize = 8;

pub(crate) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(crate) const ETHERTYPE_IPV6: u16 = 0x86dd;
/// An Ethernet frame in GRE and GENEVE.
const ETHERTYPE_BRIDGED: u16 = 0x6558;

const PROTOCOL_UDP: u8 = 17;
const PROTOCOL_GRE: u8 = 47;
const PROTOCOL_IPV4: u8 = 4;
const PROTOCOL_IPV6: u8 = 41;
/// Extension headers of IPv6: hop-by-hop options, routing, destination options.
const IPV6_EXTENSIONS: [u8; 3] = [0, 43, 60];

/// Bits of a GRE header (RFC 2784, RFC 2890): each adds a word to it.
const GRE_CHECKSUM: u16 = 0x8000;
const GRE_WORDS: [u16; 3] = [GRE_CHECKSUM, 0x2000, 0x1000];
/// Routing and version, which are 0.
const GRE_OTHER: u16 = 0x4007;

/// Maximum number of nested IP packets.
const MAX_LAYERS: usize = 8;

/// A complete IP packet in a frame, not a fragment. All offsets are inside the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layer {
    is_v6: bool,
    network_at: usize,
    /// The protocol of the transport header, and its offset.
    pub(crate) protocol: u8,
    pub(crate) transport_at: usize,
    /// The end of the packet; the remainder of the frame is padding.
    pub(crate) end_at: usize,
}

impl Layer {
    /// Returns the addresses of both hosts.
    pub(crate) fn addresses<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        let (from, to) = if self.is_v6 { (8, 40) } else { (12, 20) };
        &frame[self.network_at + from..self.network_at + to]
    }
}

/// Returns the IP packets of an Ethernet frame, from the outermost.
pub(crate) fn layers(frame: &[u8]) -> impl Iterator<Item = Layer> {
    let outer = ethernet(frame, 0, frame.len());
    std::iter::successors(outer, |layer| inside(frame, layer)).take(MAX_LAYERS)
}

/// Returns the packet inside a tunnel.
fn inside(frame: &[u8], outer: &Layer) -> Option<Layer> {
    let (at, end) = (outer.transport_at, outer.end_at);
    match outer.protocol {
        PROTOCOL_IPV4 => ip(frame, at, end, 4),
        PROTOCOL_IPV6 => ip(frame, at, end, 6),
        PROTOCOL_GRE => {
            let flags = u16_at(frame, at).filter(|flags| flags & GRE_OTHER == 0)?;
            let words = GRE_WORDS.iter().filter(|&&bit| flags & bit != 0).count();
            behind(u16_at(frame, at + 2)?, frame, at + 4 + 4 * words, end)
        }
        PROTOCOL_UDP => in_udp(frame, at + UDP_BYTES, end),
        _ => None,
    }
}

/// Ports do not identify a tunnel, because many are configured. So its header must lead to an IP
/// packet that ends with the datagram.
fn in_udp(frame: &[u8], at: usize, end: usize) -> Option<Layer> {
    let payload = frame.get(at..end)?;
    [vxlan, geneve, gtp, gue, bare_ip]
        .into_iter()
        .filter_map(|tunnel| tunnel(payload))
        .filter_map(|(ethertype, header_bytes)| behind(ethertype, frame, at + header_bytes, end))
        .find(|layer| layer.end_at == end)
}

/// VXLAN (RFC 7348), and its generic protocol extension.
fn vxlan(payload: &[u8]) -> Option<(u16, usize)> {
    const HAS_IDENTIFIER: u8 = 0x08;
    const HAS_PROTOCOL: u8 = 0x04;
    let (&flags, &protocol) = (payload.first()?, payload.get(3)?);
    let ethertype = match protocol {
        1 if flags & HAS_PROTOCOL != 0 => ETHERTYPE_IPV4,
        2 if flags & HAS_PROTOCOL != 0 => ETHERTYPE_IPV6,
        _ => ETHERTYPE_BRIDGED,
    };
    (flags & HAS_IDENTIFIER != 0).then_some((ethertype, 8))
}

/// GENEVE (RFC 8926).
fn geneve(payload: &[u8]) -> Option<(u16, usize)> {
    let first = *payload.first()?;
    let options_bytes = usize::from(first & 0x3f) * 4;
    (first >> 6 == 0).then_some((u16_at(payload, 2)?, 8 + options_bytes))
}

/// GTP-U (3GPP TS 29.281).
fn gtp(payload: &[u8]) -> Option<(u16, usize)> {
    const VERSION_1: u8 = 0x30;
    const USER_DATA: u8 = 0xff;
    const HAS_EXTENSION: u8 = 4;
    let (flags, kind) = (*payload.first()?, *payload.get(1)?);
    if flags & 0xf0 != VERSION_1 || kind != USER_DATA {
        return None;
    }
    let mut at = if flags & 7 == 0 { 8 } else { 12 };
    if flags & HAS_EXTENSION != 0 {
        // The last byte of each extension is the type of the next, and its first one its words.
        while *payload.get(at - 1)? != 0 {
            at += usize::from(*payload.get(at)?).max(1) * 4;
        }
    }
    Some((ip_ethertype(payload, at)?, at))
}

/// Generic UDP encapsulation, version 0.
fn gue(payload: &[u8]) -> Option<(u16, usize)> {
    let (first, protocol) = (*payload.first()?, *payload.get(1)?);
    let header_bytes = 4 + usize::from(first & 0x1f) * 4;
    let is_data = first >> 5 == 0 && [PROTOCOL_IPV4, PROTOCOL_IPV6].contains(&protocol);
    Some((ip_ethertype(payload, header_bytes)?, header_bytes)).filter(|_| is_data)
}

/// IP directly in UDP: foo over UDP, or generic UDP encapsulation of version 1.
fn bare_ip(payload: &[u8]) -> Option<(u16, usize)> {
    Some((ip_ethertype(payload, 0)?, 0))
}

fn ip_ethertype(payload: &[u8], at: usize) -> Option<u16> {
    match payload.get(at)? >> 4 {
        4 => Some(ETHERTYPE_IPV4),
        6 => Some(ETHERTYPE_IPV6),
        _ => None,
    }
}

/// Returns the packet behind an EtherType, whose payload starts at `at`.
fn behind(ethertype: u16, frame: &[u8], at: usize, end: usize) -> Option<Layer> {
    if ethertype == ETHERTYPE_BRIDGED {
        return ethernet(frame, at, end);
    }
    let at = at + ip_offset(ethertype, frame.get(at..end)?)?;
    ip(frame, at, end, frame[at] >> 4)
}

fn ethernet(frame: &[u8], at: usize, end: usize) -> Option<Layer> {
    match u16_at(frame, at + 12)? {
        ETHERTYPE_BRIDGED => None,
        ethertype => behind(ethertype, frame, at + 14, end),
    }
}

fn ip(frame: &[u8], at: usize, end: usize, version: u8) -> Option<Layer> {
    let packet = frame.get(at..end)?;
    let is_v6 = version == 6;
    if packet.first()? >> 4 != version {
        return None;
    }
    let bytes = match is_v6 {
        true => usize::from(u16_at(packet, 4)?) + IPV6_BYTES,
        false => usize::from(u16_at(packet, 2)?),
    };
    let packet = packet.get(..bytes)?;
    let (protocol, header_bytes) = if is_v6 {
        ipv6(packet, &IPV6_EXTENSIONS)
    } else {
        ipv4(packet)
    }?;
    (header_bytes <= bytes).then_some(Layer {
        is_v6,
        network_at: at,
        protocol,
        transport_at: at + header_bytes,
        end_at: at + bytes,
    })
}

/// Returns the protocol and the length of the header; `None` for a fragment.
pub(crate) fn ipv4(packet: &[u8]) -> Option<(u8, usize)> {
    let header = packet.get(..IPV4_BYTES)?;
    let header_bytes = usize::from(header[0] & 0xf) * 4;
    let is_fragment = u16_at(header, 6)? & 0x3fff != 0;
    (header_bytes >= IPV4_BYTES && !is_fragment).then_some((header[9], header_bytes))
}

/// Returns the protocol behind those `extensions` that the packet has, and the length of the
/// headers.
pub(crate) fn ipv6(packet: &[u8], extensions: &[u8]) -> Option<(u8, usize)> {
    let (mut next, mut at) = (*packet.get(6)?, IPV6_BYTES);
    while extensions.contains(&next) {
        let extension = packet.get(at..at + 2)?;
        next = extension[0];
        at += (usize::from(extension[1]) + 1) * 8;
    }
    Some((next, at))
}

/// Returns `true` if the GRE header at the start of `segment` has a checksum.
pub(crate) fn has_gre_checksum(segment: &[u8]) -> bool {
    u16_at(segment, 0).is_some_and(|flags| flags & GRE_CHECKSUM != 0)
}

/// Returns the big-endian number at `at`.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
