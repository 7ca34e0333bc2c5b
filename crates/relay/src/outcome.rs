//! The outcome of a transmission.

use taut_path::driver::CompletionStatus;
use taut_path::limit::Unit;

use crate::account::Account;

/// Packets and bytes up to a point in time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mark {
    pub at_ns: u64,
    pub packets: u64,
    pub bytes: u64,
}

/// The measured part of the time.
#[derive(Debug)]
pub(crate) struct Measured {
    begin_ns: u64,
    end_ns: Option<u64>,
    from: Option<Mark>,
    to: Option<Mark>,
}

impl Measured {
    pub fn new(now_ns: u64, warm_up_ns: u64, duration_ns: Option<u64>) -> Self {
        let begin_ns = now_ns.saturating_add(warm_up_ns);
        Self {
            begin_ns,
            end_ns: duration_ns.map(|duration_ns| begin_ns.saturating_add(duration_ns)),
            from: None,
            to: None,
        }
    }

    pub fn begin_ns(&self) -> u64 {
        self.begin_ns
    }

    /// Returns `true` if the measurement starts now.
    pub fn begins(&mut self, now: Mark) -> bool {
        let begins = self.from.is_none() && now.at_ns >= self.begin_ns;
        if begins {
            self.from = Some(now);
        }
        begins
    }

    pub fn is_over(&self, now_ns: u64) -> bool {
        self.end_ns.is_some_and(|end_ns| now_ns >= end_ns)
    }

    /// Records that the source was stopped; only the first call counts.
    pub fn end(&mut self, mark: Mark) {
        self.to.get_or_insert(mark);
    }

    /// Returns the rate until the source was stopped, or else until the `last` completion.
    pub fn rate(&self, last: Mark) -> Rate {
        let from = self.from.unwrap_or_default();
        let to = self.to.unwrap_or(last);
        let time_ns = to.at_ns.saturating_sub(from.at_ns).max(1);
        let per_second = |number: u64| number as f64 * 1e9 / time_ns as f64;
        Rate {
            packets_per_s: per_second(to.packets.saturating_sub(from.packets)),
            bits_per_s: per_second(to.bytes.saturating_sub(from.bytes) * 8),
        }
    }
}

/// The measured rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    pub packets_per_s: f64,
    pub bits_per_s: f64,
}

/// Measurements of the ring and the latency.
#[derive(Debug, Clone, Copy)]
pub struct Measurements {
    /// In the limit's units; `None` without a limit.
    pub limit_p50: Option<u64>,
    pub in_flight_p50_bytes: u64,
    pub in_flight_p90_bytes: u64,
    pub completion_p50_ns: u64,
    pub completion_p99_ns: u64,
    pub rate: Rate,
    /// Maximum delay of a frame after its time in the capture; `None` without such times.
    pub max_late_ns: Option<u64>,
}

/// The outcome of a transmission.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub driver: &'static str,
    pub mode: &'static str,
    pub completion_status: CompletionStatus,
    pub limit: String,
    pub limit_unit: Unit,
    pub account: Account,
    pub measurements: Measurements,
    /// Why it ended before all packets were sent.
    pub failed: Option<String>,
}
