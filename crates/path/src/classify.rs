//! What the headers of an Ethernet frame say about its priority and its flow.

/// Priority of each type of service, in steps of 4: the table of tc-prio(8), without the lowest two
/// bits, which belong to ECN since RFC 3168.
const PRIORITY_OF_TOS: [u8; 8] = [0, 0, 2, 2, 6, 6, 4, 4];

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_VLAN: u16 = 0x8100;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameClass {
    /// Priority 0..=15, from the type of service; 0 (best effort) for what is not IP.
    pub priority: u8,
    /// Hash of addresses, protocol and ports, 0 for what is not IP. Fragments carry no ports, so
    /// all fragments of two hosts are one flow.
    pub flow: u32,
}

/// Reads the headers of an Ethernet frame. Short and strange frames are best effort.
pub fn classify(frame: &[u8]) -> FrameClass {
    parse(frame).unwrap_or_default()
}

fn parse(frame: &[u8]) -> Option<FrameClass> {
    let mut ethertype = u16_at(frame, 12)?;
    let mut network = 14;
    if ethertype == ETHERTYPE_VLAN {
        ethertype = u16_at(frame, 16)?;
        network = 18;
    }
    let packet = frame.get(network..)?;
    match ethertype {
        ETHERTYPE_IPV4 => ipv4(packet),
        ETHERTYPE_IPV6 => ipv6(packet),
        _ => None,
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

/// FNV-1a: short keys, no state, the same on every machine.
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
