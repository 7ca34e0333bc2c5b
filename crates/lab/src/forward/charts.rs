//! Charts of the rows.

use taut_path::units::Rate;

use super::case::Forwarder;
use super::row::ForwardRun;
use taut_report::axis::Axis;
use taut_report::chart::{Chart, Line, Stroke};
use taut_report::limit_color::limit_color;
use taut_scenarios::rr_under_load::at_most;

/// The text above the charts.
pub const REMARK: &str = "A limit or a discipline alone does not reduce the ping: without a limit, \
    packets wait in the ring and the shaper instead of the discipline, and a single queue cannot \
    reorder them.";

/// Returns the distribution of the pings for each rate.
pub fn charts(ran: &[&ForwardRun]) -> Vec<Chart> {
    let mut rates: Vec<Rate> = ran.iter().map(|ran| ran.case.rate).collect();
    rates.dedup();
    rates
        .into_iter()
        .filter_map(|rate| chart(rate, ran))
        .collect()
}

fn chart(rate: Rate, ran: &[&ForwardRun]) -> Option<Chart> {
    let all: Vec<&ForwardRun> = ran
        .iter()
        .copied()
        .filter(|it| it.case.rate == rate && !it.ping_ns.is_empty())
        .collect();
    let lowest = all.iter().map(|it| it.ping_ns.min()).min()?;
    let highest = all.iter().map(|it| it.ping_ns.max()).max()?;
    let medians = all.iter().map(|it| {
        let us = it.ping_ns.value_at_quantile(0.5) / 1000;
        format!("{}: median {us} us", it.case)
    });
    Some(Chart {
        title: format!("Ping under load, into {rate}"),
        description: medians.collect::<Vec<_>>().join("; "),
        x: Axis::times("ping", lowest as f64, highest as f64),
        y: Axis::linear("% of the pings at most", 100.0),
        lines: all.iter().map(|it| line(it)).collect(),
    })
}

fn line(ran: &ForwardRun) -> Line {
    let forwarder = &ran.case.forwarder;
    let limit = forwarder.limit();
    let color = limit_color(&limit, [limit.as_str()]);
    let (label, stroke) = match forwarder {
        Forwarder::Kernel => ("the kernel's bridge".to_owned(), Stroke::Dashed),
        Forwarder::Taut { qdisc, .. } => {
            let stroke = if qdisc.starts_with("pfifo") {
                Stroke::Dotted
            } else {
                Stroke::Solid
            };
            (format!("{qdisc}, limit {limit}"), stroke)
        }
    };
    at_most(label, (color, stroke), &ran.ping_ns)
}
