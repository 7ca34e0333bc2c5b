//! Sleeps that end late.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use hdrhistogram::Histogram;
use taut_linux::sched::monotonic_ns;
use taut_measure::meter::histogram_ns;
use taut_scenarios::rr_under_load::Lateness;

/// How late the sleeps of a thread ended.
pub struct Late(Mutex<Histogram<u64>>);

impl Late {
    pub fn new() -> Self {
        Self(Mutex::new(histogram_ns()))
    }

    /// Sleeps so long, and notes how much longer that took.
    pub fn sleep(&self, length_ns: u64) {
        let due_ns = monotonic_ns() + length_ns;
        thread::sleep(Duration::from_nanos(length_ns));
        let late_ns = monotonic_ns().saturating_sub(due_ns);
        self.lock().saturating_record(late_ns);
    }

    /// The distribution.
    pub fn found(&self) -> Lateness {
        Lateness::of(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Histogram<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sleep_is_counted_and_none_ends_early() {
        let late = Late::new();
        (0..3).for_each(|_| late.sleep(1_000));
        assert_eq!(late.lock().len(), 3);
        let found = late.found();
        assert!(
            found.p50 <= found.p99 && found.p99 <= found.max,
            "{found:?}"
        );
    }
}
