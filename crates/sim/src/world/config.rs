//! The settings of a world.

use taut_path::LateSegmentation;

use crate::nic::NicConfig;

/// Settings of the hosts and the link, the same on both sides. Hosts take no time.
#[derive(Debug, Clone, Copy)]
pub struct WorldConfig {
    /// Link rate, ring, interrupts.
    pub nic: NicConfig,
    /// Free slots at which a queue that stopped at a full ring restarts; the NIC's own value if
    /// `None`.
    pub restart_slots: Option<u32>,
    /// Propagation delay of the link in one direction, in ns.
    pub delay_ns: u64,
    /// Transactions that end before this time are not recorded, in ns.
    pub record_from_ns: u64,
    /// Late segmentation of GSO packets.
    pub late_segmentation: LateSegmentation,
}
