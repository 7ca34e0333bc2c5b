//! State shared by the queues of a device.

use super::rule::SharedRule;
use super::waiters::Waiters;

/// The room and the rule of a budget.
pub(super) struct Device {
    pub(super) waiters: Waiters,
    pub(super) rule: SharedRule,
}
