//! Released packets, and their match with datagrams.

use std::collections::VecDeque;

/// What a further packet in a datagram adds to its own length. WireGuard adds up to 47 bytes to a
/// packet, and the shortest packets have 28: the remainder must not pass for another packet.
const FURTHER_BYTES: u32 = 20;

/// A packet that was released and not yet sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Released {
    /// Its bytes that no datagram has carried yet.
    pub(crate) inner_bytes: u32,
    pub(crate) units: u32,
    pub(crate) at_ns: u64,
}

/// Removes the packets that a datagram of `payload_bytes` carries. Encapsulation adds bytes, so the
/// first packet is not longer than the datagram. Returns their units and their number.
pub(crate) fn take_packets(packets: &mut VecDeque<Released>, payload_bytes: u32) -> (u32, u64) {
    let (mut left, mut units, mut count, mut further_bytes) = (payload_bytes, 0, 0, 0);
    while let Some(front) = packets.front_mut() {
        let needed = front.inner_bytes.saturating_add(further_bytes);
        if needed > left {
            if count == 0 {
                front.inner_bytes -= left; // A fragment of it.
            }
            break;
        }
        left -= needed;
        further_bytes = FURTHER_BYTES;
        units += front.units;
        count += 1;
        packets.pop_front();
    }
    (units, count)
}
