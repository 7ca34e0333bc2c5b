//! The rows of the scenario.

use super::kernel::Kernel;
use crate::on_off::on_off;

/// A row.
pub struct CodelUnderLoadCase {
    pub(super) kernel: Kernel,
    pub(super) discipline: String,
    pub(super) limited: bool,
    pub(super) ecn: bool,
}

impl CodelUnderLoadCase {
    pub(super) fn signal(&self) -> &'static str {
        if self.ecn { "marks" } else { "drops" }
    }

    pub(super) fn name(&self) -> String {
        let (limit, signal) = (on_off(self.limited), self.signal());
        let of = match self.kernel {
            Kernel::Correct => "",
            Kernel::Of2012 => " of 2012",
        };
        format!("{}{of}, limit {limit}, {signal}", self.discipline)
    }
}
