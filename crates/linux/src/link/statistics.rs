//! A link's counters.

use super::message::u64_at;

/// Counters of a link since it was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Received packets with errors.
    pub rx_errors: u64,
    /// Packets that could not be sent.
    pub tx_errors: u64,
    /// Packets received and dropped.
    pub rx_dropped: u64,
    /// Packets dropped by the device before they were sent; disciplines have their own counters.
    pub tx_dropped: u64,
}

impl LinkStatistics {
    /// Reads `struct rtnl_link_stats64`, whose first eight fields these are.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let field = |position: usize| u64_at(bytes, position * 8);
        Some(Self {
            rx_packets: field(0)?,
            tx_packets: field(1)?,
            rx_bytes: field(2)?,
            tx_bytes: field(3)?,
            rx_errors: field(4)?,
            tx_errors: field(5)?,
            rx_dropped: field(6)?,
            tx_dropped: field(7)?,
        })
    }
}
