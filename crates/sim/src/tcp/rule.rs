//! The congestion control algorithms, each in a file of its own.

use super::config::Congestion;
use super::congestion::{CongestionControl, Window};
use super::cubic::Cubic;
use super::reno::Reno;

/// Any of the algorithms. To add one: a file, a variant here and one of [`Congestion`].
#[derive(Debug)]
pub(super) enum CongestionRule {
    Cubic(Cubic),
    Reno(Reno),
}

impl CongestionRule {
    pub fn new(congestion: Congestion) -> Self {
        match congestion {
            Congestion::Cubic => Self::Cubic(Cubic::default()),
            Congestion::Reno => Self::Reno(Reno::default()),
        }
    }
}

impl CongestionControl for CongestionRule {
    fn on_ack(&mut self, window: &mut Window, acked_bytes: u64, srtt_ns: u64, now_ns: u64) {
        match self {
            Self::Cubic(rule) => rule.on_ack(window, acked_bytes, srtt_ns, now_ns),
            Self::Reno(rule) => rule.on_ack(window, acked_bytes, srtt_ns, now_ns),
        }
    }

    fn on_unused(&mut self, now_ns: u64) {
        match self {
            Self::Cubic(rule) => rule.on_unused(now_ns),
            Self::Reno(rule) => rule.on_unused(now_ns),
        }
    }

    fn on_congestion(&mut self, window: &mut Window, flight_bytes: u64) {
        match self {
            Self::Cubic(rule) => rule.on_congestion(window, flight_bytes),
            Self::Reno(rule) => rule.on_congestion(window, flight_bytes),
        }
    }

    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u64) {
        match self {
            Self::Cubic(rule) => rule.on_timeout(window, flight_bytes),
            Self::Reno(rule) => rule.on_timeout(window, flight_bytes),
        }
    }
}
