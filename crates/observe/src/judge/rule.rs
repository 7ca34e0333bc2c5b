//! One rule.

use super::evidence::Evidence;
use super::finding::Finding;

/// One thing that can be wrong.
#[derive(Debug)]
pub struct Rule {
    /// Its name, as `--explain` takes it.
    pub name: &'static str,
    /// What it looks for, in one line.
    pub help: &'static str,
    /// When it reports something.
    pub threshold: &'static str,
    /// Where the threshold comes from.
    pub source: &'static str,
    /// Why that is a problem.
    pub why: &'static str,
    /// What to do; `DEV` stands for the device.
    pub advice: &'static str,
    /// Returns the finding; `None` if the rule does not apply to the queue or device.
    pub judge: fn(&Evidence) -> Option<Finding>,
}
