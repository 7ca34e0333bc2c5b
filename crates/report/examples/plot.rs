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
    stroke: String,
    #[serde(default)]
    join: String,
    points: Vec<(f64, f64)>,
    #[serde(default)]
    names: Vec<String>,
}

impl ChartSpec {
    fn chart(self) -> Result<Chart, String> {
        let colors: Vec<String> = self
            .lines
            .iter()
            .filter_map(|it| it.color.clone())
            .collect();
        let lines = self.lines.into_iter().map(|line| line.line(&colors));
        Ok(Chart {
            title: self.title,
            description: self.description,
            x: self.x.axis()?,
            y: self.y.axis()?,
            lines: lines.collect::<Result<_, _>>()?,
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

impl LineSpec {
    fn line(self, colors: &[String]) -> Result<Line, String> {
        let stroke = match self.stroke.as_str() {
            "" | "solid" => Stroke::Solid,
            "pale" => Stroke::Pale,
            "dashed" => Stroke::Dashed,
            "dotted" => Stroke::Dotted,
            "points" => Stroke::Points,
            "scatter" => Stroke::Scatter,
            "filled" => Stroke::Filled,
            other => return Err(format!("unknown stroke {other:?}")),
        };
        let join = match self.join.as_str() {
            "" | "step" => Join::Step,
            "straight" => Join::Straight,
            other => return Err(format!("unknown join {other:?}")),
        };
        let color = match self.color {
            Some(name) => limit_color(&name, colors.iter().map(String::as_str)),
            None => NEUTRAL,
        };
        Ok(Line {
            label: self.label,
            color,
            stroke,
            join,
            points: self.points,
            names: self.names,
        })
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
