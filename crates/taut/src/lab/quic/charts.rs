//! What is drawn of the rows.

use super::case::Variant;
use super::row::Ran;
use crate::report::axis::Axis;
use crate::report::chart::{Chart, Line, Stroke};
use crate::report::limit_color::{NEUTRAL, limit_color};
use crate::rr::charts::at_most;

/// What share of the requests took at most a time, for one connection and for two.
pub fn charts(ran: &[Ran]) -> Vec<Chart> {
    [1, 2].into_iter().filter_map(|it| chart(it, ran)).collect()
}

fn chart(connections: u32, ran: &[Ran]) -> Option<Chart> {
    let of = |it: &&Ran| it.case.connections == connections && !it.request_ns.is_empty();
    let all: Vec<&Ran> = ran.iter().filter(of).collect();
    let lowest = all.iter().map(|it| it.request_ns.min()).min()?;
    let highest = all.iter().map(|it| it.request_ns.max()).max()?;
    let medians = all.iter().map(|it| {
        let us = it.request_ns.value_at_quantile(0.5) / 1000;
        format!("{}: half within {us} us", it.case)
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
        lines: all.iter().map(|it| line(it)).collect(),
    })
}

fn line(ran: &Ran) -> Line {
    let limit = |name| limit_color(name, [name]);
    let drawn = match ran.case.variant {
        Variant::Plain => (limit("off"), Stroke::Solid),
        Variant::Buffer(..) => (NEUTRAL, Stroke::Dotted),
        Variant::Bbr => (NEUTRAL, Stroke::Dashed),
        Variant::Dql => (limit("dql"), Stroke::Solid),
        Variant::Taut => (limit("taut"), Stroke::Solid),
    };
    at_most(ran.case.variant.name(), drawn, &ran.request_ns)
}
