//! The settings of a world.

use crate::nic::NicConfig;

/// The hosts and the link, the same on both sides. Hosts take no time.
#[derive(Debug, Clone, Copy)]
pub struct WorldConfig {
    /// Link rate, ring, interrupts.
    pub nic: NicConfig,
    /// Free slots at which a queue that stopped for a full ring restarts; the NIC's own if `None`.
    pub restart_slots: Option<u32>,
    /// Time of a bit from one end of the link to the other, in ns.
    pub delay_ns: u64,
    /// Transactions that end before this are not recorded, in ns.
    pub record_from_ns: u64,
}
