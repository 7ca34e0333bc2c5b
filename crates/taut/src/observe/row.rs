//! One queue as everything here sees it.

use taut_linux::observe::ByteLimits;
use taut_linux::publish::{Figures, PublishedQueue};

const NS_PER_MS: u64 = 1_000_000;

/// A queue at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    pub device: String,
    pub queue: u32,
    /// Speed of the link, in bit/s, if it is known or was said.
    pub rate_bits_per_s: Option<u64>,
    pub limits: ByteLimits,
    pub tx_timeouts: Option<u64>,
    /// What a running taut path says besides; nothing for a queue of the kernel.
    pub path: Option<Path>,
}

impl Path {
    /// The rule, and whether it may do anything.
    pub fn rule_text(&self) -> String {
        match self.figures.completions_are_false {
            0 => self.rule.clone(),
            _ => format!("{} (no true completions)", self.rule),
        }
    }
}

/// The queue of a running program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path {
    pub program: String,
    pub process: u32,
    /// The rule that sets the limit.
    pub rule: String,
    /// Whether the limit counts packets, not bytes.
    pub in_packets: bool,
    /// How old the figures are, in ns.
    pub age_ns: u64,
    pub figures: Figures,
}

impl Row {
    /// A queue that a program publishes.
    pub fn of_path(queue: PublishedQueue, rate_bits_per_s: Option<u64>) -> Self {
        let figures = queue.figures;
        Self {
            device: queue.device,
            queue: queue.queue,
            rate_bits_per_s: rate_bits_per_s.or(queue.rate_bits_per_s),
            limits: ByteLimits {
                limit: Some(figures.limit),
                in_flight: Some(figures.in_flight),
                limit_min: Some(figures.limit_min),
                limit_max: Some(figures.limit_max),
                hold_time_ms: Some(figures.hold_time_ns / NS_PER_MS),
                stall_threshold_ms: None,
                stalls: Some(figures.stalls),
                longest_stall_ms: Some(figures.longest_stall_ns / NS_PER_MS),
            },
            tx_timeouts: None,
            path: Some(Path {
                program: queue.program,
                process: queue.process,
                rule: queue.limit,
                in_packets: queue.in_packets,
                age_ns: queue.age_ns,
                figures,
            }),
        }
    }

    /// Whether the limit counts packets, not bytes.
    pub fn in_packets(&self) -> bool {
        self.path.as_ref().is_some_and(|path| path.in_packets)
    }

    /// A figure that only taut paths have.
    pub fn of_figures(&self, figure: fn(&Figures) -> u64) -> Option<u64> {
        self.path.as_ref().map(|path| figure(&path.figures))
    }

    /// How long the link needs for `bytes`, in ns; not known of a limit in packets.
    pub fn link_time_ns(&self, bytes: Option<u64>) -> Option<u64> {
        if self.in_packets() {
            return None;
        }
        let rate = self.rate_bits_per_s.filter(|&rate| rate > 0)?;
        let ns = u128::from(bytes?) * 8 * 1_000_000_000 / u128::from(rate);
        Some(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_time_is_bytes_at_the_speed_of_the_link() {
        let row = |rate_bits_per_s| Row {
            rate_bits_per_s,
            ..Row::default()
        };
        let gigabit = row(Some(1_000_000_000));
        assert_eq!(gigabit.link_time_ns(Some(125_000)), Some(1_000_000));
        assert_eq!(gigabit.link_time_ns(None), None);
        assert_eq!(row(None).link_time_ns(Some(1)), None);
        assert_eq!(row(Some(0)).link_time_ns(Some(1)), None);
        assert_eq!(row(Some(1)).link_time_ns(Some(u64::MAX)), Some(u64::MAX));
    }
}
