//! The part of the program that differs in noq.

use quinn::Connection;
pub use quinn::congestion::BbrConfig as Bbr;

pub const NAME: &str = "quinn";

pub fn lost_datagrams(connection: &Connection) -> u64 {
    connection.stats().path.lost_packets
}

pub fn window_bytes(connection: &Connection) -> Option<u64> {
    Some(connection.stats().path.cwnd)
}
