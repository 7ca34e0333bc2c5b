//! Ethernet, IPv4 and TCP headers for a frame of the model.

use etherparse::{EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader};

use crate::tcp::Ack;
use crate::world::WireFrame;

/// Room for options in a TCP header.
const MAX_OPTION_BYTES: usize = 40;
const FIXED_BYTES: usize = Ethernet2Header::LEN + Ipv4Header::MIN_LEN + TcpHeader::MIN_LEN;

/// Maximum length of the headers, in bytes.
pub const MAX_BYTES: usize = FIXED_BYTES + MAX_OPTION_BYTES;

/// Window scale: megabytes fit into 16 bits.
const WINDOW_SCALE: u32 = 7;

/// First sequence number: a sequence number is the stream offset plus this.
const FIRST_SEQUENCE: u32 = 1;

/// Above the ports of common programs. One server port serves this many connections.
const FIRST_CLIENT_PORT: u32 = 10_000;
const CLIENT_PORTS: u32 = 50_000;
const FIRST_SERVER_PORT: u32 = 5_001;

/// Codes of TCP options.
const NO_OPERATION: u8 = 1;
const SACK: u8 = 5;

/// Packets from this priority on have the low-delay type of service.
const LOW_DELAY_PRIORITY: u8 = 6;
const LOW_DELAY: u8 = 0x10;

/// The payload is zeros.
static PAYLOAD: [u8; 1 << 16] = [0; 1 << 16];

/// Returns the headers of a frame of the `row`-th row, and the length of the whole frame, in bytes.
/// It is longer than on the model's wire only if the SACK blocks exceed the room in its headers.
pub fn headers(frame: &WireFrame, row: u32) -> (Vec<u8>, u32) {
    let payload = &PAYLOAD[..frame.payload_bytes.into()];
    let station = |host: usize| [2, 0, 0, 0, 0, host as u8 + 1];
    let ethernet = Ethernet2Header {
        source: station(frame.from),
        destination: station(1 - frame.from),
        ether_type: EtherType::IPV4,
    };
    let mut tcp = tcp(frame);
    let mut ip = ip(frame, row, tcp.header_len() + payload.len());
    ip.header_checksum = ip.calc_header_checksum();
    // Fails only for a payload that no IP packet holds.
    tcp.checksum = tcp.calc_checksum_ipv4(&ip, payload).unwrap_or(0);
    let headers = [&ethernet.to_bytes()[..], &ip.to_bytes(), &tcp.to_bytes()].concat();
    let whole_bytes = (headers.len() + payload.len()) as u32;
    (headers, whole_bytes)
}

fn ip(frame: &WireFrame, row: u32, payload_bytes: usize) -> Ipv4Header {
    let service = match frame.priority {
        LOW_DELAY_PRIORITY.. => LOW_DELAY,
        _ => 0,
    };
    let address = |host: usize| [10, (row >> 8) as u8, row as u8, host as u8 + 1];
    Ipv4Header {
        dscp: IpDscp::try_new(service >> 2).unwrap_or_default(),
        ecn: match (frame.is_marked, frame.ecn_capable) {
            (true, _) => IpEcn::CongestionExperienced,
            (false, true) => IpEcn::Ect0,
            (false, false) => IpEcn::NotEct,
        },
        total_len: (Ipv4Header::MIN_LEN + payload_bytes) as u16,
        time_to_live: 64,
        protocol: IpNumber::TCP,
        source: address(frame.from),
        destination: address(1 - frame.from),
        ..Ipv4Header::default()
    }
}

fn tcp(frame: &WireFrame) -> TcpHeader {
    let client = (FIRST_CLIENT_PORT + frame.connection % CLIENT_PORTS) as u16;
    let server = (FIRST_SERVER_PORT + frame.connection / CLIENT_PORTS) as u16;
    let (source_port, destination_port) = match frame.from {
        0 => (client, server),
        _ => (server, client),
    };
    let ack = &frame.ack;
    let mut tcp = TcpHeader {
        source_port,
        destination_port,
        sequence_number: sequence(frame.start),
        acknowledgment_number: sequence(ack.cumulative),
        ack: true,
        ece: ack.ece,
        cwr: frame.cwr,
        window_size: (ack.window_bytes >> WINDOW_SCALE).min(u16::MAX.into()) as u16,
        ..TcpHeader::default()
    };
    let mut options = sack(ack);
    options.resize(options.len().max(spare_bytes(frame)), NO_OPERATION);
    // Cannot fail: there are at most 40 bytes of options, in whole words.
    let _ = tcp.set_options_raw(&options);
    tcp
}

/// Returns the room for TCP options in the model's headers.
fn spare_bytes(frame: &WireFrame) -> usize {
    let spare = usize::from(frame.header_bytes).saturating_sub(FIXED_BYTES);
    (spare / 4 * 4).min(MAX_OPTION_BYTES)
}

/// Returns the padded option with the SACK blocks in absolute numbers, if there are any.
fn sack(ack: &Ack) -> Vec<u8> {
    if ack.sack.is_empty() {
        return Vec::new();
    }
    let option_bytes = 2 + 8 * ack.sack.len() as u8;
    // Two leading bytes align the numbers to 32 bits.
    let mut options = vec![NO_OPERATION, NO_OPERATION, SACK, option_bytes];
    for (start, end) in ack.sacked() {
        options.extend(sequence(start).to_be_bytes());
        options.extend(sequence(end).to_be_bytes());
    }
    options
}

/// Returns the 32-bit sequence number of a stream offset.
fn sequence(offset: u64) -> u32 {
    (offset as u32).wrapping_add(FIRST_SEQUENCE)
}
