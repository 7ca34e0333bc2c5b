//! The frames: an Ethernet header and a stamp, of a protocol for local experiments.

use taut_linux::link::MacAddress;

/// Length of each frame.
pub const BYTES: u32 = 1514;
/// `ETH_P_802_EX1`. A bridge never passes it through the IP stack, where a packet would complete
/// before the shaper sends it (br_netfilter).
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];
/// Position of the stamp, after the header.
const AT: usize = 14;

/// The number of a packet, and the time at which an urgent packet was created, in ns (0 for a bulk
/// packet).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub number: u64,
    pub urgent_ns: u64,
}

/// Returns a frame from the device with address 1 to that with address 2.
pub fn template() -> Vec<u8> {
    let (to, from) = (MacAddress::local(2), MacAddress::local(1));
    let mut frame = [&to.0[..], &from.0, &ETHER_TYPE].concat();
    frame.resize(BYTES as usize, 0);
    frame
}

/// Writes the stamp into a frame.
pub fn write(frame: &mut [u8], stamp: Stamp) {
    frame[AT..AT + 8].copy_from_slice(&stamp.number.to_be_bytes());
    frame[AT + 8..AT + 16].copy_from_slice(&stamp.urgent_ns.to_be_bytes());
}

/// Reads the stamp of a frame; `None` if it is another frame.
pub fn read(frame: &[u8]) -> Option<Stamp> {
    if frame.get(12..AT)? != ETHER_TYPE {
        return None;
    }
    let (number, rest) = frame[AT..].split_first_chunk()?;
    Some(Stamp {
        number: u64::from_be_bytes(*number),
        urgent_ns: u64::from_be_bytes(*rest.first_chunk()?),
    })
}
