//! What `fq_codel` can be told.

use alloc::boxed::Box;

use super::super::codel_parameters::CodelParameters;
use super::super::codel_state::CodelConfig;
use super::super::table::Make;
use super::super::tokens::{Parameter, Range, Settings};
use super::super::{LIMIT_PACKETS, Qdisc};
use super::FqCodel;

/// The most flows that can be told apart.
pub const MAX_FLOWS: u32 = 65_536;

/// What FQ-CoDel is told.
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
    /// What RFC 8290 and `tc` choose.
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

/// At least a small packet: with less, a super-packet would wait for hundreds of turns.
const QUANTUM_BYTES: Range = Range::size_bytes(256, 1 << 20);

/// At least one super-packet and its bookkeeping, or nothing could be sent.
const MEMORY_BYTES: Range = Range::size_bytes(128 << 10, 4 << 30);

#[derive(Default)]
pub struct FqCodelSettings(FqCodelConfig);

impl CodelParameters for FqCodelSettings {
    fn codel(&mut self) -> &mut CodelConfig {
        &mut self.0.codel
    }

    fn codel_ref(&self) -> &CodelConfig {
        &self.0.codel
    }
}

impl Settings for FqCodelSettings {
    const NAME: &'static str = "fq_codel";
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::value(
            "limit",
            LIMIT_PACKETS,
            |settings| Some(settings.0.limit_packets.into()),
            |settings, packets| settings.0.limit_packets = packets as u32,
        ),
        Parameter::value(
            "flows",
            Range::number("flows", 1, MAX_FLOWS as u64),
            |settings| Some(settings.0.flows.into()),
            |settings, flows| settings.0.flows = flows as u32,
        ),
        Self::TARGET,
        Self::INTERVAL,
        Parameter::value(
            "quantum",
            QUANTUM_BYTES,
            |settings| Some(settings.0.quantum_bytes.into()),
            |settings, bytes| settings.0.quantum_bytes = bytes as u32,
        ),
        Parameter::value(
            "memory_limit",
            MEMORY_BYTES,
            |settings| Some(settings.0.memory_limit_bytes),
            |settings, bytes| settings.0.memory_limit_bytes = bytes,
        ),
        Self::ECN,
        Self::NO_ECN,
        Self::CE_THRESHOLD,
        // Not a parameter of `tc`: the kernel draws it at random, and here the same seed must give the
        // same result.
        Parameter::value(
            "seed",
            Range::number("as a seed", 0, u32::MAX as u64),
            |settings| Some(settings.0.seed.into()).filter(|&seed| seed > 0),
            |settings, seed| settings.0.seed = seed as u32,
        ),
    ];
}

impl Make for FqCodelSettings {
    fn make(self) -> Box<dyn Qdisc + Send> {
        Box::new(FqCodel::new(self.0))
    }
}
