//! How a world is made.

use super::worker::HostCost;
use crate::nic::NicConfig;

/// How the hosts and the link are made. The same on both sides.
#[derive(Debug, Clone, Copy)]
pub struct WorldConfig {
    /// Link rate, ring, interrupts.
    pub nic: NicConfig,
    /// Free slots at which a queue that stopped for a full ring starts again; the NIC's own if
    /// `None`.
    pub restart_slots: Option<u32>,
    /// Time that a bit takes from one end of the link to the other, in ns.
    pub delay_ns: u64,
    /// What things cost the hosts.
    pub cost: HostCost,
    /// Transactions that end before this do not count, in ns.
    pub record_from_ns: u64,
}
