//! What the forwarding thread lets others see.

use crate::lab::control::Gauge;

/// One direction.
#[derive(Debug, Default)]
pub struct LaneBoard {
    /// In the limit's units.
    pub limit: Gauge,
    /// Not 0 where one holds.
    pub has_limit: Gauge,
    pub in_flight: Gauge,
    pub waiting_packets: Gauge,
    pub sent_packets: Gauge,
    pub sent_bytes: Gauge,
    pub dropped_packets: Gauge,
}

/// Both directions: from A, and from B.
pub type Board = [LaneBoard; 2];
