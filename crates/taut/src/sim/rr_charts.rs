//! What is drawn of the experiment of a request/response under load.

use taut_path::AnyLimit;
use taut_sim::scenario::rr_under_load::Ran;

use crate::report::axis::Axis;
use crate::report::chart::{Chart, Line};

/// What stands above the charts.
pub const REMARK: &str = "With and without a limit on the same scale: what a limit takes away \
    is the time that every packet of the first band waited behind bytes already in the ring. \
    The time series begin with the start of the streams, which is not measured.";

/// For each setting of TSO the bytes in the ring; the latencies; the rows with a limit enlarged.
pub fn charts(ran: &[Ran], length_ns: u64) -> Vec<Chart> {
    let of_tso = |tso| ran.iter().filter(move |it| it.case.tso == tso);
    let mut charts = Vec::new();
    for tso in [true, false] {
        let rows: Vec<&Ran> = of_tso(tso).collect();
        let title = format!("Bytes in the ring, TSO {}", on_off(tso));
        charts.extend(over_time(title, &rows, length_ns));
    }
    charts.extend(latency(ran));
    for tso in [true, false] {
        let rows: Vec<&Ran> = of_tso(tso).filter(|it| it.case.limits_bytes()).collect();
        // With nothing to compare it with, the first chart shows the limit well enough.
        if rows.len() < of_tso(tso).count() {
            let title = format!("With a limit, TSO {}: its own scale", on_off(tso));
            charts.extend(over_time(title, &rows, length_ns));
        }
    }
    charts
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// The lines of one limit, told apart from those of the others: three of them without a repetition.
struct Looks {
    in_ring: usize,
    limit: usize,
    without_tso: usize,
}

impl Looks {
    const OFF: Self = Self::new(0, 3, 5);
    const LIMITS: [Self; 2] = [Self::new(1, 3, 2), Self::new(4, 2, 3)];

    const fn new(in_ring: usize, limit: usize, without_tso: usize) -> Self {
        Self {
            in_ring,
            limit,
            without_tso,
        }
    }

    /// Those of `limit` among `all`, which have an order.
    fn of<'a>(limit: &AnyLimit, all: impl Iterator<Item = &'a AnyLimit>) -> &'static Self {
        if limit.is_off() {
            return &Self::OFF;
        }
        let before = all
            .filter(|other| !other.is_off())
            .take_while(|other| *other != limit);
        &Self::LIMITS[before.count() % Self::LIMITS.len()]
    }
}

fn over_time(title: String, rows: &[&Ran], length_ns: u64) -> Option<Chart> {
    let seconds = length_ns as f64 / 1e9;
    let mut lines = Vec::new();
    for row in rows {
        let (curve, limit) = (&row.outcome.curve, &row.case.limit);
        let looks = Looks::of(limit, rows.iter().map(|row| &row.case.limit));
        let label = format!("in the ring, limit {limit}");
        lines.push(line(label, looks.in_ring, &curve.in_flight_bytes, seconds));
        if row.case.limits_bytes() {
            let label = format!("the limit, {limit}");
            lines.push(line(label, looks.limit, &curve.limit, seconds));
        }
    }
    let points = lines.iter().flat_map(|line| &line.points);
    let highest = points.map(|point| point.1).fold(0.0, f64::max);
    if lines.is_empty() {
        return None;
    }
    Some(Chart {
        description: format!("{title}: {} over {seconds} s.", peaks(&lines)),
        title,
        x: Axis::up_to("time (s)", seconds),
        y: Axis::linear("bytes, the most in each step", highest),
        lines,
    })
}

/// Each line's highest point, in words.
fn peaks(lines: &[Line]) -> String {
    let peak = |line: &Line| {
        let highest = line.points.iter().map(|point| point.1).fold(0.0, f64::max);
        format!("{} reaches {highest} bytes", line.label)
    };
    lines.iter().map(peak).collect::<Vec<_>>().join(", ")
}

fn line(label: String, look: usize, values: &[u64], seconds: f64) -> Line {
    let step = seconds / values.len().max(1) as f64;
    let starts = values.iter().enumerate();
    let mut points: Vec<(f64, f64)> = starts
        .map(|(at, &value)| (at as f64 * step, value as f64))
        .collect();
    // The last value holds to the end.
    points.extend(points.last().map(|last| (seconds, last.1)));
    Line {
        label,
        look,
        points,
    }
}

/// How many of the transactions took at most so long.
fn latency(ran: &[Ran]) -> Option<Chart> {
    let ran: Vec<&Ran> = ran
        .iter()
        .filter(|it| !it.outcome.latency_ns.is_empty())
        .collect();
    let lowest = ran.iter().map(|it| it.outcome.latency_ns.min()).min()?;
    let highest = ran.iter().map(|it| it.outcome.latency_ns.max()).max()?;
    let medians = ran.iter().map(|it| {
        let us = it.outcome.latency_ns.value_at_quantile(0.5) / 1000;
        format!("{}: half within {us} us", it.case)
    });
    Some(Chart {
        title: "Latency of a transaction".to_owned(),
        description: medians.collect::<Vec<_>>().join("; "),
        x: Axis::times("latency", lowest as f64, highest as f64),
        y: Axis::linear("% of the transactions took at most", 100.0),
        lines: ran
            .iter()
            .map(|it| {
                let same_tso = ran.iter().filter(|other| other.case.tso == it.case.tso);
                let looks = Looks::of(&it.case.limit, same_tso.map(|other| &other.case.limit));
                cumulative(it, looks)
            })
            .collect(),
    })
}

fn cumulative(ran: &Ran, looks: &Looks) -> Line {
    let histogram = &ran.outcome.latency_ns;
    let all = histogram.len() as f64;
    let mut points = vec![(histogram.min() as f64, 0.0)];
    let mut so_far = 0;
    for value in histogram.iter_recorded() {
        so_far += value.count_since_last_iteration();
        points.push((
            value.value_iterated_to() as f64,
            so_far as f64 * 100.0 / all,
        ));
    }
    Line {
        label: ran.case.to_string(),
        look: if ran.case.tso {
            looks.in_ring
        } else {
            looks.without_tso
        },
        points,
    }
}
