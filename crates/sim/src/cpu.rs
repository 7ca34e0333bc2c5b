//! One core in virtual time.

/// One core: what it is asked to do, it does in the order of asking.
#[derive(Debug, Default)]
pub(crate) struct Core {
    busy_until_ns: u64,
    /// How long it worked, or will have when it is done with what it was asked.
    pub(crate) busy_ns: u64,
}

impl Core {
    /// Works for `cost_ns`, from `now_ns` or when it is done with the rest; says when it is done.
    pub(crate) fn work(&mut self, now_ns: u64, cost_ns: u64) -> u64 {
        self.busy_ns = self.busy_ns.saturating_add(cost_ns);
        self.busy_until_ns = self.busy_until_ns.max(now_ns).saturating_add(cost_ns);
        self.busy_until_ns
    }
}
