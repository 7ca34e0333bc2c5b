//! The settings of `fq_codel`, as text.

use alloc::boxed::Box;

use super::super::codel_parameters::CodelParameters;
use super::super::codel_state::CodelConfig;
use super::super::parameters::{Field, LIMIT_PACKETS, Parameter, QdiscSettings, Range};
use super::super::seam::Qdisc;
use super::FqCodel;
use super::config::{FqCodelConfig, MAX_FLOWS};

const FLOWS: Range = Range::number("flows", 1, MAX_FLOWS as u64);
const SEED: Range = Range::number("as a seed", 0, u32::MAX as u64);

/// At least a small packet: with less, a GSO packet would wait for hundreds of turns.
const QUANTUM_BYTES: Range = Range::size_bytes(256, 1 << 20);

/// At least one GSO packet and its overhead, or nothing could be sent.
const MEMORY_BYTES: Range = Range::size_bytes(128 << 10, 4 << 30);

impl CodelParameters for FqCodelConfig {
    fn codel(&mut self) -> &mut CodelConfig {
        &mut self.codel
    }
}

impl QdiscSettings for FqCodelConfig {
    const NAME: &'static str = "fq_codel";
    const HELP: &'static str = "a queue for each flow, with CoDel on each (RFC 8290)";
    const PARAMETERS: &'static [Parameter<Self>] = &[
        (
            "limit",
            Field::U32(LIMIT_PACKETS, |config| &mut config.limit_packets),
        ),
        ("flows", Field::U32(FLOWS, |config| &mut config.flows)),
        Self::TARGET,
        Self::INTERVAL,
        (
            "quantum",
            Field::U32(QUANTUM_BYTES, |config| &mut config.quantum_bytes),
        ),
        (
            "memory_limit",
            Field::U64(MEMORY_BYTES, |config| &mut config.memory_limit_bytes),
        ),
        Self::ECN,
        Self::NO_ECN,
        Self::CE_THRESHOLD,
        // Not a parameter of `tc`: the kernel draws it at random, and here the same seed must give
        // the same result.
        ("seed", Field::U32(SEED, |config| &mut config.seed)),
    ];

    fn build(self) -> Box<dyn Qdisc + Send> {
        Box::new(FqCodel::new(self))
    }
}
