//! What holds the queue back in a run.

use std::fmt;

use taut_scenarios::software_consumer::LimitName;

use super::options::SoftwareConsumer;

/// Fixed limits that are tried, in packets, below the ring: no two are more than a half apart.
const DEPTHS: [u32; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192];

/// What holds the queue back in a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Hold {
    /// A limit by its name.
    Rule(LimitName),
    /// A fixed limit in packets, to find the least.
    Depth(u32),
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(name) => name.fmt(f),
            Self::Depth(packets) => write!(f, "fixed {packets}"),
        }
    }
}

impl Hold {
    /// Whether it is what it is from the start: it learns nothing.
    pub fn is_fixed(&self) -> bool {
        match self {
            Self::Rule(LimitName::Rule { limit, .. }) => limit.is_off(),
            Self::Rule(LimitName::Fixed(_)) | Self::Depth(_) => true,
        }
    }

    /// Everything that must be run for the rows of `options`: no limit first, which all are compared with.
    pub fn all(options: &SoftwareConsumer) -> Vec<Self> {
        let off = LimitName::Rule {
            limit: taut_path::AnyLimit::off(),
            min_packets: None,
        };
        let is_fixed = |limit: &&LimitName| matches!(limit, LimitName::Fixed(_));
        let rules = options
            .limits
            .iter()
            .filter(|limit| !is_fixed(limit) && **limit != off);
        let mut holds = vec![Self::Rule(off.clone())];
        holds.extend(rules.cloned().map(Self::Rule));
        if options.limits.iter().any(|limit| is_fixed(&limit)) {
            let depths = DEPTHS.iter().filter(|&&depth| depth < options.ring);
            holds.extend(depths.copied().map(Self::Depth));
        }
        holds
    }
}
