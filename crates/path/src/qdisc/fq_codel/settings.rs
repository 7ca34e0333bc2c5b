//! The settings of `fq_codel`, as text.

use alloc::boxed::Box;

use super::super::codel_parameters::CodelParameters;
use super::super::codel_state::CodelConfig;
use super::super::parameters::{LIMIT_PACKETS, Parameter, QdiscSettings, Range};
use super::super::seam::Qdisc;
use super::FqCodel;
use super::config::{FqCodelConfig, MAX_FLOWS};

/// At least a small packet: with less, a GSO packet would wait for hundreds of turns.
const QUANTUM_BYTES: Range = Range::size_bytes(256, 1 << 20);

/// At least one GSO packet and its overhead, or nothing could be sent.
const MEMORY_BYTES: Range = Range::size_bytes(128 << 10, 4 << 30);

#[derive(Default)]
pub(crate) struct FqCodelSettings(FqCodelConfig);

impl CodelParameters for FqCodelSettings {
    fn codel(&mut self) -> &mut CodelConfig {
        &mut self.0.codel
    }

    fn codel_ref(&self) -> &CodelConfig {
        &self.0.codel
    }
}

impl QdiscSettings for FqCodelSettings {
    const NAME: &'static str = "fq_codel";
    const HELP: &'static str = "a queue for each flow, with CoDel on each (RFC 8290)";
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
        // Not a parameter of `tc`: the kernel draws it at random, and here the same seed must give
        // the same result.
        Parameter::value(
            "seed",
            Range::number("as a seed", 0, u32::MAX as u64),
            |settings| Some(settings.0.seed.into()).filter(|&seed| seed > 0),
            |settings, seed| settings.0.seed = seed as u32,
        ),
    ];

    fn build(self) -> Box<dyn Qdisc + Send> {
        Box::new(FqCodel::new(self.0))
    }
}
