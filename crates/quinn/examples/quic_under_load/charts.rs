//! Charts of the rows.

use hdrhistogram::Histogram;
use taut_lab::experiment::Row;
use taut_report::axis::Axis;
use taut_report::chart::{Chart, Line, Stroke};
use taut_report::limit_color::{NEUTRAL, limit_color};
use taut_scenarios::rr_under_load::show::at_most;

use super::case::{Case, Variant};
use super::row::RunResult;

/// The text above the charts.
pub const REMARK: &str = "Further left is faster. Requests of all repetitions.";

/// A row and the times of all its requests.
type Drawn<'a> = (&'a Row<Case, RunResult>, Histogram<u64>);

/// Distribution of the request times, for one connection and for two, on one scale.
pub fn charts(rows: &[Row<Case, RunResult>]) -> Vec<Chart> {
    let all: Vec<Drawn> = rows
        .iter()
        .filter_map(|row| Some((row, request_ns(&row.runs)?)))
        .collect();
    let of = |connections| chart(connections, &all);
    [1, 2].into_iter().filter_map(of).collect()
}

fn chart(connections: u32, drawn: &[Drawn]) -> Option<Chart> {
    let lowest = drawn.iter().map(|(_, times)| times.min()).min()?;
    let highest = drawn.iter().map(|(_, times)| times.max()).max()?;
    let all: Vec<&Drawn> = (drawn.iter())
        .filter(|(it, _)| it.case.connections == connections)
        .collect();
    if all.is_empty() {
        return None;
    }
    let medians = all.iter().map(|(it, times)| {
        let us = times.value_at_quantile(0.5) / 1000;
        format!("{}: median {us} us", it.case)
    });
    let on = match connections {
        1 => "on the connection of the bulk",
        _ => "on a connection of their own",
    };
    Some(Chart {
        title: format!("Requests {on}"),
        description: medians.collect::<Vec<_>>().join("; "),
        x: Axis::times("request", lowest as f64, highest as f64),
        y: Axis::linear("% of the requests took at most", 100.0),
        lines: all.iter().map(|(it, times)| line(it, times)).collect(),
    })
}

fn line(row: &Row<Case, RunResult>, times: &Histogram<u64>) -> Line {
    let limit = |name| limit_color(name, [name]);
    let drawn = match row.case.variant {
        Variant::Plain => (limit("off"), Stroke::Solid),
        // A colour for each, as for fixed limits.
        Variant::Buffer(size, _) => {
            let color = limit_color(size, Variant::buffers());
            (color, Stroke::Dotted)
        }
        Variant::Bbr => (NEUTRAL, Stroke::Dashed),
        Variant::Dql => (limit("dql"), Stroke::Solid),
        Variant::Taut => (limit("taut"), Stroke::Solid),
    };
    at_most(row.case.variant.name(), drawn, times)
}

/// Returns the times of all requests of all repetitions.
fn request_ns(runs: &[RunResult]) -> Option<Histogram<u64>> {
    let (first, others) = runs.split_first()?;
    let mut all = first.request_ns.clone();
    for other in others {
        // The histograms have the same bounds, so this cannot fail.
        let _ = all.add(&other.request_ns);
    }
    Some(all).filter(|all| !all.is_empty())
}
