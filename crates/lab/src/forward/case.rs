//! Who forwards, and how.

use std::fmt;

use taut_path::AnyLimit;
use taut_path::units::Rate;

use super::config::Forward;

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct ForwardCase {
    pub forwarder: Forwarder,
    /// Of the slow side.
    pub rate: Rate,
}

/// What joins the two links.
#[derive(Debug, Clone, PartialEq)]
pub enum Forwarder {
    /// The kernel's bridge, and its discipline behind the shaper.
    Kernel,
    /// Ours.
    Taut {
        qdisc: &'static str,
        limit: AnyLimit,
    },
}

/// What waits in the kernel behind the shaper.
const KERNEL_QDISC: &str = "pfifo_fast";
/// As many packets as the kernel's queue holds, in one queue.
const ONE_FIFO: &str = "pfifo limit 1000";
const FAIR: &str = "fq_codel ecn";

impl Forwarder {
    /// Each thing that ours adds, alone and together.
    pub fn all() -> Vec<Self> {
        let ours = |qdisc, limit| Self::Taut { qdisc, limit };
        vec![
            Self::Kernel,
            ours(FAIR, AnyLimit::off()),
            ours(ONE_FIFO, AnyLimit::dql()),
            ours(FAIR, AnyLimit::dql()),
            ours(FAIR, AnyLimit::taut()),
        ]
    }

    pub const fn name(&self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Taut { .. } => "taut",
        }
    }

    pub const fn qdisc(&self) -> &'static str {
        match self {
            Self::Kernel => KERNEL_QDISC,
            Self::Taut { qdisc, .. } => qdisc,
        }
    }

    /// `none` where no rule of ours is.
    pub fn limit(&self) -> String {
        match self {
            Self::Kernel => "none".to_owned(),
            Self::Taut { limit, .. } => limit.to_string(),
        }
    }
}

/// As a line of progress and a legend have it.
impl fmt::Display for ForwardCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { forwarder, rate } = self;
        match forwarder {
            Forwarder::Kernel => write!(f, "{rate}, the kernel's bridge"),
            Forwarder::Taut { qdisc, limit } => write!(f, "{rate}, taut, {qdisc}, limit {limit}"),
        }
    }
}

/// The rows. Those of a rate are neighbours.
pub fn cases(experiment: &Forward) -> Vec<ForwardCase> {
    let of_rate = |rate| {
        let forwarders = Forwarder::all().into_iter();
        forwarders.map(move |forwarder| ForwardCase { forwarder, rate })
    };
    experiment.rates().into_iter().flat_map(of_rate).collect()
}
