//! `taut show`: one line a queue.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};
use taut_linux::observe::LIMIT_MAX_UNSET;

use super::gather::{Asked, Found, gather};
use super::metrics::{self, METRICS, Metric, Unit};
use super::options::{Selection, parse_period};
use super::row::{Path, Row};
use crate::talk::say;
use crate::{exit, stdout};
use taut_report::layout::{SPACES, fold, side_by_side};
use taut_report::number::{readable, short_time};

/// Every queue's byte limit, a line each.
///
/// Limit, what is in flight, the bounds that are set, how long slack is held, stalls, and how long the
/// link needs for the limit and for what is in flight. Devices whose limit does not work are
/// listed below, with why. Nothing is changed, and no privilege is needed.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Show {
    #[command(flatten)]
    pub selection: Selection,

    /// Print one JSON document; with -w one a line
    #[arg(short, long)]
    pub json: bool,

    /// Look again and again, so far apart
    #[arg(short, long, value_name = "TIME", value_parser = parse_period)]
    pub watch: Option<u64>,

    /// Print what every figure is and where it is from, as a page of Markdown
    #[arg(long, exclusive = true)]
    pub metrics: bool,
}

const AFTER_HELP: &str = "\
Times need a unit (500ms), rates are as tc reads them (1gbit).
max: nobody set limit_max. -: not known here (no link speed, or an older kernel).
Exit codes: 0 done, 1 failed (no such device), 2 bad usage, 77 cannot run here.";

/// `taut show`.
pub fn show(options: &Show) -> ExitCode {
    if options.metrics {
        return stdout::print(&metrics::markdown());
    }
    let sysfs = match options.selection.place.open() {
        Ok((sysfs, _)) => sysfs,
        Err(code) => return code,
    };
    let mut first = true;
    loop {
        let found = match gather(&sysfs, &options.selection, Asked::All) {
            Ok(found) => found,
            Err(error) => {
                say!("taut: {error}");
                return ExitCode::from(exit::FAILED);
            }
        };
        let shown = one_look(options, &found, first);
        first = false;
        let Some(period_ns) = options.watch else {
            return stdout::answer(stdout::write(&shown), ExitCode::SUCCESS);
        };
        if let Err(error) = stdout::write(&shown) {
            return stdout::answer(Err(error), ExitCode::SUCCESS);
        }
        sleep(Duration::from_nanos(period_ns));
    }
}

fn one_look(options: &Show, found: &Found, first: bool) -> String {
    let watched = options.watch.is_some();
    if options.json {
        return match watched {
            true => format!("{}\n", document(found)),
            false => format!("{:#}\n", document(found)),
        };
    }
    let table = text(
        found,
        !options.selection.devices.is_empty(),
        stdout::columns(),
    );
    match (watched, io::stdout().is_terminal(), first) {
        // Over what was shown before, and nothing of it is left below.
        (true, true, _) => format!("\x1b[H\x1b[J{table}"),
        (true, false, false) => format!("\n{table}"),
        _ => table,
    }
}

/// Everything, for programs.
fn document(found: &Found) -> Value {
    let rows: Vec<Value> = found.rows().chain(&found.paths).map(fields).collect();
    let without: Vec<Value> = (without(found))
        .map(|(device, why)| json!({"device": device, "why": why}))
        .collect();
    json!({
        "version": 1,
        "taut_version": env!("CARGO_PKG_VERSION"),
        "rows": rows,
        "without": without,
        "problems": found.problems,
    })
}

/// A queue with every figure of the table; `null` is one that cannot be had.
pub fn fields(row: &Row) -> Value {
    let mut fields = Map::new();
    fields.insert("device".to_owned(), json!(row.device));
    fields.insert("queue".to_owned(), json!(row.queue));
    let path = row.path.as_ref();
    let mut add = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    add(
        "source",
        json!(if path.is_some() { "taut" } else { "kernel" }),
    );
    if let Some(path) = path {
        add("program", json!(path.program));
        add("pid", json!(path.process));
        add("rule", json!(path.rule));
        add(
            "unit",
            json!(if path.in_packets { "packets" } else { "bytes" }),
        );
        add("age_ns", json!(path.age_ns));
    }
    for metric in METRICS {
        // A queue of the kernel has no figures of a path, and never will.
        if path.is_none() && metric.is_of_paths() {
            continue;
        }
        fields.insert(metric.name.to_owned(), json!((metric.get)(row)));
    }
    Value::Object(fields)
}

/// Devices none of whose limits works, with why.
fn without(found: &Found) -> impl Iterator<Item = (&str, &'static str)> {
    (found.devices.iter()).filter_map(|it| Some((it.name.as_str(), it.why_none?.text())))
}

/// For people. Queues of devices whose limit does not work only if they were `named`.
fn text(found: &Found, named: bool, width: Option<usize>) -> String {
    let devices = found.devices.iter();
    let works = devices.filter(|device| named || device.why_none.is_none());
    let rows: Vec<&Row> = works.flat_map(|device| &device.rows).collect();
    let mut out = String::new();
    if !rows.is_empty() {
        out += &table(&rows, width);
    }
    if !found.paths.is_empty() {
        let gap = if out.is_empty() { "" } else { "\n" };
        let _ = writeln!(out, "{gap}Paths of taut:");
        out += &table(&found.paths.iter().collect::<Vec<_>>(), width);
    }
    if let Some(widest) = without(found).map(|(device, _)| device.len()).max() {
        let gap = if out.is_empty() { "" } else { "\n" };
        let _ = writeln!(out, "{gap}No byte limit at work:");
        for (device, why) in without(found) {
            let line = format!("  {device:<widest$}  {why}");
            out += &fold(&line, widest + 4, width);
        }
    }
    for problem in &found.problems {
        out += &fold(problem, 2, width);
    }
    out
}

fn table(rows: &[&Row], width: Option<usize>) -> String {
    let devices = rows.iter().map(|row| row.device.clone());
    let mut columns = vec![column("device", devices.collect(), false)];
    let numbers = rows.iter().map(|row| row.queue.to_string());
    columns.push(column("queue", numbers.collect(), true));
    if rows.iter().any(|row| row.path.is_some()) {
        let cells = |text: fn(&Path) -> String| {
            let paths = rows.iter().map(|row| row.path.as_ref());
            paths.map(|it| it.map_or("-".to_owned(), text)).collect()
        };
        columns.push(column("program", cells(|it| it.program.clone()), false));
        columns.push(column("pid", cells(|it| it.process.to_string()), true));
        columns.push(column("rule", cells(Path::rule_text), false));
    }
    for metric in METRICS {
        if let Some(heading) = metric.column {
            let cells = rows.iter().map(|row| cell(metric, row));
            columns.push(column(heading, cells.collect(), true));
        }
    }
    side_by_side(&columns, 2, SPACES, width)
}

/// A figure as people read it.
pub fn cell(metric: &Metric, row: &Row) -> String {
    let Some(value) = (metric.get)(row) else {
        return "-".to_owned();
    };
    match metric.unit {
        Unit::Bytes if value == LIMIT_MAX_UNSET => "max".to_owned(),
        Unit::Bytes if row.in_packets() => format!("{}p", readable(&json!(value))),
        Unit::Milliseconds => short_time(value.saturating_mul(1_000_000)),
        Unit::Nanoseconds => short_time(value),
        Unit::Bytes | Unit::BitsPerSecond | Unit::Count => readable(&json!(value)),
    }
}

/// A heading and its cells, all as wide as the widest.
fn column(heading: &str, cells: Vec<String>, right: bool) -> Vec<String> {
    let all = || std::iter::once(heading).chain(cells.iter().map(String::as_str));
    let width = all().map(|it| it.chars().count()).max().unwrap_or(0);
    let aligned = |text: &str| match right {
        true => format!("{text:>width$}"),
        false => format!("{text:<width$}"),
    };
    all().map(aligned).collect()
}
