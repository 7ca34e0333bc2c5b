//! Settings of each socket.

use taut_path::AnyLimit;
use taut_udp::Source;

/// The settings of each limited socket.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) limit: AnyLimit,
    /// `None`: the first source that reports completions.
    pub(crate) source: Option<Source>,
    pub(crate) cap_ns: u64,
    pub(crate) send_ns: u64,
}
