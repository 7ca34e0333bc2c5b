//! A chart as SVG inside of a page.

use std::fmt::Write;

use super::chart::{Chart, Line};
use super::html::Escaped;

/// The whole picture. It is scaled to its place; so small that its text stays readable on a phone.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 260.0;

/// The plot, without axes.
const LEFT: f64 = 46.0;
const RIGHT: f64 = 386.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 214.0;

/// What is nearer to the last point than this is not seen.
const SEEN: f64 = 0.4;

/// The picture of `chart`, the `number`th of its page.
pub fn draw(chart: &Chart, number: usize) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail, here and below.
    let _ = write!(
        out,
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-labelledby=\"title{number} desc{number}\">\n\
         <title id=\"title{number}\">{}</title>\n<desc id=\"desc{number}\">{}</desc>\n",
        Escaped(&chart.title),
        Escaped(&chart.description)
    );
    push_y_axis(&mut out, chart);
    push_x_axis(&mut out, chart);
    for line in &chart.lines {
        let _ = writeln!(
            out,
            "<path class=\"{}\" d=\"{}\"/>",
            line.classes(),
            path(chart, line)
        );
    }
    out.push_str("</svg>\n");
    out
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
        // A long label at the end must not leave the picture.
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

/// Steps through the points: a value holds until the next one.
fn path(chart: &Chart, line: &Line) -> String {
    let mut out = String::new();
    let mut last: Option<(f64, f64)> = None;
    for (at, &(x, y)) in line.points.iter().enumerate() {
        let x = LEFT + chart.x.position(x) * (RIGHT - LEFT);
        let y = BOTTOM - chart.y.position(y) * (BOTTOM - TOP);
        match last {
            None => {
                let _ = write!(out, "M{x:.1} {y:.1}");
            }
            Some((last_x, last_y)) => {
                let end = at + 1 == line.points.len();
                if !end && (x - last_x).abs() < SEEN && (y - last_y).abs() < SEEN {
                    continue;
                }
                let _ = write!(out, "H{x:.1}V{y:.1}");
            }
        }
        last = Some((x, y));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;
    use crate::chart::Stroke;

    fn chart(points: Vec<(f64, f64)>) -> Chart {
        Chart {
            title: "a < b".to_owned(),
            description: "\"quoted\"".to_owned(),
            x: Axis::linear("time (s)", 10.0),
            y: Axis::linear("bytes", 100.0),
            lines: vec![Line {
                label: "one".to_owned(),
                color: 1,
                stroke: Stroke::Solid,
                points,
            }],
        }
    }

    #[test]
    fn a_value_holds_until_the_next_point() {
        let chart = chart(vec![(0.0, 0.0), (5.0, 100.0), (10.0, 100.0)]);
        let path = path(&chart, &chart.lines[0]);
        assert_eq!(path, "M46.0 214.0H216.0V22.0H386.0V22.0");
    }

    #[test]
    fn what_cannot_be_seen_is_left_out_but_for_the_end() {
        let many = (0..=100_000).map(|at| (f64::from(at) / 10_000.0, 50.0));
        let chart = chart(many.collect());
        let path = path(&chart, &chart.lines[0]);
        assert!(path.len() < 20_000, "{}", path.len());
        assert!(path.ends_with("H386.0V118.0"), "{path}");
    }

    #[test]
    fn a_picture_says_what_it_is_and_escapes_it() {
        let drawn = draw(&chart(vec![(0.0, f64::NAN), (1.0, f64::INFINITY)]), 3);
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
}
