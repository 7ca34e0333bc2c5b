//! The hosts' TCP and CoDel: correct, or as they were when the results were published.

use serde::{Deserialize, Serialize};
use taut_path::Qdisc;
use taut_path::qdisc::by_name;
use taut_sim::tcp::TcpConfig;

use super::codel_2012::Codel2012;

/// Implementation of TCP and CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum Kernel {
    /// As the RFCs specify.
    #[serde(rename = "correct")]
    Correct,
    /// With the known defects of spring 2012. The dates of their fixes (July to September 2012) are
    /// not confirmed.
    #[serde(rename = "2012")]
    Of2012,
}

impl Kernel {
    pub fn tcp(self, tcp: TcpConfig, growth_segments: u32) -> TcpConfig {
        TcpConfig {
            receive_aggregation: true,
            growth_segments: Some(growth_segments),
            // A single marked segment waited for a delayed acknowledgement.
            marks_at_once: self == Self::Correct,
            mark_collapses: self == Self::Of2012,
            ..tcp
        }
    }

    /// Returns the discipline of this `tc` syntax, which was validated.
    pub fn discipline(self, spelled: &str, ecn: bool) -> Box<dyn Qdisc + Send> {
        match self {
            Self::Correct => by_name(spelled).expect("the settings were validated"),
            Self::Of2012 => Box::new(Codel2012::new(ecn)),
        }
    }
}
