//! One queue as everything here sees it.

use taut_linux::observe::ByteLimits;

/// A queue at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    pub device: String,
    pub queue: u32,
    /// Speed of the link, in bit/s, if it is known or was said.
    pub rate_bits_per_s: Option<u64>,
    pub limits: ByteLimits,
    pub tx_timeouts: Option<u64>,
}

impl Row {
    /// How long the link needs for `bytes`, in ns.
    pub fn link_time_ns(&self, bytes: Option<u64>) -> Option<u64> {
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
