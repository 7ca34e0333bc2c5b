//! One CPU core in virtual time.

/// A core that processes its work in the order of the requests.
#[derive(Debug, Default)]
pub(crate) struct Core {
    busy_until_ns: u64,
    /// Total work in ns, including work that is queued.
    pub(crate) busy_ns: u64,
}

impl Core {
    /// Adds work of `cost_ns`, which starts at `now_ns` or after the queued work. Returns its end,
    /// in ns.
    pub(crate) fn work(&mut self, now_ns: u64, cost_ns: u64) -> u64 {
        self.busy_ns = self.busy_ns.saturating_add(cost_ns);
        self.busy_until_ns = self.busy_until_ns.max(now_ns).saturating_add(cost_ns);
        self.busy_until_ns
    }
}
