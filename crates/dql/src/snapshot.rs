/// The state of a limit and its ledger at one moment. Amounts and totals are in units; totals count
/// from the last reset and wrap at 2^32; times are in nanoseconds of the caller's clock.
///
/// For [`Dql`](crate::Dql) the snapshot is exact. For two threads each field is valid, but the set
/// is not atomic: the other thread can continue between two fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The limit of the units in flight.
    pub limit: u32,
    /// The total up to which the sender may queue: limit plus `num_completed`, as of the last
    /// completion or reset.
    pub adj_limit: u32,
    /// Total queued.
    pub num_queued: u32,
    /// Total completed.
    pub num_completed: u32,
    /// `adj_limit` minus `num_queued`: one more object may be queued while it is `>= 0`.
    pub room: i32,
    /// Start of the current hold time.
    pub window_start_ns: u64,
    /// The smallest slack since then; `u32::MAX` without a sample.
    pub lowest_slack: u32,
    /// Units above the limit at the last completion.
    pub prev_over_limit: u32,
    /// `num_queued` as read by the last completion.
    pub prev_num_queued: u32,
    /// `last_object` as read by the last completion.
    pub prev_last_object: u32,
    /// Size of the object queued last, in units.
    pub last_object: u32,
    /// The lower bound of the limit.
    pub min_limit: u32,
    /// The upper bound of the limit.
    pub max_limit: u32,
    /// The hold time, in ns: slack is observed for this time before the limit decreases.
    pub hold_time_ns: u64,
    /// Resets so far, wrapping. It distinguishes objects queued before a reset from those queued
    /// after it.
    pub epoch: u32,
    /// Units queued and not yet completed.
    pub in_flight: u32,
}
