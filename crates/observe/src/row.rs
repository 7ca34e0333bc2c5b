//! One queue at one moment, whether the kernel's or that of a running taut path.

use taut_linux::observe::{ByteLimits, LIMIT_MAX_UNSET, Sample, excess_bytes};
use taut_linux::publish::{PublishedQueue, QueueMetrics};

const NS_PER_MS: u64 = 1_000_000;

/// Identifies a queue from one reading to the next.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueKey {
    /// Name of the device.
    pub device: String,
    /// Number of the transmit queue.
    pub queue: u32,
    /// Process that publishes the queue; `None` for a queue of the kernel.
    pub process: Option<u32>,
}

/// A queue at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueRow {
    /// Name of the device.
    pub device: String,
    /// Number of the transmit queue.
    pub queue: u32,
    /// Speed of the link in bit/s, from the driver or from the [`Selection`](crate::Selection).
    pub rate_bits_per_s: Option<u64>,
    /// The byte limit: settings and current values.
    pub limits: ByteLimits,
    /// Times that the transmit watchdog fired.
    pub tx_timeouts: Option<u64>,
    /// The queue as a running taut path publishes it; `None` for a queue of the kernel.
    pub path: Option<PublishedQueue>,
}

impl QueueRow {
    /// Converts a published queue; `rate_bits_per_s` replaces the published rate.
    pub fn from_published(queue: PublishedQueue, rate_bits_per_s: Option<u64>) -> Self {
        let metrics = queue.metrics;
        Self {
            device: queue.device.clone(),
            queue: queue.queue,
            rate_bits_per_s: rate_bits_per_s.or(queue.rate_bits_per_s),
            limits: ByteLimits {
                limit: Some(metrics.limit),
                in_flight: Some(metrics.in_flight),
                limit_min: Some(metrics.limit_min),
                limit_max: Some(metrics.limit_max),
                hold_time_ms: Some(metrics.hold_time_ns / NS_PER_MS),
                stall_threshold_ms: None,
                stalls: Some(metrics.stalls),
                longest_stall_ms: Some(metrics.longest_stall_ns / NS_PER_MS),
            },
            tx_timeouts: None,
            path: Some(queue),
        }
    }

    /// Returns the identity of the queue.
    pub fn key(&self) -> QueueKey {
        QueueKey {
            device: self.device.clone(),
            queue: self.queue,
            process: self.path.as_ref().map(|path| path.process),
        }
    }

    /// Returns the limit and the bytes in flight; 0 for what could not be read.
    pub fn sample(&self) -> Sample {
        Sample {
            limit: self.limits.limit.unwrap_or(0),
            in_flight: self.limits.in_flight.unwrap_or(0),
        }
    }

    /// Returns the bytes in flight; `None` if they are not known or negative.
    pub fn amount_in_flight(&self) -> Option<u64> {
        let in_flight = self.limits.in_flight?;
        excess_bytes(in_flight).is_none().then_some(in_flight)
    }

    /// Returns `true` if the limit is its highest value or does not apply.
    pub fn is_unlimited(&self) -> bool {
        let is_highest = self.limits.limit.is_some_and(|it| it >= LIMIT_MAX_UNSET);
        is_highest || self.published(|it| it.early_completions).unwrap_or(0) > 0
    }

    /// Returns `unlimited` or `limited`, for the maximum of the limit; `None` if it is not known.
    pub fn limit_max_state(&self) -> Option<&'static str> {
        let is_highest = self.limits.limit_max? >= LIMIT_MAX_UNSET;
        Some(if is_highest { "unlimited" } else { "limited" })
    }

    /// Returns `unlimited`, `limited`, or `none` while no completion has set a limit; `None` if the
    /// limit is not known.
    pub fn limit_state(&self) -> Option<&'static str> {
        let limit = self.limits.limit?;
        let idle = limit == 0 && self.limits.in_flight == Some(0);
        Some(match self.is_unlimited() {
            true => "unlimited",
            false if idle && self.limits.limit_max != Some(0) => "none",
            false => "limited",
        })
    }

    /// Returns `true` if the limit counts packets, not bytes.
    pub fn in_packets(&self) -> bool {
        self.path.as_ref().is_some_and(|path| path.in_packets)
    }

    /// Returns a metric that only taut paths have.
    pub fn published(&self, metric: fn(&QueueMetrics) -> u64) -> Option<u64> {
        self.path.as_ref().map(|path| metric(&path.metrics))
    }

    /// Returns how long the link needs for `bytes`, in ns; `None` for a limit in packets.
    pub fn link_time_ns(&self, bytes: Option<u64>) -> Option<u64> {
        if self.in_packets() {
            return None;
        }
        link_time_ns(bytes?, self.rate_bits_per_s?)
    }
}

/// Returns how long a link needs for `bytes`, in ns; `None` at a rate of 0.
pub(crate) fn link_time_ns(bytes: u64, rate_bits_per_s: u64) -> Option<u64> {
    let ns = (u128::from(bytes) * 8 * 1_000_000_000).checked_div(rate_bits_per_s.into())?;
    Some(u64::try_from(ns).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_time_is_bytes_at_link_speed() {
        let row = |rate_bits_per_s| QueueRow {
            rate_bits_per_s,
            ..QueueRow::default()
        };
        let gigabit = row(Some(1_000_000_000));
        assert_eq!(gigabit.link_time_ns(Some(125_000)), Some(1_000_000));
        assert_eq!(gigabit.link_time_ns(None), None);
        assert_eq!(row(None).link_time_ns(Some(1)), None);
        assert_eq!(row(Some(0)).link_time_ns(Some(1)), None);
        assert_eq!(row(Some(1)).link_time_ns(Some(u64::MAX)), Some(u64::MAX));
    }
}
