//! What the rows showed, and what follows: as data, and as tables.

use std::fmt::Write;

use serde::Serialize;
use taut_path::units::Rate;

use super::measure::{Case, Ran};
use super::options::{RingSweep, USUAL_DEPTH};
use crate::send::output::one_decimal;

/// The share of the best throughput that is as good as all.
const ENOUGH: f64 = 0.99;

#[derive(Debug, Clone, Serialize)]
pub struct InFlight {
    pub p50: u64,
    pub p90: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Completion {
    pub p50: f64,
    pub p99: f64,
}

/// The medians of a row's runs.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub driver: &'static str,
    pub mode: &'static str,
    pub link: String,
    /// `virtual`, or `card` for somebody's own.
    pub hardware: &'static str,
    /// Of the shaper; nothing where there is none.
    pub rate_bps: Option<u64>,
    pub limit: String,
    pub pps: f64,
    pub inflight_bytes: InFlight,
    pub completion_us: Completion,
    pub completions: &'static str,
    /// The median of the limit, in its own units; nothing where none holds.
    pub limit_p50: Option<u64>,
    #[serde(skip)]
    pub in_packets: bool,
    #[serde(skip)]
    pub is_fixed: bool,
}

impl Row {
    pub fn new(case: &Case, runs: &[Ran]) -> Self {
        let floats = |of: fn(&Ran) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or(0.0)
        };
        let last = runs.last().cloned().unwrap_or_default();
        let limit = case.limit_name();
        Self {
            driver: case.driver.name(),
            mode: last.mode,
            link: case.link.name(),
            hardware: if case.link.is_virtual() {
                "virtual"
            } else {
                "card"
            },
            rate_bps: case.link.rate_bits_per_s(),
            is_fixed: is_depth(&limit),
            limit,
            pps: one_decimal(floats(|ran| ran.packets_per_s)),
            inflight_bytes: InFlight {
                p50: floats(|ran| ran.in_flight_p50_bytes as f64) as u64,
                p90: floats(|ran| ran.in_flight_p90_bytes as f64) as u64,
            },
            completion_us: Completion {
                p50: one_decimal(floats(|ran| ran.completion_p50_ns as f64) / 1e3),
                p99: one_decimal(floats(|ran| ran.completion_p99_ns as f64) / 1e3),
            },
            completions: last.truth.name(),
            limit_p50: last
                .limit_p50
                .map(|_| floats(|ran| ran.limit_p50.unwrap_or_default().0 as f64) as u64),
            in_packets: last.limit_p50.is_some_and(|(_, in_packets)| in_packets),
        }
    }

    pub fn is_of(&self, other: &Self) -> bool {
        let key = |row: &Self| (row.driver, row.link.clone(), row.rate_bps);
        key(self) == key(other)
    }

    fn is_bare(&self) -> bool {
        self.limit == BARE
    }
}

const BARE: &str = "bare loop";

/// Whether a limit is a number of packets.
fn is_depth(limit: &str) -> bool {
    let packets = limit.strip_suffix('p');
    packets.is_some_and(|packets| packets.parse::<u32>().is_ok())
}

/// What a limit gives, beside fixed depths on the same link.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    pub driver: &'static str,
    pub link: String,
    pub rate_bps: Option<u64>,
    pub limit: String,
    /// Of the best fixed depth's packets a second.
    pub throughput_share: f64,
    /// The least fixed depth that reaches 99 % of the best.
    pub least_depth: Option<String>,
    /// Times the bytes in flight of that depth.
    pub inflight_ratio: Option<f64>,
}

/// For every limit what it gives.
pub fn findings(rows: &[Row]) -> Vec<Finding> {
    let limits = rows
        .iter()
        .filter(|row| !row.is_fixed && !row.is_bare() && row.limit_p50.is_some());
    let finding = |row: &Row| {
        let fixed: Vec<&Row> = rows
            .iter()
            .filter(|it| it.is_fixed && it.is_of(row))
            .collect();
        let best = fixed.iter().map(|it| it.pps).max_by(f64::total_cmp)?;
        // Depths are in the order in which they were measured: from the least on.
        let least = fixed.iter().find(|it| it.pps >= ENOUGH * best);
        let ratio = |least: &&Row| {
            row.inflight_bytes.p50 as f64 / (least.inflight_bytes.p50 as f64).max(1.0)
        };
        Some(Finding {
            driver: row.driver,
            link: row.link.clone(),
            rate_bps: row.rate_bps,
            limit: row.limit.clone(),
            throughput_share: three_decimals(row.pps / best.max(1.0)),
            least_depth: least.map(|least| least.limit.clone()),
            inflight_ratio: least.map(|least| three_decimals(ratio(least))),
        })
    };
    limits.filter_map(finding).collect()
}

fn three_decimals(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

/// The document.
#[derive(Debug, Serialize)]
pub struct Document {
    version: u32,
    scenario: &'static str,
    taut_version: &'static str,
    seed: u64,
    interrupted: bool,
    cadence_ns: u64,
    duration_ns: u64,
    rounds: u32,
    rows: Vec<Row>,
    findings: Vec<Finding>,
}

impl Document {
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn new(options: &RingSweep, rows: Vec<Row>, interrupted: bool) -> Self {
        Self {
            version: 1,
            scenario: "ring",
            taut_version: env!("CARGO_PKG_VERSION"),
            seed: options.seed,
            interrupted,
            cadence_ns: options.cadence.0,
            duration_ns: options.duration.0,
            rounds: options.rounds,
            findings: findings(&rows),
            rows,
        }
    }

    /// Tables, a link each: for a terminal, or for a page.
    pub fn text(&self, markdown: bool) -> String {
        let mut text = String::new();
        let mut shown: Vec<&Row> = Vec::new();
        for row in &self.rows {
            if shown.iter().any(|it| it.is_of(row)) {
                continue;
            }
            shown.push(row);
            let rows: Vec<&Row> = self.rows.iter().filter(|it| it.is_of(row)).collect();
            text += &table(&rows, markdown);
            for finding in &self.findings {
                let is_of = (finding.driver, &finding.link, finding.rate_bps)
                    == (row.driver, &row.link, row.rate_bps);
                if is_of {
                    let _ = writeln!(text, "{}", told(finding, markdown));
                }
            }
            if let Some(line) = beside_bare(&rows) {
                let _ = writeln!(text, "{}{line}", if markdown { "- " } else { "" });
            }
            text.push('\n');
        }
        text
    }
}

fn told(finding: &Finding, markdown: bool) -> String {
    let bullet = if markdown { "- " } else { "" };
    let share = finding.throughput_share * 100.0;
    let beside = match (&finding.least_depth, finding.inflight_ratio) {
        (Some(depth), Some(ratio)) => format!(
            "; {ratio:.2} times the bytes in flight of {depth}, the least depth that reaches 99 %"
        ),
        _ => String::new(),
    };
    format!(
        "{bullet}{}: {share:.1} % of the best depth's throughput{beside}",
        finding.limit
    )
}

/// What the path costs where nothing else does.
fn beside_bare(rows: &[&Row]) -> Option<String> {
    let pps = |name: &str| rows.iter().find(|row| row.limit == name).map(|row| row.pps);
    let usual_name = format!("{USUAL_DEPTH}p");
    let (bare, usual) = (pps(BARE)?, pps(&usual_name)?);
    let limits = rows.iter().filter(|row| !row.is_fixed && !row.is_bare());
    let limits: Vec<String> = limits
        .map(|row| format!("{} {:.1} %", row.limit, row.pps / usual.max(1.0) * 100.0))
        .collect();
    Some(format!(
        "{usual_name} makes {:.1} % of the bare loop's packets a second; of {usual_name}'s: {}",
        usual / bare.max(1.0) * 100.0,
        limits.join(", ")
    ))
}

const HEADS: [&str; 7] = [
    "limit",
    "packets/s",
    "in flight p50",
    "p90",
    "completion p50",
    "p99",
    "its median",
];

fn table(rows: &[&Row], markdown: bool) -> String {
    let Some(first) = rows.first() else {
        return String::new();
    };
    let rate = match first.rate_bps {
        Some(rate) => format!(" {}", Rate(rate)),
        None => String::new(),
    };
    let title = format!(
        "{} {} over {}{rate} ({}), completions {}",
        first.driver, first.mode, first.link, first.hardware, first.completions
    );
    let cells = |row: &&Row| {
        let bare = |text: String| if row.is_bare() { "-".to_owned() } else { text };
        let limit = match row.limit_p50 {
            Some(limit) if row.in_packets => format!("{limit}p"),
            Some(limit) => format!("{limit}"),
            None => "-".into(),
        };
        [
            row.limit.clone(),
            format!("{:.0}", row.pps),
            bare(row.inflight_bytes.p50.to_string()),
            bare(row.inflight_bytes.p90.to_string()),
            bare(format!("{:.0} us", row.completion_us.p50)),
            bare(format!("{:.0} us", row.completion_us.p99)),
            limit,
        ]
    };
    let lines: Vec<[String; 7]> = rows.iter().map(cells).collect();
    if markdown {
        let mut text = format!("### {title}\n\n| {} |\n|---|", HEADS.join(" | "));
        text += &"---:|".repeat(HEADS.len() - 1);
        for line in lines {
            let _ = write!(text, "\n| {} |", line.join(" | "));
        }
        return text + "\n\n";
    }
    let width = |column: usize| {
        let cells = lines.iter().map(|line| line[column].len());
        cells.max().unwrap_or(0).max(HEADS[column].len())
    };
    let mut text = format!("{title}\n");
    for line in std::iter::once(HEADS.map(str::to_owned)).chain(lines.clone()) {
        let cell = |(column, cell): (usize, &String)| match column {
            0 => format!("{cell:<0$}", width(column)),
            _ => format!("{cell:>0$}", width(column)),
        };
        let cells: Vec<String> = line.iter().enumerate().map(cell).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

/// A row for tests.
#[cfg(test)]
pub fn example(limit: &str, pps: f64, in_flight: u64) -> Row {
    Row {
        driver: "af_packet",
        mode: "ring",
        link: "veth, tbf".into(),
        hardware: "virtual",
        rate_bps: Some(100_000_000),
        limit: limit.into(),
        pps,
        inflight_bytes: InFlight {
            p50: in_flight,
            p90: in_flight,
        },
        completion_us: Completion { p50: 1.0, p99: 2.0 },
        completions: "true",
        limit_p50: Some(in_flight),
        in_packets: limit.ends_with('p'),
        is_fixed: is_depth(limit),
    }
}

#[cfg(test)]
mod tests {
    use super::example as row;
    use super::*;

    #[test]
    fn a_limit_is_held_against_the_least_depth_that_is_enough() {
        let rows = [
            row("1p", 4_000.0, 1_514),
            row("4p", 8_250.0, 6_056),
            row("16p", 8_256.0, 24_224),
            row("dql", 8_256.0, 9_084),
        ];
        let findings = findings(&rows);
        let [finding] = &findings[..] else {
            panic!("{findings:?}");
        };
        assert_eq!(finding.least_depth.as_deref(), Some("4p"));
        assert_eq!(
            (finding.throughput_share, finding.inflight_ratio),
            (1.0, Some(1.5))
        );
        assert!(told(finding, false).contains("1.50 times"));
    }

    #[test]
    fn the_path_is_held_against_a_bare_loop() {
        let rows = [
            row("bare loop", 1_000_000.0, 0),
            row("1024p", 960_000.0, 1_000_000),
            row("dql", 950_000.0, 80_000),
        ];
        let line = beside_bare(&rows.iter().collect::<Vec<_>>()).expect("both are there");
        assert!(line.contains("96.0 % of the bare loop"), "{line}");
        assert!(line.contains("dql 99.0 %"), "{line}");
    }
}
