//! The forwarders of the rows.

use std::fmt;

use taut_path::AnyLimit;
use taut_path::units::Rate;

use super::config::Forward;

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct ForwardCase {
    /// Rate of the slow link.
    pub rate: Rate,
    /// The discipline of the forwarder; the kernel's is behind the shaper.
    pub qdisc: &'static str,
    /// The limit of `taut forward`; `None` for the kernel's bridge.
    pub limit: Option<AnyLimit>,
}

/// The discipline of the kernel behind the shaper.
const KERNEL_QDISC: &str = "pfifo_fast";
/// One queue with the capacity of the kernel's queue.
const ONE_FIFO: &str = "pfifo limit 1000";
const FAIR: &str = "fq_codel ecn";

impl ForwardCase {
    pub const fn is_kernel(&self) -> bool {
        self.limit.is_none()
    }

    /// Returns the limit, or `none` for the kernel.
    pub fn limit_name(&self) -> String {
        let limit = self.limit.as_ref();
        limit.map_or_else(|| "none".to_owned(), AnyLimit::to_string)
    }
}

/// The name in progress lines and legends.
impl fmt::Display for ForwardCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, qdisc, limit } = self;
        match limit {
            None => write!(f, "{rate}, the kernel's bridge"),
            Some(limit) => write!(f, "{rate}, taut, {qdisc}, limit {limit}"),
        }
    }
}

/// Returns the rows, grouped by rate: the kernel, and `taut forward` with each of its parts and
/// with both.
pub fn cases(experiment: &Forward) -> Vec<ForwardCase> {
    let of_rate = |&rate| {
        let forwarders = [
            (KERNEL_QDISC, None),
            (FAIR, Some(AnyLimit::off())),
            (ONE_FIFO, Some(AnyLimit::dql())),
            (FAIR, Some(AnyLimit::dql())),
            (FAIR, Some(AnyLimit::taut())),
        ];
        forwarders.map(|(qdisc, limit)| ForwardCase { rate, qdisc, limit })
    };
    experiment.rates.iter().flat_map(of_rate).collect()
}
