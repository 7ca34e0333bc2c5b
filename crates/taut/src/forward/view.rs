//! The state of the bridge, on a terminal.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use taut_relay::bridge::{BridgeStats, DirectionStats};
use taut_report::message::ChangingLines;
use taut_report::say;

/// Update interval of the table.
const INTERVAL: Duration = Duration::from_millis(500);
const UPDATES_PER_S: u64 = 2;

/// Packets and bytes sent by a direction at the last update.
#[derive(Debug, Clone, Copy, Default)]
struct SentCounts {
    packets: u64,
    bytes: u64,
}

/// Shows the statistics and prints the messages of `events` until the channel is closed. Must run
/// on a separate thread: a stalled terminal must not delay frames.
pub fn show(stats: &BridgeStats, names: [&str; 2], events: &Receiver<String>) {
    let mut lines = ChangingLines::new();
    let mut before = [SentCounts::default(); 2];
    loop {
        match events.recv_timeout(INTERVAL) {
            Ok(event) => {
                lines.clear();
                say!("taut: {event}");
            }
            Err(RecvTimeoutError::Timeout) if lines.is_live() => {
                lines.show(&table(stats, names, &mut before).join("\n"));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn table(stats: &BridgeStats, [a, b]: [&str; 2], before: &mut [SentCounts; 2]) -> Vec<String> {
    let width = a.len() + b.len() + 4;
    let mut lines = vec![format!(
        "{:<width$}  {:>7} {:>9} {:>7} {:>8} {:>9} {:>8}",
        "", "limit", "in flight", "backlog", "pps", "Mbit/s", "dropped"
    )];
    let names = [format!("{a} -> {b}"), format!("{b} -> {a}")];
    for ((name, direction), before) in names.iter().zip(stats).zip(before) {
        lines.push(format!("{name:<width$}  {}", cells(direction, before)));
    }
    lines
}

fn cells(direction: &DirectionStats, before: &mut SentCounts) -> String {
    let now = SentCounts {
        packets: direction.completed_packets.load(Relaxed),
        bytes: direction.completed_bytes.load(Relaxed),
    };
    // The counts can decrease: uncertain packets are subtracted from sent ones.
    let per_second = |now: u64, before: u64| now.saturating_sub(before) * UPDATES_PER_S;
    let pps = per_second(now.packets, before.packets);
    let mbit = per_second(now.bytes, before.bytes) as f64 * 8.0 / 1e6;
    *before = now;
    let limit = match direction.has_limit.load(Relaxed) {
        0 => "off".to_owned(),
        _ => direction.limit.load(Relaxed).to_string(),
    };
    format!(
        "{limit:>7} {:>9} {:>7} {pps:>8} {mbit:>9.1} {:>8}",
        direction.in_flight.load(Relaxed),
        direction.waiting_packets.load(Relaxed),
        direction.dropped_packets.load(Relaxed)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_a_line_for_each_direction() {
        let stats = BridgeStats::default();
        stats[0].has_limit.store(1, Relaxed);
        stats[0].limit.store(9_084, Relaxed);
        stats[0].completed_packets.store(4_100, Relaxed);
        stats[0].completed_bytes.store(6_250_000, Relaxed);
        let mut before = Default::default();
        let lines = table(&stats, ["eth0", "eth1"], &mut before);
        assert_eq!(
            lines,
            [
                "                limit in flight backlog      pps    Mbit/s  dropped",
                "eth0 -> eth1     9084         0       0     8200     100.0        0",
                "eth1 -> eth0      off         0       0        0       0.0        0",
            ]
        );
        assert!(lines.iter().all(|line| line.len() < 80));
        let next = table(&stats, ["eth0", "eth1"], &mut before);
        assert!(next[1].ends_with("0       0.0        0"), "{}", next[1]);
    }
}
