//! Draws charts: reads a list of them as JSON from standard input, and writes one SVG file to
//! standard output.
//!
//! ```sh
//! echo '[{"title": "a link", "x": {"title": "bytes", "low": 1e3, "high": 1e6},
//!   "y": {"title": "%", "high": 100},
//!   "lines": [{"label": "dql", "color": "dql", "points": [[2e3, 40], [2e4, 99]]}]}]' |
//!   cargo run -p taut-report --example plot >link.svg
//! ```
//!
//! An axis has `names`, or `high`, or `low` and `high` (logarithmic). A `color` names a limit;
//! other names get the remaining colours. `stroke` and `join` are the values of
//! `taut_report::chart` in lower case.

use std::error::Error;
use std::io::{Read, Write, stdin, stdout};

use serde::Deserialize;
use taut_report::axis::Axis;
use taut_report::chart::{Chart, Join, Line, Stroke};
use taut_report::limit_color::{NEUTRAL, limit_color};
use taut_report::plot::picture;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChartSpec {
    title: String,
    #[serde(default)]
    description: String,
    x: AxisSpec,
    y: AxisSpec,
    lines: Vec<LineSpec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AxisSpec {
    title: String,
    names: Option<Vec<String>>,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineSpec {
    #[serde(default)]
    label: String,
    color: Option<String>,
    #[serde(default)]
    stroke: Stroke,
    #[serde(default)]
    join: Join,
    points: Vec<(f64, f64)>,
    #[serde(default)]
    names: Vec<String>,
}

impl ChartSpec {
    fn chart(self) -> Result<Chart, String> {
        let colors = self.lines.iter().filter_map(|it| it.color.clone());
        let colors: Vec<String> = colors.collect();
        let color = |name: &str| limit_color(name, colors.iter().map(String::as_str));
        let lines = self.lines.into_iter().map(|line| Line {
            color: line.color.as_deref().map_or(NEUTRAL, color),
            label: line.label,
            stroke: line.stroke,
            join: line.join,
            points: line.points,
            names: line.names,
        });
        Ok(Chart {
            title: self.title,
            description: self.description,
            x: self.x.axis()?,
            y: self.y.axis()?,
            lines: lines.collect(),
        })
    }
}

impl AxisSpec {
    fn axis(self) -> Result<Axis, String> {
        match (self.names, self.low, self.high) {
            (Some(names), None, None) => Ok(Axis::names(self.title, names)),
            (None, None, Some(high)) => Ok(Axis::linear(self.title, high)),
            (None, Some(low), Some(high)) => Ok(Axis::logarithmic(self.title, low, high)),
            _ => Err(format!(
                "axis {:?}: expected names, high, or low and high",
                self.title
            )),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let specs: Vec<ChartSpec> = serde_json::from_str(&text)?;
    let charts: Vec<Chart> = specs
        .into_iter()
        .map(ChartSpec::chart)
        .collect::<Result<_, _>>()?;
    stdout().write_all(picture(&charts).as_bytes())?;
    Ok(())
}
