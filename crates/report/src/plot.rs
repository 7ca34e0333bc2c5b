//! Charts as SVG: a figure of a page, or a separate file.

use std::fmt::Write;

use crate::chart::{Chart, Join, Line, Stroke};
use crate::escaped::Escaped;

/// The colours and strokes of all charts.
pub(crate) const STYLE: &str = include_str!("plot.css");

/// Size of a chart. It scales to its place; this size keeps the text readable on a phone.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 260.0;

/// The plot area, without axes.
const LEFT: f64 = 46.0;
const RIGHT: f64 = 386.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 214.0;

/// A point nearer to the previous one is invisible.
const VISIBLE: f64 = 0.4;

/// The height of a line of the legend in a file.
const KEY_HEIGHT: f64 = 13.0;

/// The width of a point's name.
const NAME_WIDTH: f64 = 34.0;
const NAME_HEIGHT: f64 = 11.0;

/// Returns `chart` as a figure of a page, with its title and legend. `number` is its place on the
/// page.
pub fn figure(chart: &Chart, number: usize) -> String {
    let mut out = String::new();
    // Writing to a `String` cannot fail, here and below.
    let _ = write!(
        out,
        "<figure class=\"chart\">\n<figcaption>{}</figcaption>\n<ul class=\"legend\">\n",
        Escaped(&chart.title)
    );
    for line in legend(chart) {
        let _ = writeln!(
            out,
            "<li><svg width=\"30\" height=\"10\" aria-hidden=\"true\">\
             <path class=\"{}\" d=\"{}\"/></svg>{}</li>",
            line.classes(),
            sample(line, 0.0, 5.0),
            Escaped(&line.label)
        );
    }
    let _ = write!(
        out,
        "</ul>\n<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-labelledby=\"title{number} desc{number}\">\n\
         <title id=\"title{number}\">{}</title>\n<desc id=\"desc{number}\">{}</desc>\n",
        Escaped(&chart.title),
        Escaped(&chart.description)
    );
    push_plot(&mut out, chart);
    out.push_str("</svg>\n</figure>\n");
    out
}

/// Returns `charts` as one SVG file, two side by side.
pub fn picture(charts: &[Chart]) -> String {
    let columns = charts.len().clamp(1, 2);
    let rows = charts.len().div_ceil(columns);
    let keys = charts.iter().map(|chart| legend(chart).count()).max();
    let head = 18.0 + KEY_HEIGHT * keys.unwrap_or(0) as f64;
    let (width, height) = (WIDTH * columns as f64, (head + HEIGHT) * rows as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<style>\n{STYLE}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"var(--ground)\"/>\n"
    );
    for (at, chart) in charts.iter().enumerate() {
        let x = (at % columns) as f64 * WIDTH;
        let y = (at / columns) as f64 * (head + HEIGHT);
        let _ = write!(
            out,
            "<g transform=\"translate({x} {y})\">\n<title>{}</title>\n<desc>{}</desc>\n\
             <text class=\"axis\" x=\"4\" y=\"12\">{}</text>\n",
            Escaped(&chart.title),
            Escaped(&chart.description),
            Escaped(&chart.title)
        );
        for (key, line) in legend(chart).enumerate() {
            let y = 12.0 + KEY_HEIGHT * (key + 1) as f64;
            let _ = writeln!(
                out,
                "<path class=\"{}\" d=\"{}\"/><text class=\"key\" x=\"40\" y=\"{y}\">{}</text>",
                line.classes(),
                sample(line, 4.0, y - 4.0),
                Escaped(&line.label)
            );
        }
        let _ = writeln!(out, "<g transform=\"translate(0 {head})\">");
        push_plot(&mut out, chart);
        out.push_str("</g>\n</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

fn legend(chart: &Chart) -> impl Iterator<Item = &Line> {
    chart.lines.iter().filter(|line| !line.label.is_empty())
}

/// Returns the path of a line's sample in the legend, 30 units wide.
fn sample(line: &Line, x: f64, y: f64) -> String {
    match line.stroke {
        Stroke::Points | Stroke::Scatter => {
            format!("M{} {y}h0m8 0h0m8 0h0", x + 7.0)
        }
        Stroke::Filled => format!("M{x} {}h30v8h-30z", y - 4.0),
        _ => format!("M{x} {y}H{}", x + 30.0),
    }
}

fn push_plot(out: &mut String, chart: &Chart) {
    push_y_axis(out, chart);
    push_x_axis(out, chart);
    for line in &chart.lines {
        let _ = writeln!(
            out,
            "<path class=\"{}\" d=\"{}\"/>",
            line.classes(),
            path(chart, line)
        );
    }
    push_names(out, chart);
}

fn push_y_axis(out: &mut String, chart: &Chart) {
    for (position, label) in chart.y.ticks() {
        let y = BOTTOM - position * (BOTTOM - TOP);
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>\
             <text class=\"tick end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            Escaped(&label)
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"axis\" x=\"2\" y=\"11\">{}</text>",
        Escaped(&chart.y.title)
    );
}

fn push_x_axis(out: &mut String, chart: &Chart) {
    for (position, label) in chart.x.ticks() {
        let x = LEFT + position * (RIGHT - LEFT);
        // A long label at the end must not exceed the picture.
        let (anchor, at) = if position > 0.97 && label.len() > 4 {
            ("end", RIGHT + 10.0)
        } else {
            ("middle", x)
        };
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{x:.1} {BOTTOM}v5\"/>\
             <text class=\"tick {anchor}\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
            BOTTOM + 18.0,
            Escaped(&label)
        );
    }
    let _ = writeln!(
        out,
        "<path class=\"base\" d=\"M{LEFT} {BOTTOM}H{RIGHT}\"/>\
         <text class=\"axis middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        (LEFT + RIGHT) / 2.0,
        HEIGHT - 8.0,
        Escaped(&chart.x.title)
    );
}

fn place(chart: &Chart, (x, y): (f64, f64)) -> (f64, f64) {
    (
        LEFT + chart.x.position(x) * (RIGHT - LEFT),
        BOTTOM - chart.y.position(y) * (BOTTOM - TOP),
    )
}

/// Returns the path through the points of a line.
fn path(chart: &Chart, line: &Line) -> String {
    let mut out = String::new();
    let mut last: Option<(f64, f64)> = None;
    for (at, &point) in line.points.iter().enumerate() {
        let (x, y) = place(chart, point);
        if matches!(line.stroke, Stroke::Points | Stroke::Scatter) {
            let _ = write!(out, "M{x:.1} {y:.1}h0");
            continue;
        }
        match last {
            None => {
                let _ = write!(out, "M{x:.1} {y:.1}");
            }
            Some((last_x, last_y)) => {
                let end = at + 1 == line.points.len();
                let near = (x - last_x).abs() < VISIBLE && (y - last_y).abs() < VISIBLE;
                if !end && near {
                    continue;
                }
                let _ = match line.join {
                    Join::Step => write!(out, "H{x:.1}V{y:.1}"),
                    Join::Straight => write!(out, "L{x:.1} {y:.1}"),
                };
            }
        }
        last = Some((x, y));
    }
    out
}

/// Writes the names of points: those of the first line below, of the others above their points.
fn push_names(out: &mut String, chart: &Chart) {
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for (at, line) in chart.lines.iter().enumerate() {
        let (offset, step) = match at {
            0 => (14.0, NAME_HEIGHT),
            _ => (-8.0, -NAME_HEIGHT),
        };
        for (&point, name) in line.points.iter().zip(&line.names) {
            let (x, mut y) = place(chart, point);
            y += offset;
            let overlaps = |y: f64, &(other_x, other_y): &(f64, f64)| {
                (x - other_x).abs() < NAME_WIDTH && (y - other_y).abs() < NAME_HEIGHT
            };
            while taken.iter().any(|other| overlaps(y, other)) {
                y += step;
            }
            taken.push((x, y));
            let _ = writeln!(
                out,
                "<text class=\"name middle c{}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
                line.color,
                Escaped(name)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;

    fn chart(points: Vec<(f64, f64)>) -> Chart {
        Chart {
            title: "a < b".to_owned(),
            description: "\"quoted\"".to_owned(),
            x: Axis::linear("time (s)", 10.0),
            y: Axis::linear("bytes", 100.0),
            lines: vec![Line {
                label: "one".to_owned(),
                color: 1,
                points,
                ..Line::default()
            }],
        }
    }

    #[test]
    fn step_holds_value_until_next_point() {
        let chart = chart(vec![(0.0, 0.0), (5.0, 100.0), (10.0, 100.0)]);
        let path = path(&chart, &chart.lines[0]);
        assert_eq!(path, "M46.0 214.0H216.0V22.0H386.0V22.0");
    }

    #[test]
    fn strokes_and_joins_differ() {
        let mut chart = chart(vec![(0.0, 0.0), (10.0, 100.0)]);
        chart.lines[0].join = Join::Straight;
        assert_eq!(path(&chart, &chart.lines[0]), "M46.0 214.0L386.0 22.0");
        chart.lines[0].stroke = Stroke::Points;
        assert_eq!(path(&chart, &chart.lines[0]), "M46.0 214.0h0M386.0 22.0h0");
    }

    #[test]
    fn invisible_points_are_left_out_except_the_last() {
        let many = (0..=100_000).map(|at| (f64::from(at) / 10_000.0, 50.0));
        let chart = chart(many.collect());
        let path = path(&chart, &chart.lines[0]);
        assert!(path.len() < 20_000, "{}", path.len());
        assert!(path.ends_with("H386.0V118.0"), "{path}");
    }

    #[test]
    fn figure_has_escaped_title_and_description() {
        let drawn = figure(&chart(vec![(0.0, f64::NAN), (1.0, f64::INFINITY)]), 3);
        assert!(drawn.contains("<title id=\"title3\">a &lt; b</title>"));
        assert!(drawn.contains("<desc id=\"desc3\">&quot;quoted&quot;</desc>"));
        assert!(drawn.contains(">time (s)</text>") && drawn.contains(">bytes</text>"));
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"));
    }

    #[test]
    fn no_points_are_an_empty_path() {
        let chart = chart(Vec::new());
        assert_eq!(path(&chart, &chart.lines[0]), "");
    }

    #[test]
    fn names_do_not_overlap() {
        let mut chart = chart(vec![(5.0, 50.0), (5.0, 50.0)]);
        chart.lines[0].names = vec!["1p".to_owned(), "2p".to_owned()];
        let drawn = picture(&[chart]);
        assert!(drawn.contains("y=\"132.0\">1p<") && drawn.contains("y=\"143.0\">2p<"));
    }

    #[test]
    fn picture_has_a_panel_for_each_chart() {
        let drawn = picture(&[chart(Vec::new()), chart(Vec::new()), chart(Vec::new())]);
        assert!(
            drawn.contains("viewBox=\"0 0 800 582\""),
            "{}",
            &drawn[..200]
        );
        assert_eq!(drawn.matches("<desc>").count(), 3);
        assert!(drawn.contains("translate(0 291)"));
    }
}
