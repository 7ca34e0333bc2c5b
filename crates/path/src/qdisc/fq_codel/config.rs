//! The configuration of FQ-CoDel.

use super::super::codel_state::CodelConfig;

/// The maximum number of queues for flows.
pub(crate) const MAX_FLOWS: u32 = 65_536;

/// The configuration of FQ-CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCodelConfig {
    /// Packet limit of all flows together, clamped to 1,000,000; 0 drops every packet.
    pub limit_packets: u32,
    /// Number of queues that flows are hashed to, clamped to 1 to 65,536.
    pub flows: u32,
    /// Bytes that each flow may send per turn, at least 1.
    pub quantum_bytes: u32,
    /// Memory limit of all packets together, in bytes.
    pub memory_limit_bytes: u64,
    /// Seed of the flow hash, which decides the flows that share a queue.
    pub seed: u32,
    /// The CoDel parameters of each queue.
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
