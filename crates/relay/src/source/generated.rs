//! Generated frames: UDP over IPv4, each with its number.

use taut_linux::internet_checksum;
use taut_linux::link::MacAddress;

/// Minimum size: room for the headers and the number, and the minimum frame of Ethernet.
pub const MIN_BYTES: u32 = 60;

const ETHERNET_BYTES: usize = 14;
const IP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// Offset of the frame's number, as 64 bits.
const NUMBER_AT: usize = ETHERNET_BYTES + IP_BYTES + UDP_BYTES;
/// The discard port.
const DESTINATION_PORT: u16 = 9;
/// The first source port of the flows.
const FIRST_PORT: u16 = 10_000;
/// Addresses reserved for benchmarks (RFC 2544).
const ADDRESSES: [u8; 8] = [198, 18, 0, 1, 198, 18, 0, 2];

/// Generates frames.
#[derive(Debug, Clone)]
pub struct Generated {
    frame: Vec<u8>,
    number: u64,
    flows: u32,
}

impl Generated {
    /// Generates frames of `size_bytes` (at least [`MIN_BYTES`]), round-robin over `flows`.
    pub fn new(size_bytes: u32, flows: u32, from: MacAddress, to: MacAddress, seed: u64) -> Self {
        let size = size_bytes.max(MIN_BYTES) as usize;
        let mut frame = vec![0; size];
        frame[..6].copy_from_slice(&to.0);
        frame[6..12].copy_from_slice(&from.0);
        frame[12..14].copy_from_slice(&[8, 0]);
        // Bytes that do not fit into a packet are padding.
        let packet_bytes = (size - ETHERNET_BYTES).min(usize::from(u16::MAX)) as u16;
        let ip = &mut frame[ETHERNET_BYTES..];
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&packet_bytes.to_be_bytes());
        // No fragments, 64 hops, UDP.
        ip[6..10].copy_from_slice(&[0x40, 0, 64, 17]);
        ip[12..20].copy_from_slice(&ADDRESSES);
        let sum = internet_checksum(&ip[..IP_BYTES]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        // No UDP checksum, as IPv4 permits: the number changes in each frame.
        let udp = &mut ip[IP_BYTES..];
        udp[2..4].copy_from_slice(&DESTINATION_PORT.to_be_bytes());
        let udp_bytes = packet_bytes - IP_BYTES as u16;
        udp[4..6].copy_from_slice(&udp_bytes.to_be_bytes());
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        udp[UDP_BYTES + 8..].fill_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        });
        Self {
            frame,
            number: 0,
            flows: flows.max(1),
        }
    }

    pub fn next_frame(&mut self) -> &[u8] {
        let flow = (self.number % u64::from(self.flows)) as u16;
        let port = FIRST_PORT.wrapping_add(flow).to_be_bytes();
        self.frame[ETHERNET_BYTES + IP_BYTES..][..2].copy_from_slice(&port);
        self.frame[NUMBER_AT..][..8].copy_from_slice(&self.number.to_be_bytes());
        self.number += 1;
        &self.frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_path::classify::classify;

    #[test]
    fn generated_frames_are_valid_and_numbered() {
        for size in [60, 61, 1_514, 65_549, 70_000] {
            let macs = [MacAddress::local(1), MacAddress::local(2)];
            let mut generated = Generated::new(size, 3, macs[0], macs[1], 1);
            let mut flows = std::collections::BTreeSet::new();
            for number in 0..12_u64 {
                let frame = generated.next_frame();
                assert_eq!(frame.len(), size as usize);
                assert_eq!(frame[NUMBER_AT..][..8], number.to_be_bytes());
                assert_eq!(internet_checksum(&frame[ETHERNET_BYTES..][..IP_BYTES]), 0);
                flows.insert(classify(frame).flow);
            }
            assert_eq!(flows.len(), 3);
        }
    }
}
