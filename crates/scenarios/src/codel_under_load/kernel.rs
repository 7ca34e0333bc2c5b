//! What the hosts run: TCP and CoDel as they should be, or as they were when the figures were
//! published.

use serde::{Deserialize, Serialize};
use taut_path::Qdisc;
use taut_path::qdisc::by_name;
use taut_sim::tcp::TcpConfig;

use super::codel_2012::Codel2012;

/// Whose TCP and CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum Kernel {
    /// As the RFCs have it.
    #[serde(rename = "correct")]
    Correct,
    /// With the defects of the spring of 2012, as far as they are known; the dates of their mending
    /// (July to September 2012) are not confirmed.
    #[serde(rename = "2012")]
    Of2012,
}

impl Kernel {
    pub fn tcp(self, tcp: TcpConfig, growth_segments: u32) -> TcpConfig {
        TcpConfig {
            receive_aggregation: true,
            growth_segments: Some(growth_segments),
            // A lone segment with a mark waited for a delayed acknowledgement.
            marks_at_once: self == Self::Correct,
            mark_collapses: self == Self::Of2012,
            ..tcp
        }
    }

    /// The discipline that is spelled so; the settings were looked at.
    pub fn discipline(self, spelled: &str, ecn: bool) -> Box<dyn Qdisc + Send> {
        match self {
            Self::Correct => by_name(spelled).expect("the settings were looked at"),
            Self::Of2012 => Box::new(Codel2012::new(ecn)),
        }
    }
}
