//! `taut show`: one line for each queue.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use taut_linux::observe::NoLimitReason;
use taut_linux::publish::PublishedQueue;
use taut_observe::metrics::{self, METRICS, Metric, Unit};
use taut_observe::{DeviceRow, Inventory, Missing, QueueRow, gather};
use taut_path::units::Time;
use taut_report::document::envelope;
use taut_report::layout::{SPACES, column, fold, side_by_side};
use taut_report::number::{readable, short_time};
use taut_report::{exit, stdout};

use crate::parse::{PERIODS, within};
use crate::repeat::{self, Shown};
use crate::selection::SelectionArgs;

/// Show the byte limit of every queue
///
/// Columns: limit, in flight, min and max (limit_min, limit_max), hold time, stalls, limit time and
/// in-flight time (the time in which the link sends the limit and the bytes in flight). Queues of
/// running taut programs are in a second table. Devices without a working limit are listed below
/// the tables, with the reason. The command changes nothing. It needs no privilege, except with -n.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Show {
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Print one JSON document; with -w, one per line
    #[arg(short, long)]
    pub json: bool,

    /// Repeat every TIME
    #[arg(short, long, value_name = "TIME", value_parser = within(PERIODS))]
    pub watch: Option<Time>,

    /// Print the description and source of every metric, as Markdown
    #[arg(long, exclusive = true)]
    pub metrics: bool,
}

const AFTER_HELP: &str = "\
Times need a unit (500ms); rates are as in tc (1gbit).
max: limit_max is not set. unlimited: no limit applies. A negative number in flight: more was
completed than queued. -: unknown (no link speed, or an older kernel).
Exit codes: 0 done, 1 failed (no such device), 2 bad usage, 77 a privilege is missing.
Examples:
  taut show eth0 --queues 0-3
  taut show --watch 1s --json";

/// `taut show`.
pub fn show(options: &Show) -> Result<ExitCode, ExitCode> {
    if options.metrics {
        return Ok(stdout::print(&metrics::markdown()));
    }
    let host = options.selection.place.open()?;
    let selection = options.selection.selection();
    repeat::print(options.watch, || {
        let inventory = gather(&host, &selection, Missing::Error).map_err(exit::failed)?;
        let named = !options.selection.devices.is_empty();
        Ok(match options.json {
            true => Shown::Json(document(&inventory)),
            false => Shown::Text(text(&inventory, named, stdout::columns())),
        })
    })
}

/// Returns the JSON document.
fn document(inventory: &Inventory) -> Value {
    let rows = inventory.rows().chain(&inventory.paths);
    let rows: Vec<Value> = rows.map(metrics::to_json).collect();
    let without: Vec<Value> = (without(inventory))
        .map(|(device, reason)| json!({"device": device, "why": reason}))
        .collect();
    envelope(json!({
        "rows": rows,
        "without": without,
        "problems": inventory.problems,
    }))
}

/// Returns the devices without a working limit, with the reason.
fn without(inventory: &Inventory) -> impl Iterator<Item = (&str, String)> {
    let reason = |it: &DeviceRow| it.no_limit_reason.as_ref().map(NoLimitReason::text);
    (inventory.devices.iter()).filter_map(move |it| Some((it.name.as_str(), reason(it)?)))
}

/// Returns the tables. Queues of devices without a working limit are included only if
/// devices were `named`.
fn text(inventory: &Inventory, named: bool, width: Option<usize>) -> String {
    let devices = inventory.devices.iter();
    let works = devices.filter(|device| named || device.no_limit_reason.is_none());
    let rows: Vec<&QueueRow> = works.flat_map(|device| &device.rows).collect();
    let mut out = String::new();
    if !rows.is_empty() {
        out += &table(&rows, width);
    }
    if !inventory.paths.is_empty() {
        let gap = if out.is_empty() { "" } else { "\n" };
        let _ = writeln!(out, "{gap}Paths of taut:");
        out += &table(&inventory.paths.iter().collect::<Vec<_>>(), width);
    }
    if let Some(widest) = without(inventory).map(|(device, _)| device.len()).max() {
        let gap = if out.is_empty() { "" } else { "\n" };
        let _ = writeln!(out, "{gap}No working byte limit:");
        for (device, reason) in without(inventory) {
            let line = format!("  {device:<widest$}  {reason}");
            out += &fold(&line, widest + 4, width);
        }
    }
    if out.is_empty() {
        out += "no device\n";
    }
    for problem in &inventory.problems {
        out += &fold(problem, 2, width);
    }
    out
}

fn table(rows: &[&QueueRow], width: Option<usize>) -> String {
    let devices = rows.iter().map(|row| row.device.clone());
    let mut columns = vec![column("device", devices.collect(), false)];
    let numbers = rows.iter().map(|row| row.queue.to_string());
    columns.push(column("queue", numbers.collect(), true));
    if rows.iter().any(|row| row.path.is_some()) {
        let cells = |text: fn(&PublishedQueue) -> String| {
            let paths = rows.iter().map(|row| row.path.as_ref());
            paths.map(|it| it.map_or("-".to_owned(), text)).collect()
        };
        columns.push(column("program", cells(|it| it.program.clone()), false));
        columns.push(column("pid", cells(|it| it.process.to_string()), true));
        columns.push(column("rule", cells(rule_text), false));
    }
    for metric in METRICS {
        if let Some(heading) = metric.column {
            let cells = rows.iter().map(|row| cell(metric, row));
            columns.push(column(heading, cells.collect(), true));
        }
    }
    side_by_side(&columns, 2, SPACES, width)
}

/// Returns the rule, and whether its limit applies.
fn rule_text(path: &PublishedQueue) -> String {
    match path.metrics.early_completions {
        0 => path.limit.clone(),
        _ => format!("{} (early completions)", path.limit),
    }
}

/// Formats a metric for a table.
pub fn cell(metric: &Metric, row: &QueueRow) -> String {
    let Some(value) = metric.value(row) else {
        return "-".to_owned();
    };
    // Only bytes can be negative.
    let time = |ns: i64| short_time(ns.unsigned_abs());
    match metric.unit {
        Unit::Bytes if metric.name == "limit" && row.is_unlimited() => "unlimited".to_owned(),
        Unit::Bytes if metric.is_highest(value) => "max".to_owned(),
        Unit::Bytes if row.in_packets() => format!("{}p", readable(&json!(value))),
        Unit::Milliseconds => time(value.saturating_mul(1_000_000)),
        Unit::Nanoseconds => time(value),
        Unit::Bytes | Unit::BitsPerSecond | Unit::Count | Unit::Flag => readable(&json!(value)),
    }
}
