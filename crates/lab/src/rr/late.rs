//! Whether a machine was too late for its figures to be those of the experiment.

use taut_scenarios::rr_under_load::Row;

/// A row is late if more than one wake-up in a hundred came this much of a cadence too late: what
/// completes in that time was neither reported nor refilled, so ring, limit and latency grow by it.
const LATE_CADENCES: f64 = 0.5;

/// Whether the timers of `row` were late, where completions come each `cadence_ns`.
pub fn is_late(row: &Row, cadence_ns: u64) -> bool {
    let late_ns = row.timers_late_us.map_or(0, |late| late.p99 * 1000);
    late_ns as f64 > cadence_ns as f64 * LATE_CADENCES
}

/// What to say of the rows whose timers were late, if there are any.
pub fn note(rows: &[Row], cadence_ns: u64) -> Option<String> {
    let late: Vec<&Row> = rows.iter().filter(|row| is_late(row, cadence_ns)).collect();
    let names: Vec<String> = late.iter().map(|row| row.case().to_string()).collect();
    let times = late.iter().filter_map(|row| row.timers_late_us);
    let (p99, max) = (
        times.clone().map(|it| it.p99).max()?,
        times.map(|it| it.max).max()?,
    );
    Some(format!(
        "late: the machine was too busy for these rows: {}. Wake-ups came up to {p99} us late (99 \
         of 100) and {max} us at most, where completions are {} us apart: rings, limits and \
         latencies are larger than they need be, and the wire may have run dry. Run it again on an \
         idle machine.",
        names.join("; "),
        cadence_ns / 1000,
    ))
}

#[cfg(test)]
mod tests {
    use taut_measure::meter::{Curve, Quantiles, histogram_ns};
    use taut_scenarios::rr_under_load::{Latency, Lateness};

    use super::*;

    fn row(p99: Option<u64>) -> Row {
        Row {
            limit: taut_path::AnyLimit::dql(),
            bql: true,
            tso: false,
            split: taut_path::LateSegmentation::Off,
            inflight_bytes: Quantiles::default(),
            waiting_packets: Quantiles::default(),
            limit_bytes_p50: None,
            rr_tps: 0.0,
            rr_latency_us: Latency::of(&histogram_ns()),
            goodput_bps: 0,
            cpu_percent: None,
            drops: 0,
            marks: 0,
            retransmits: 0,
            stalls: None,
            timers_late_us: p99.map(|p99| Lateness {
                p50: 1,
                p99,
                max: 9_000,
            }),
            curve: Curve::default(),
        }
    }

    #[test]
    fn a_row_is_late_from_half_a_cadence_on_and_says_so() {
        let rows = [row(None), row(Some(125)), row(Some(126))];
        let late = rows.iter().map(|row| is_late(row, 250_000));
        assert_eq!(late.collect::<Vec<_>>(), [false, false, true]);
        assert_eq!(note(&rows[..2], 250_000), None);
        let said = note(&rows, 250_000).expect("one is late");
        for part in ["limit dql, TSO off", "126 us", "9000 us", "250 us apart"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}
