//! Ethernet, IPv4 and TCP headers for a frame of the model.

use crate::tcp::Ack;
use crate::world::WireFrame;

const ETHERNET_BYTES: usize = 14;
const IP_BYTES: usize = 20;
const TCP_BYTES: usize = 20;
/// Room for options in a TCP header.
const MAX_OPTION_BYTES: usize = 40;

/// Maximum length of the headers, in bytes.
pub const MAX_BYTES: usize = ETHERNET_BYTES + IP_BYTES + TCP_BYTES + MAX_OPTION_BYTES;

/// Window scale: megabytes fit into 16 bits.
const WINDOW_SCALE: u32 = 7;

/// First sequence number: a sequence number is the stream offset plus this.
const FIRST_SEQUENCE: u32 = 1;

/// Above the ports of common programs. One server port serves this many connections.
const FIRST_CLIENT_PORT: u32 = 10_000;
const CLIENT_PORTS: u32 = 50_000;
const FIRST_SERVER_PORT: u32 = 5_001;

const TCP: u8 = 6;

mod flag {
    pub const ACK: u8 = 0x10;
    pub const ECE: u8 = 0x40;
    pub const CWR: u8 = 0x80;
}

mod tcp_option {
    pub const NOTHING: u8 = 1;
    pub const SACK: u8 = 5;
}

/// ECN codepoints of the IP header.
const CAPABLE: u8 = 0b10;
const MARKED: u8 = 0b11;

/// Packets from this priority on have the low-delay type of service.
const LOW_DELAY_PRIORITY: u8 = 6;
const LOW_DELAY: u8 = 0x10;

/// Writes headers sequentially.
struct Put<'a> {
    room: &'a mut [u8; MAX_BYTES],
    at: usize,
}

impl Put<'_> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.room[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    fn byte(&mut self, value: u8) {
        self.bytes(&[value]);
    }

    fn short(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    fn long(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes());
    }
}

/// Writes the headers of a frame of the `row`-th row. Returns them with the length of the whole
/// frame, in bytes. It is longer than on the model's wire only if the SACK blocks exceed the room
/// in its headers.
pub fn write<'a>(frame: &WireFrame, row: u32, room: &'a mut [u8; MAX_BYTES]) -> (&'a [u8], u32) {
    let mut options = [tcp_option::NOTHING; MAX_OPTION_BYTES];
    let option_bytes = sack(&frame.ack, &mut options).max(spare_bytes(frame));
    let ip_payload_bytes = TCP_BYTES + option_bytes + usize::from(frame.payload_bytes);
    let mut put = Put { room, at: 0 };
    ethernet(&mut put, frame);
    ip(&mut put, frame, row, ip_payload_bytes);
    tcp(&mut put, frame, &options[..option_bytes], ip_payload_bytes);
    let Put { room, at } = put;
    let whole_bytes = ETHERNET_BYTES + IP_BYTES + ip_payload_bytes;
    (&room[..at], whole_bytes as u32)
}

/// Returns the room for TCP options in the model's headers.
fn spare_bytes(frame: &WireFrame) -> usize {
    let fixed = ETHERNET_BYTES + IP_BYTES + TCP_BYTES;
    let spare = usize::from(frame.header_bytes).saturating_sub(fixed);
    (spare / 4 * 4).min(MAX_OPTION_BYTES)
}

fn ethernet(put: &mut Put<'_>, frame: &WireFrame) {
    let station = |host: usize| [2, 0, 0, 0, 0, host as u8 + 1];
    put.bytes(&station(1 - frame.from));
    put.bytes(&station(frame.from));
    put.short(0x0800);
}

fn address(row: u32, host: usize) -> [u8; 4] {
    [10, (row >> 8) as u8, row as u8, host as u8 + 1]
}

fn ip(put: &mut Put<'_>, frame: &WireFrame, row: u32, payload_bytes: usize) {
    let start = put.at;
    put.byte(0x45);
    let ecn = match (frame.is_marked, frame.ecn_capable) {
        (true, _) => MARKED,
        (false, true) => CAPABLE,
        (false, false) => 0,
    };
    let service = if frame.priority >= LOW_DELAY_PRIORITY {
        LOW_DELAY
    } else {
        0
    };
    put.byte(service | ecn);
    put.short((IP_BYTES + payload_bytes) as u16);
    // No identification; "don't fragment" is set.
    put.bytes(&[0, 0, 0x40, 0]);
    put.byte(64);
    put.byte(TCP);
    put.short(0);
    put.bytes(&address(row, frame.from));
    put.bytes(&address(row, 1 - frame.from));
    let sum = checksum(0, &put.room[start..put.at]);
    put.room[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
}

fn ports(put: &mut Put<'_>, frame: &WireFrame) {
    let client = (FIRST_CLIENT_PORT + frame.connection % CLIENT_PORTS) as u16;
    let server = (FIRST_SERVER_PORT + frame.connection / CLIENT_PORTS) as u16;
    let (from, to) = match frame.from {
        0 => (client, server),
        _ => (server, client),
    };
    put.short(from);
    put.short(to);
}

/// Writes SACK blocks in absolute numbers. Returns the length of the padded option.
fn sack(ack: &Ack, options: &mut [u8; MAX_OPTION_BYTES]) -> usize {
    if ack.sack.is_empty() {
        return 0;
    }
    // Two leading bytes align the numbers to 32 bits.
    options[2] = tcp_option::SACK;
    let mut at = 4;
    for (start, end) in ack.sacked() {
        options[at..at + 4].copy_from_slice(&sequence(start).to_be_bytes());
        options[at + 4..at + 8].copy_from_slice(&sequence(end).to_be_bytes());
        at += 8;
    }
    options[3] = at as u8 - 2;
    at
}

/// Returns the 32-bit sequence number of a stream offset.
fn sequence(offset: u64) -> u32 {
    (offset as u32).wrapping_add(FIRST_SEQUENCE)
}

fn tcp(put: &mut Put<'_>, frame: &WireFrame, options: &[u8], bytes: usize) {
    let (begin, ack) = (put.at, &frame.ack);
    ports(put, frame);
    put.long(sequence(frame.start));
    put.long(sequence(ack.cumulative));
    put.byte((((TCP_BYTES + options.len()) / 4) << 4) as u8);
    let flag_if = |what: bool, flag: u8| if what { flag } else { 0 };
    put.byte(flag::ACK | flag_if(ack.ece, flag::ECE) | flag_if(frame.cwr, flag::CWR));
    put.short((ack.window_bytes >> WINDOW_SCALE).min(u16::MAX.into()) as u16);
    put.bytes(&[0; 4]);
    put.bytes(options);
    // The payload is zeros, which add nothing. The pseudo-header contains addresses, protocol and
    // length.
    let addresses = &put.room[begin - 8..begin];
    let pseudo = sum(u32::from(TCP) + bytes as u32, addresses);
    let sum = checksum(pseudo, &put.room[begin..put.at]);
    put.room[begin + 16..begin + 18].copy_from_slice(&sum.to_be_bytes());
}

/// Returns the Internet checksum over whole 16-bit words.
fn checksum(before: u32, bytes: &[u8]) -> u16 {
    let mut sum = sum(before, bytes);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn sum(before: u32, bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    words.fold(before, |sum, word| {
        sum + u32::from(u16::from_be_bytes([word[0], word[1]]))
    })
}
