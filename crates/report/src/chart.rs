//! A chart as data: lines over one pair of axes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::axis::Axis;

/// How a line is drawn, besides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stroke {
    /// A plain line.
    #[default]
    Solid,
    /// A broad, pale line, so that a second line is visible on it.
    Pale,
    /// Dashes.
    Dashed,
    /// Dots.
    Dotted,
    /// A mark at each point, without a line.
    Points,
    /// A small, pale mark at each point, for many points.
    Scatter,
    /// The area that the line encloses.
    Filled,
}

/// Displays the class in the style sheet.
impl fmt::Display for Stroke {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// How two points are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Join {
    /// A value is constant until the next point.
    #[default]
    Step,
    /// A straight line.
    Straight,
}

/// Lines over one pair of axes.
#[derive(Debug)]
pub struct Chart {
    /// The subject.
    pub title: String,
    /// The content in words, for a screen reader.
    pub description: String,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// Later lines are drawn over earlier ones.
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Debug, Default)]
pub struct Line {
    /// The name in the legend. A line without a name is not in the legend.
    pub label: String,
    /// The colour: that of a limit, or [`NEUTRAL`](crate::limit_color::NEUTRAL).
    pub color: usize,
    /// How it is drawn.
    pub stroke: Stroke,
    /// How points are connected.
    pub join: Join,
    /// The points, in order.
    pub points: Vec<(f64, f64)>,
    /// The names of the points, for as many of them as have one.
    pub names: Vec<String>,
}

impl Line {
    /// Returns the classes in the style sheet.
    pub fn classes(&self) -> String {
        format!("line c{} {}", self.color, self.stroke)
    }
}
