//! What a run showed: as data, and for people.

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde::Serialize;
use taut_report::document::DOCUMENT_VERSION;
use taut_scenarios::rr_under_load::Lateness;

use super::options::TwoThreads;
use crate::stdout;
use taut_report::layout::fold;

/// Columns of the names that lines begin with.
const NAME_COLUMNS: usize = 12;

/// What passed while it was measured.
pub struct Window {
    pub length_ns: u64,
    pub cpu_ns: u64,
    pub completed_packets: u64,
    pub completed_bytes: u64,
}

/// What the run showed. The rates are of the measured time; the counts also of what was completed
/// after it.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Shorter than wanted if it was interrupted.
    pub measured_ms: u64,
    pub packets_per_s: f64,
    pub bytes_per_s: u64,
    pub cpu_percent: f64,
    pub taken_packets: u64,
    pub completed_packets: u64,
    pub dropped_packets: BTreeMap<&'static str, u64>,
    /// Sent and never completed, or left in the discipline.
    pub on_the_path_packets: u64,
    /// Frames that did not come back.
    pub frames_in_use: u64,
    /// What the limit counts as in flight in the end, in its units.
    pub in_flight: u32,
    /// Completed packets that the kernel would not send.
    pub malformed_packets: u64,
    /// The limit in the end, in its units.
    pub limit: u32,
    pub limit_stops: u64,
    pub ring_stops: u64,
    pub kicks: u64,
    pub owner_sleeps: u64,
    pub owner_wakeups_for_room: u64,
    pub owner_wakeups_for_work: u64,
    pub submitter_sleeps: u64,
    pub submitter_wakeups: u64,
    pub owner_wakeups_lost: u64,
    pub submitter_wakeups_lost: u64,
    /// Times that the oldest packet in flight was older than the threshold, and the longest of them.
    pub stalls: u64,
    pub longest_stall_ns: u64,
    /// How late the completing thread came to its rounds.
    pub timers_late_us: Lateness,
}

impl Row {
    fn all_dropped_packets(&self) -> u64 {
        self.dropped_packets.values().sum()
    }

    /// What does not hold and must: every packet and frame is accounted for, no wake-up is lost.
    pub fn problems(&self) -> Vec<String> {
        let (taken, completed) = (self.taken_packets, self.completed_packets);
        let (dropped, on_the_path) = (self.all_dropped_packets(), self.on_the_path_packets);
        let mut problems = Vec::new();
        if taken != completed + dropped + on_the_path {
            problems.push(format!(
                "{taken} packets were taken, but {completed} completed, {dropped} dropped and \
                 {on_the_path} left on the path"
            ));
        }
        if self.frames_in_use != on_the_path {
            problems.push(format!(
                "{} frames did not come back, but {on_the_path} packets are left on the path",
                self.frames_in_use
            ));
        }
        if (self.in_flight == 0) != (on_the_path == 0) {
            problems.push(format!(
                "the limit counts {} in flight, but {on_the_path} packets are left on the path",
                self.in_flight
            ));
        }
        let lost = [
            (self.owner_wakeups_lost, "the owner"),
            (self.submitter_wakeups_lost, "the submitters"),
        ];
        let lost = lost.into_iter().filter(|&(count, _)| count > 0);
        problems
            .extend(lost.map(|(count, whose)| format!("{count} wake-ups of {whose} were lost")));
        problems
    }
}

#[derive(Debug, Serialize)]
struct Parameters {
    driver: &'static str,
    senders: u32,
    /// Nothing for a plain veth.
    rate_bits_per_s: Option<u64>,
    ring_slots: u32,
    cadence_ns: u64,
    limit: String,
    duration_ns: u64,
}

/// The document of one run.
#[derive(Debug, Serialize)]
pub struct Results {
    version: u32,
    scenario: &'static str,
    taut_version: &'static str,
    seed: u64,
    interrupted: bool,
    parameters: Parameters,
    rows: [Row; 1],
}

impl Results {
    /// The document of `options`, which gave `row`.
    pub fn new(options: &TwoThreads, row: Row, interrupted: bool) -> Self {
        Self {
            version: DOCUMENT_VERSION,
            scenario: "two-threads",
            taut_version: env!("CARGO_PKG_VERSION"),
            seed: options.seed,
            interrupted,
            parameters: Parameters {
                driver: "af_packet",
                senders: options.senders,
                rate_bits_per_s: options.rate.0.map(|rate| rate.0),
                ring_slots: options.ring,
                cadence_ns: options.cadence.0,
                limit: options.limit.to_string(),
                duration_ns: options.duration.0,
            },
            rows: [row],
        }
    }

    /// Prints it: one JSON document, or lines for people.
    pub fn print(&self, as_json: bool) -> ExitCode {
        if !as_json {
            return stdout::print(&self.text());
        }
        stdout::print_json(self)
    }

    fn text(&self) -> String {
        let [row] = &self.rows;
        let dropped = row
            .dropped_packets
            .iter()
            .filter(|(_, packets)| **packets > 0);
        let dropped: Vec<String> = dropped
            .map(|(reason, packets)| format!("{packets} {reason}"))
            .collect();
        let dropped = if dropped.is_empty() {
            "0".to_owned()
        } else {
            dropped.join(", ")
        };
        let text = format!(
            "carried     {:.1} packets/s, {} bytes/s, CPU {} %\n\
             packets     {} taken = {} completed + {dropped} dropped + {} on the path\n\
             limit       {} in the end, {} stops; ring full: {} stops; {} doorbells\n\
             owner       slept {} times; woken {} times for room, {} for work; {} lost\n\
             submitters  slept {} times; woken {} times; {} lost\n\
             stalls      {}, the longest {} ms\n\
             timers      late by {} us (99 of 100) and {} us at most\n\
             \nseed {}, taut {}\n",
            row.packets_per_s,
            row.bytes_per_s,
            row.cpu_percent,
            row.taken_packets,
            row.completed_packets,
            row.on_the_path_packets,
            row.limit,
            row.limit_stops,
            row.ring_stops,
            row.kicks,
            row.owner_sleeps,
            row.owner_wakeups_for_room,
            row.owner_wakeups_for_work,
            row.owner_wakeups_lost,
            row.submitter_sleeps,
            row.submitter_wakeups,
            row.submitter_wakeups_lost,
            row.stalls,
            row.longest_stall_ns / 1_000_000,
            row.timers_late_us.p99,
            row.timers_late_us.max,
            self.seed,
            self.taut_version,
        );
        let interrupted = if self.interrupted {
            format!("interrupted after {} ms\n", row.measured_ms)
        } else {
            String::new()
        };
        let width = stdout::columns();
        let lines = text.lines().map(|line| fold(line, NAME_COLUMNS, width));
        lines.collect::<String>() + &interrupted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        Row {
            measured_ms: 2_000,
            packets_per_s: 8_200.0,
            bytes_per_s: 12_414_800,
            cpu_percent: 20.0,
            taken_packets: 1_000,
            completed_packets: 936,
            dropped_packets: BTreeMap::from([("flushed", 64), ("queue_full", 0)]),
            on_the_path_packets: 0,
            frames_in_use: 0,
            in_flight: 0,
            malformed_packets: 0,
            limit: 9_084,
            limit_stops: 7,
            ring_stops: 0,
            kicks: 9,
            owner_sleeps: 7,
            owner_wakeups_for_room: 7,
            owner_wakeups_for_work: 0,
            submitter_sleeps: 0,
            submitter_wakeups: 0,
            owner_wakeups_lost: 0,
            submitter_wakeups_lost: 0,
            stalls: 0,
            longest_stall_ns: 0,
            timers_late_us: Lateness {
                p50: 60,
                p99: 90,
                max: 400,
            },
        }
    }

    #[test]
    fn what_adds_up_is_no_problem() {
        assert_eq!(row().problems(), Vec::<String>::new());
        let left = Row {
            taken_packets: 1_003,
            on_the_path_packets: 3,
            frames_in_use: 3,
            in_flight: 3 * 1_514,
            ..row()
        };
        assert_eq!(left.problems(), Vec::<String>::new());
    }

    #[test]
    fn each_thing_that_is_lost_is_told() {
        let broken = [
            (
                Row {
                    taken_packets: 1_001,
                    ..row()
                },
                "1001 packets were taken",
            ),
            (
                Row {
                    completed_packets: 937,
                    ..row()
                },
                "937 completed",
            ),
            (
                Row {
                    frames_in_use: 1,
                    ..row()
                },
                "1 frames did not come back",
            ),
            (
                Row {
                    in_flight: 1_514,
                    ..row()
                },
                "counts 1514 in flight",
            ),
            (
                Row {
                    owner_wakeups_lost: 2,
                    ..row()
                },
                "2 wake-ups of the owner",
            ),
            (
                Row {
                    submitter_wakeups_lost: 1,
                    ..row()
                },
                "1 wake-ups of the submitters",
            ),
        ];
        for (row, what) in broken {
            let problems = row.problems();
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].contains(what), "{problems:?}");
        }
    }
}
