/// Everything a queue's estimator knows at one moment. Amounts and totals are in units; totals
/// count from the last reset and wrap at 2^32; times are nanoseconds of the caller's clock.
///
/// Of the owned variant it is exact. Of the two-thread variant each field is true, the set is not
/// atomic: the other thread may have moved on between two fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// How much may be in flight.
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
    /// When the window began in which slack is being observed.
    pub window_start_ns: u64,
    /// The smallest slack seen in the window; `u32::MAX` when there is no sample yet.
    pub lowest_slack: u32,
    /// How much was over the limit at the last completion.
    pub prev_over_limit: u32,
    /// `num_queued` as the last completion saw it.
    pub prev_num_queued: u32,
    /// `last_object` as the last completion saw it.
    pub prev_last_object: u32,
    /// The size of the object queued last.
    pub last_object: u32,
    /// The lower bound of the limit.
    pub min_limit: u32,
    /// The upper bound of the limit.
    pub max_limit: u32,
    /// How long slack is observed before the limit is cut.
    pub hold_time_ns: u64,
    /// How many resets there have been, wrapping.
    pub epoch: u32,
    /// Queued and not yet completed.
    pub in_flight: u32,
}
