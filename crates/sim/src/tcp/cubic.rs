//! CUBIC, RFC 9438, in integers. The window is a cubic function of the time since the last
//! reduction, W(t) = C (t - K)^3 + W_max, or Reno's window where that is larger.
//!
//! Windows are in bytes. Time is in ticks of 2^-20 s (about 1 us), so that the cube of 17 minutes
//! and the factor fit in 128 bits without rounding. There is no HyStart++ (RFC 9406): slow start
//! ends with a loss or a mark.

use super::congestion::Window;

/// C = 0.4 segments / s^3 as 2/5 (RFC 9438, 5.1).
const C_NUMERATOR: u128 = 2;
const C_DENOMINATOR: u64 = 5;
/// A reduction keeps 7/10 of the window (4.6).
const BETA_TENTHS: u64 = 7;
/// The gain with which an AIMD flow that keeps 7/10 has Reno's average window (4.3): 3 (1 - 0.7) /
/// (1 + 0.7) = 9/17.
const ALPHA_NUMERATOR: u64 = 9;
const ALPHA_DENOMINATOR: u64 = 17;

const TICKS_PER_SECOND_LOG2: u32 = 20;
/// 2^30 ticks are 1024 s: by then, another limit applies.
const MAX_TICKS: u64 = (1 << 30) - 1;

#[derive(Debug, Default)]
pub(super) struct Cubic {
    /// The plateau. 0 before the first reduction and after a timeout: then the plateau is where
    /// congestion avoidance starts (4.8, 4.10).
    w_max_bytes: u64,
    /// The window just before the last reduction.
    prior_bytes: u64,
    /// Reno's window.
    w_est_bytes: u64,
    /// Fractions of a byte of the two windows, so that small steps accumulate.
    growth_credit: u64,
    w_est_credit: u64,
    k_ticks: u64,
    /// Start of congestion avoidance, shifted by the time in which the window was not full, in ns.
    epoch_start_ns: u64,
    last_ack_ns: u64,
    in_epoch: bool,
}

impl Cubic {
    /// Processes `acked_bytes` (at least 1) that are newly acknowledged after slow start, while the
    /// window was full.
    pub fn on_ack(&mut self, window: &mut Window, acked_bytes: u64, srtt_ns: u64, now_ns: u64) {
        if !self.in_epoch {
            self.start_epoch(window, now_ns);
        }
        self.last_ack_ns = now_ns;
        self.grow_estimate(window, acked_bytes);
        let now = ticks(now_ns.saturating_sub(self.epoch_start_ns));
        if self.curve_bytes(now, window.mss_bytes) < self.w_est_bytes {
            window.grow(self.w_est_bytes.saturating_sub(window.cwnd_bytes));
            return;
        }
        // 4.4, 4.5: reach the curve of one round trip later, at most 1.5 times the current window.
        let cwnd = window.cwnd_bytes;
        let target = self
            .curve_bytes(now + ticks(srtt_ns), window.mss_bytes)
            .clamp(cwnd, cwnd + cwnd / 2);
        self.growth_credit += (target - cwnd) * acked_bytes.min(cwnd);
        window.grow(self.growth_credit / cwnd);
        self.growth_credit %= cwnd;
    }

    /// Records that something other than the window limited the sender until now.
    pub fn on_unused(&mut self, now_ns: u64) {
        // 4.2: time in which the application was the limit does not count.
        if self.in_epoch {
            self.epoch_start_ns += now_ns.saturating_sub(self.last_ack_ns);
            self.last_ack_ns = now_ns;
        }
    }

    /// Reduces the window once for all data sent so far, after a loss found by acknowledgements, or
    /// after a mark.
    pub fn on_congestion(&mut self, window: &mut Window, flight_bytes: u64) {
        let cwnd = window.cwnd_bytes;
        // 4.7: a flow that loses below its old plateau leaves room for new flows.
        self.w_max_bytes = if cwnd < self.w_max_bytes {
            cwnd * (10 + BETA_TENTHS) / 20
        } else {
            cwnd
        };
        self.prior_bytes = cwnd;
        self.in_epoch = false;
        window.reduce_to(flight_bytes * BETA_TENTHS / 10);
    }

    /// Reduces the threshold after the first timeout of a segment. The caller sets the window to
    /// one segment.
    pub fn on_timeout(&mut self, window: &mut Window, flight_bytes: u64) {
        self.on_congestion(window, flight_bytes);
        self.w_max_bytes = 0;
    }

    fn start_epoch(&mut self, window: &Window, now_ns: u64) {
        let cwnd = window.cwnd_bytes;
        self.in_epoch = true;
        self.epoch_start_ns = now_ns;
        self.w_est_bytes = cwnd;
        self.growth_credit = 0;
        self.w_est_credit = 0;
        self.w_max_bytes = self.w_max_bytes.max(cwnd);
        // K = cbrt((W_max - cwnd) / C), in ticks.
        let short_bytes = u128::from((self.w_max_bytes - cwnd).min(1 << 48));
        let cube = ((short_bytes * u128::from(C_DENOMINATOR)) << (3 * TICKS_PER_SECOND_LOG2))
            / (C_NUMERATOR * u128::from(window.mss_bytes));
        self.k_ticks = cube_root(cube);
    }

    fn grow_estimate(&mut self, window: &Window, acked_bytes: u64) {
        // 4.3: once past the old window, grow as Reno does.
        let alpha = if self.w_est_bytes < self.prior_bytes {
            ALPHA_NUMERATOR
        } else {
            ALPHA_DENOMINATOR
        };
        let whole = ALPHA_DENOMINATOR * window.cwnd_bytes;
        self.w_est_credit += alpha * window.mss_bytes * acked_bytes.min(window.cwnd_bytes);
        self.w_est_bytes += self.w_est_credit / whole;
        self.w_est_credit %= whole;
    }

    /// Returns W(t), in bytes.
    fn curve_bytes(&self, t_ticks: u64, mss_bytes: u64) -> u64 {
        let from_plateau = u128::from(t_ticks.abs_diff(self.k_ticks).min(MAX_TICKS));
        let cube = from_plateau * from_plateau * from_plateau;
        let scaled = (cube * C_NUMERATOR * u128::from(mss_bytes)) >> (3 * TICKS_PER_SECOND_LOG2);
        let distance_bytes = scaled as u64 / C_DENOMINATOR;
        if t_ticks < self.k_ticks {
            self.w_max_bytes.saturating_sub(distance_bytes)
        } else {
            self.w_max_bytes + distance_bytes
        }
    }
}

fn ticks(ns: u64) -> u64 {
    // 2^84 / 10^9, rounded to nearest: a multiplication instead of a division.
    const TICKS_PER_NS: u128 = ((1 << 84) + 500_000_000) / 1_000_000_000;
    ((u128::from(ns.min(1 << 50)) * TICKS_PER_NS) >> 64) as u64
}

/// Returns the largest integer whose cube is at most `cube`, bit by bit. Called once per reduction.
fn cube_root(cube: u128) -> u64 {
    let mut root = 0_u128;
    for bit in (0..30).rev() {
        let candidate = root | 1 << bit;
        if candidate * candidate * candidate <= cube {
            root = candidate;
        }
    }
    root as u64
}
