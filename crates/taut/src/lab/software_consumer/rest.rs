//! When threads at real-time priority stand still, so that nobody takes a processor from them while they are measured.
//!
//! Where real-time threads keep a processor busy, the kernel gives it to ordinary ones for 50 ms (`fair_server`; before
//! Linux 6.12 `kernel.sched_rt_runtime_us`) when those were kept from it for 950 ms, counted from when they last had
//! 50 ms of it. With an idle processor for 60 ms before, no stretch of 850 ms was broken, also beside busy loops.

use std::time::Duration;

/// The kernel's period.
const PERIOD_NS: u64 = 1_000_000_000;
/// Of each period so much is for work: 100 ms below what the kernel allows.
const BUSY_NS: u64 = 850_000_000;

/// What lies between a rest and what is measured at least: the queue begins empty there.
const AFTER_REST_NS: u64 = 50_000_000;
/// A measured time that has no rest in it is no longer than this.
pub const MOST_MEASURED_NS: u64 = BUSY_NS - AFTER_REST_NS;

/// Before a run: longer than what ordinary threads are given.
pub const BEFORE: Duration = Duration::from_millis(100);

/// Until when a sender rests at `now_ns` that ends at `end_ns`, in ns; `None` if it does not. The rests are counted back
/// from the end: the last stretch is a whole one. What is still in the ring is finished in the beginning of a rest.
pub fn rest_until(now_ns: u64, end_ns: u64) -> Option<u64> {
    let left_ns = end_ns.saturating_sub(now_ns);
    let of_period_ns = left_ns % PERIOD_NS;
    (of_period_ns > BUSY_NS).then(|| now_ns + (of_period_ns - BUSY_NS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_is_before_each_whole_stretch_and_never_in_what_is_measured() {
        let end_ns = 10 * PERIOD_NS;
        let rest = |before_end_ns: u64| rest_until(end_ns - before_end_ns, end_ns);
        assert_eq!(rest(0), None);
        assert_eq!(rest(MOST_MEASURED_NS), None);
        assert_eq!(rest(BUSY_NS), None);
        assert_eq!(rest(BUSY_NS + 1), Some(end_ns - BUSY_NS));
        assert_eq!(rest(PERIOD_NS - 1), Some(end_ns - BUSY_NS));
        assert_eq!(rest(PERIOD_NS), None);
        assert_eq!(
            rest(PERIOD_NS + BUSY_NS + 5),
            Some(end_ns - PERIOD_NS - BUSY_NS)
        );
        assert_eq!(rest_until(end_ns + 1, end_ns), None);
    }
}
