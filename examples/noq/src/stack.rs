//! The part of the program that differs in quinn.

pub use noq::congestion::Bbr3Config as Bbr;
use noq::{Connection, PathId};

pub const NAME: &str = "noq";

pub fn lost_datagrams(connection: &Connection) -> u64 {
    connection.stats().lost_packets
}

pub fn window_bytes(connection: &Connection) -> Option<u64> {
    connection.path_stats(PathId::ZERO).map(|it| it.cwnd)
}
