//! The configuration of FQ-CoDel.

use super::super::codel_state::CodelConfig;

/// The maximum number of queues for flows.
pub(crate) const MAX_FLOWS: u32 = 65_536;

/// The configuration of FQ-CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCodelConfig {
    /// Packets of all flows together.
    pub limit_packets: u32,
    /// Queues that flows are hashed to, 1 to 65,536; what is outside counts as the nearest.
    pub flows: u32,
    /// Bytes that each flow may send in its turn, at least 1: less would be no turn at all.
    pub quantum_bytes: u32,
    /// Memory that the packets may hold together.
    pub memory_limit_bytes: u64,
    /// Which flows share a queue depends on this.
    pub seed: u32,
    /// What each queue is held to.
    pub codel: CodelConfig,
}

impl Default for FqCodelConfig {
    /// The defaults of RFC 8290 and `tc`.
    fn default() -> Self {
        Self {
            limit_packets: 10_240,
            flows: 1024,
            // A full Ethernet frame without its check sequence.
            quantum_bytes: 1514,
            memory_limit_bytes: 32 << 20,
            seed: 0,
            codel: CodelConfig {
                ecn: true,
                ..CodelConfig::default()
            },
        }
    }
}
