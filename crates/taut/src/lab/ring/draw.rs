//! The sweeps as one picture: throughput over bytes in flight, a panel for each shaped link.

use std::fmt::Write;

use taut_path::units::Rate;

use super::rows::Row;

const PANEL_WIDTH: f64 = 340.0;
const PANEL_HEIGHT: f64 = 250.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 40.0;
/// The axis of bytes in flight, in powers of ten.
const DECADES: (f64, f64) = (3.0, 7.0);
/// The room of a name.
const NAME_WIDTH: f64 = 34.0;
const NAME_HEIGHT: f64 = 11.0;
/// Colours that also those see apart who see few.
const COLOURS: [&str; 4] = ["#d55e00", "#0072b2", "#009e73", "#cc79a7"];

/// Draws the links that have a rate.
pub fn svg(rows: &[Row]) -> String {
    let mut panels: Vec<Vec<&Row>> = Vec::new();
    for row in rows.iter().filter(|row| row.rate_bps.is_some()) {
        match panels.iter_mut().find(|panel| panel[0].is_of(row)) {
            Some(panel) => panel.push(row),
            None => panels.push(vec![row]),
        }
    }
    let columns = panels.len().clamp(1, 2);
    let lines = panels.len().div_ceil(columns);
    let (width, height) = (PANEL_WIDTH * columns as f64, PANEL_HEIGHT * lines as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (number, panel) in panels.iter().enumerate() {
        let x = (number % columns) as f64 * PANEL_WIDTH;
        let y = (number / columns) as f64 * PANEL_HEIGHT;
        let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">");
        draw(panel, &mut svg);
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

fn at_x(bytes: u64) -> f64 {
    let (from, to) = DECADES;
    let share = ((bytes.max(1) as f64).log10().clamp(from, to) - from) / (to - from);
    LEFT + share * (PANEL_WIDTH - LEFT - RIGHT)
}

fn at_y(share: f64) -> f64 {
    TOP + (1.0 - share.clamp(0.0, 1.1) / 1.1) * (PANEL_HEIGHT - TOP - BOTTOM)
}

/// Where names stand, so that none stands on another.
#[derive(Default)]
struct Names(Vec<(f64, f64)>);

impl Names {
    /// The place of a name, from `y` on by steps until it is free.
    fn place(&mut self, x: f64, mut y: f64, step: f64) -> f64 {
        let is_taken = |y: f64, names: &[(f64, f64)]| {
            let near = |&(other_x, other_y): &(f64, f64)| {
                (x - other_x).abs() < NAME_WIDTH && (y - other_y).abs() < NAME_HEIGHT
            };
            names.iter().any(near)
        };
        while is_taken(y, &self.0) {
            y += step;
        }
        self.0.push((x, y));
        y
    }
}

fn draw(rows: &[&Row], svg: &mut String) {
    let mut names = Names::default();
    let fixed: Vec<&&Row> = rows.iter().filter(|row| row.is_fixed).collect();
    let best = rows.iter().map(|row| row.pps).max_by(f64::total_cmp);
    let best = best.unwrap_or(0.0).max(1.0);
    axes(rows[0], svg);
    let place = |row: &Row| (at_x(row.inflight_bytes.p50), at_y(row.pps / best));
    let points: Vec<String> = fixed
        .iter()
        .map(|row| {
            let (x, y) = place(row);
            format!("{x:.1},{y:.1}")
        })
        .collect();
    let points = points.join(" ");
    let _ = writeln!(
        svg,
        "<polyline points=\"{points}\" fill=\"none\" stroke=\"#888888\"/>"
    );
    for row in &fixed {
        let (x, y) = place(row);
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"#888888\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#666666\">{}</text>",
            names.place(x, y + 14.0, NAME_HEIGHT),
            row.limit
        );
    }
    let limits = rows.iter().filter(|row| !row.is_fixed);
    for (row, colour) in limits.zip(COLOURS.iter().cycle()) {
        let (x, y) = place(row);
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"{colour}\" \
             font-weight=\"bold\">{}</text>",
            names.place(x, y - 8.0, -NAME_HEIGHT),
            row.limit
        );
    }
}

fn axes(row: &Row, svg: &mut String) {
    let rate = row.rate_bps.map(|rate| Rate(rate).to_string());
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"16\" font-weight=\"bold\">{} over {} {} ({})</text>",
        row.driver,
        row.link,
        rate.unwrap_or_default(),
        row.hardware
    );
    let (right, bottom) = (PANEL_WIDTH - RIGHT, PANEL_HEIGHT - BOTTOM);
    for share in [0.0, 0.5, 1.0] {
        let y = at_y(share);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.0} %</text>",
            LEFT - 6.0,
            y + 4.0,
            share * 100.0
        );
    }
    for (bytes, name) in [
        (1_000, "1 KB"),
        (10_000, "10 KB"),
        (100_000, "100 KB"),
        (1_000_000, "1 MB"),
    ] {
        let x = at_x(bytes);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#eeeeee\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
            bottom + 14.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">bytes in flight, median; depths in \
         packets</text>",
        (LEFT + right) / 2.0,
        bottom + 30.0
    );
}

#[cfg(test)]
mod tests {
    use super::super::rows::example;
    use super::*;

    #[test]
    fn every_shaped_link_has_a_panel_and_every_row_its_name() {
        let rows = [
            example("1p", 4_000.0, 1_514),
            example("64p", 8_000.0, 96_896),
            example("dql", 8_000.0, 9_000),
        ];
        let svg = svg(&rows);
        assert_eq!(svg.matches("<g ").count(), 1);
        for name in [">1p<", ">64p<", ">dql<", "100mbit (virtual)"] {
            assert!(svg.contains(name), "{name}: {svg}");
        }
    }
}
