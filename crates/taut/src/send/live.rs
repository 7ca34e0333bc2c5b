//! The status line while packets are sent.

use taut_linux::link::LinkState;
use taut_path::limit::Unit;
use taut_report::message::ChangingLine;
use taut_report::number::scaled;

/// Update interval of the line, in ns.
const INTERVAL_NS: u64 = 250_000_000;

/// The values of the line. Packets and bytes are totals.
pub struct Status<'a> {
    pub device: &'a str,
    /// Set if the device is not running.
    pub state: Option<LinkState>,
    pub limit: Option<(u32, Unit)>,
    pub in_flight_bytes: u64,
    pub packets: u64,
    pub bytes: u64,
    pub latency_ns: Option<u64>,
}

/// The line, and the totals of its last update.
pub struct Line {
    line: ChangingLine,
    shown_ns: Option<u64>,
    packets: u64,
    bytes: u64,
}

impl Line {
    pub fn new() -> Self {
        Self {
            line: ChangingLine::new(),
            shown_ns: None,
            packets: 0,
            bytes: 0,
        }
    }

    pub fn is_due(&self, now_ns: u64) -> bool {
        self.line.is_live()
            && self
                .shown_ns
                .is_none_or(|at_ns| now_ns >= at_ns + INTERVAL_NS)
    }

    pub fn show(&mut self, shown: &Status<'_>, now_ns: u64) {
        let past_ns = now_ns - self.shown_ns.replace(now_ns).unwrap_or(now_ns);
        let (packets, bytes) = (shown.packets - self.packets, shown.bytes - self.bytes);
        (self.packets, self.bytes) = (shown.packets, shown.bytes);
        if past_ns > 0 {
            self.line.show(&text(shown, packets, bytes, past_ns));
        }
    }
}

fn text(shown: &Status<'_>, packets: u64, bytes: u64, past_ns: u64) -> String {
    let per_second = |number: u64| number as f64 * 1e9 / past_ns as f64;
    let state = match shown.state {
        Some(LinkState::Down) => " is down,",
        Some(LinkState::Removed) => " was removed,",
        Some(LinkState::Running) | None => ":",
    };
    let limit = match shown.limit {
        None => "off".to_owned(),
        Some((limit, _)) if limit >= taut_dql::MAX_LIMIT => "off".to_owned(),
        Some((limit, Unit::Packets)) => format!("{limit}p"),
        Some((limit, Unit::Bytes)) => scaled(f64::from(limit)),
    };
    let latency = match shown.latency_ns {
        Some(ns) => format!(", completed after {} us", ns / 1_000),
        None => String::new(),
    };
    format!(
        "{}{state} limit {limit}, {} in flight, {} packets/s, {}bit/s{latency}",
        shown.device,
        scaled(shown.in_flight_bytes as f64),
        scaled(per_second(packets)),
        scaled(per_second(bytes * 8)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_has_limit_rates_and_latency() {
        let shown = Status {
            device: "veth0",
            state: None,
            limit: Some((10_598, Unit::Bytes)),
            in_flight_bytes: 12_112,
            packets: 0,
            bytes: 0,
            latency_ns: Some(1_240_000),
        };
        assert_eq!(
            text(&shown, 2_081, 2_081 * 1_514, 250_000_000),
            "veth0: limit 10.6K, 12.1K in flight, 8.32K packets/s, 101Mbit/s, completed after 1240 \
             us"
        );
        let off = Status {
            limit: None,
            state: Some(LinkState::Down),
            latency_ns: None,
            ..shown
        };
        assert_eq!(
            text(&off, 0, 0, 250_000_000),
            "veth0 is down, limit off, 12.1K in flight, 0 packets/s, 0bit/s"
        );
    }
}
