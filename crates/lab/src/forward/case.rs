//! The forwarders of the rows.

use std::fmt;

use taut_path::AnyLimit;
use taut_path::units::Rate;

use super::config::Forward;

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct ForwardCase {
    pub forwarder: Forwarder,
    /// Rate of the slow link.
    pub rate: Rate,
}

/// The forwarder between the two links.
#[derive(Debug, Clone, PartialEq)]
pub enum Forwarder {
    /// The kernel's bridge, and its discipline behind the shaper.
    Kernel,
    /// `taut forward`.
    Taut {
        qdisc: &'static str,
        limit: AnyLimit,
    },
}

/// The discipline of the kernel behind the shaper.
const KERNEL_QDISC: &str = "pfifo_fast";
/// One queue with the capacity of the kernel's queue.
const ONE_FIFO: &str = "pfifo limit 1000";
const FAIR: &str = "fq_codel ecn";

impl Forwarder {
    /// Returns the kernel, and `taut forward` with each of its parts and with both.
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

    /// Returns the limit, or `none` for the kernel.
    pub fn limit(&self) -> String {
        match self {
            Self::Kernel => "none".to_owned(),
            Self::Taut { limit, .. } => limit.to_string(),
        }
    }
}

/// The name in progress lines and legends.
impl fmt::Display for ForwardCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { forwarder, rate } = self;
        match forwarder {
            Forwarder::Kernel => write!(f, "{rate}, the kernel's bridge"),
            Forwarder::Taut { qdisc, limit } => write!(f, "{rate}, taut, {qdisc}, limit {limit}"),
        }
    }
}

/// Returns the rows, grouped by rate.
pub fn cases(experiment: &Forward) -> Vec<ForwardCase> {
    let of_rate = |&rate| {
        let forwarders = Forwarder::all().into_iter();
        forwarders.map(move |forwarder| ForwardCase { forwarder, rate })
    };
    experiment.rates.iter().flat_map(of_rate).collect()
}
