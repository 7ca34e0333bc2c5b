//! Draws the screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Paragraph};
use taut_linux::observe::excess_bytes;
use taut_observe::METRICS;
use taut_observe::sampler::{Bucket, History, SampledQueue, Spread};
use taut_report::layout::fold;
use taut_report::number::short_time;

use super::curve::{WINDOW_BUCKETS, amount, curve, name, queueing, rate_hz, top_of_curve};
use super::screen::Screen;
use crate::show::cell;

const BLOCKS: [char; 9] = [
    ' ', '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}',
    '\u{2588}',
];
const ASCII: [char; 5] = [' ', '.', '-', '=', '#'];

/// The abilities of the terminal.
#[derive(Debug, Clone, Copy)]
pub struct Appearance {
    pub color: bool,
    pub unicode: bool,
}

impl Appearance {
    /// Reads the environment.
    pub fn of_environment() -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|it| !it.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let locale = locale.unwrap_or_default().to_lowercase();
        Self {
            color: set("NO_COLOR").is_none(),
            unicode: locale.contains("utf-8") || locale.contains("utf8"),
        }
    }

    fn fg(self, color: Color) -> Style {
        match self.color {
            true => Style::new().fg(color),
            false => Style::new(),
        }
    }
}

pub fn draw(frame: &mut Frame<'_>, screen: &mut Screen, style: Appearance) {
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(heading(screen, style), head);
    match screen.in_detail {
        true => detail(frame, screen, style, body),
        false => table(frame, screen, style, body),
    }
    frame.render_widget(footer(screen, style), foot);
}

fn heading(screen: &Screen, style: Appearance) -> Paragraph<'static> {
    let queues = screen.queues();
    let rate = queues.first().map_or(0, |it| rate_hz(&it.samples));
    let mut spans = vec![
        Span::from("taut top  ").bold(),
        Span::from(format!(
            "{} queues, by {}, {rate} Hz",
            queues.len(),
            screen.sort.name()
        )),
    ];
    if screen.paused {
        spans.push(Span::from("  PAUSED").style(style.fg(Color::Yellow)).bold());
    }
    Paragraph::new(Line::from(spans))
}

fn footer(screen: &Screen, style: Appearance) -> Paragraph<'static> {
    let enter = if screen.in_detail { "back" } else { "detail" };
    let text = format!("q quit  s sort  p pause  Enter {enter}  up/down select");
    Paragraph::new(text).style(style.fg(Color::Cyan))
}

/// Width of the columns right of the name, each with a space in front.
const NUMBERS: usize = 6 + 10 + 9 + 9 + 9 + 8;
const NAME: usize = 12;

fn table(frame: &mut Frame<'_>, screen: &mut Screen, style: Appearance, area: Rect) {
    screen.page = usize::from(area.height).saturating_sub(1);
    let line = screen.line();
    // The selected line must be on the screen.
    screen.first = screen
        .first
        .min(line)
        .max((line + 1).saturating_sub(screen.page));
    let width = usize::from(area.width);
    let queues = screen.queues();
    let names = queues.iter().map(|it| name(&it.row).chars().count()).max();
    let wide = width.saturating_sub(NUMBERS + 12).max(NAME);
    let name_width = names.unwrap_or(0).clamp(NAME, wide);
    let curve_width = width.saturating_sub(name_width + NUMBERS + 1);
    let titles = format!(
        "{:<name_width$}{:>6}{:>10}{:>9}{:>9}{:>9}{:>8} {:<curve_width$}",
        "device", "queue", "limit", "min", "mean", "max", "time", "in flight"
    );
    let mut lines = vec![Line::from(titles).style(Style::new().add_modifier(Modifier::UNDERLINED))];
    for (at, queue) in queues
        .iter()
        .enumerate()
        .skip(screen.first)
        .take(screen.page)
    {
        let row = row(queue, name_width, curve_width, style);
        lines.push(match at == line {
            true => row.style(Style::new().add_modifier(Modifier::REVERSED)),
            false => row,
        });
    }
    if queues.is_empty() {
        let text = "no queue with a working byte limit; run taut show for the reason";
        lines.push(Line::from(text));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn row(
    queue: &SampledQueue<History>,
    name_width: usize,
    curve_width: usize,
    style: Appearance,
) -> Line<'static> {
    let window = queue.samples.sum(WINDOW_BUCKETS).in_flight;
    let name: String = name(&queue.row).chars().take(name_width).collect();
    let limit = queue.row.limits.limit.map_or("-".to_owned(), amount);
    let excess = queue.row.limits.in_flight.and_then(excess_bytes);
    let of_window = |value: fn(&_) -> u64| match window.number {
        0 => excess.map_or("-".to_owned(), |it| format!("-{}", amount(it))),
        _ => amount(value(&window)),
    };
    let time = queueing(queue).0.map_or("-".to_owned(), short_time);
    let text = format!(
        "{name:<name_width$}{:>6}{limit:>10}{:>9}{:>9}{:>9}{time:>8} ",
        queue.row.queue,
        of_window(|it| it.min),
        of_window(|it| it.mean().unwrap_or(0)),
        of_window(|it| it.max),
    );
    let levels: &[char] = if style.unicode { &BLOCKS } else { &ASCII };
    let curve = curve(&queue.samples, curve_width, top_of_curve(queue), levels);
    Line::from(vec![
        Span::from(text),
        Span::from(curve).style(style.fg(Color::Green)),
    ])
}

fn detail(frame: &mut Frame<'_>, screen: &Screen, style: Appearance, area: Rect) {
    let Some(queue) = screen.selected() else {
        frame.render_widget(Paragraph::new("queue removed"), area);
        return;
    };
    let close = screen.close.as_ref();
    let history = close
        .filter(|it| it.last(1).count() > 0)
        .unwrap_or(&queue.samples);
    let [text, chart] = Layout::vertical([Constraint::Length(5), Constraint::Min(1)]).areas(area);
    frame.render_widget(
        Paragraph::new(describe(queue, history, usize::from(area.width))),
        text,
    );
    draw_chart(frame, history, style, chart);
}

/// Describes a queue in lines of at most `width`.
fn describe(queue: &SampledQueue<History>, history: &History, width: usize) -> Vec<Line<'static>> {
    let title = format!(
        "{} queue {}, sampled {} times a second",
        name(&queue.row),
        queue.row.queue,
        rate_hz(history)
    );
    let window_ns = 1_000_000_000;
    let buckets = (window_ns / history.bucket_ns) as usize;
    let Bucket { limit, in_flight } = history.sum(buckets);
    let spread = |title: &str, it: Spread| match it.mean() {
        None => format!("{title}: -"),
        Some(mean) => {
            let time = queue.row.link_time_ns(Some(mean));
            let time = time.map_or(String::new(), |ns| format!(" ({})", short_time(ns)));
            let (min, max) = (amount(it.min), amount(it.max));
            format!("{title}: {min} / {}{time} / {max}", amount(mean))
        }
    };
    let settings = METRICS
        .iter()
        .filter(|metric| !metric.has_own_line())
        .filter_map(|metric| {
            let text = cell(metric, &queue.row);
            (text != "-").then(|| format!("{} {text}", metric.name))
        });
    let settings: Vec<String> = settings.collect();
    let mut lines = vec![
        Line::from(title).bold(),
        Line::from(spread("limit, min / mean / max of a second", limit)),
        Line::from(spread("in flight", in_flight)),
    ];
    let folded = fold(&settings.join("  "), 0, Some(width.max(20)));
    lines.extend(
        folded
            .lines()
            .take(2)
            .map(|line| Line::from(line.to_owned())),
    );
    lines
}

fn draw_chart(frame: &mut Frame<'_>, history: &History, style: Appearance, area: Rect) {
    let columns = usize::from(area.width).saturating_mul(2).max(2);
    let seconds = |at: usize| at as f64 * history.bucket_ns as f64 / 1e9;
    let buckets: Vec<&Bucket> = history.last(columns).collect();
    let start = -seconds(buckets.len().saturating_sub(1));
    let points = |value: fn(&Bucket) -> u64| -> Vec<(f64, f64)> {
        let point = |(at, it): (usize, &&Bucket)| (start + seconds(at), value(it) as f64);
        let known = buckets.iter().enumerate();
        known
            .filter(|(_, it)| it.in_flight.number > 0)
            .map(point)
            .collect()
    };
    let (limit, in_flight) = (points(|it| it.limit.max), points(|it| it.in_flight.max));
    let top = limit
        .iter()
        .chain(&in_flight)
        .map(|&(_, y)| y)
        .fold(1.0, f64::max)
        * 1.05;
    let marker = match style.unicode {
        true => Marker::Braille,
        false => Marker::Block,
    };
    let line = |title, points, color| {
        Dataset::default()
            .name(title)
            .marker(marker)
            .graph_type(GraphType::Line)
            .style(style.fg(color))
            .data(points)
    };
    let datasets = vec![
        line("in flight, max", &in_flight, Color::Green),
        line("limit", &limit, Color::Yellow),
    ];
    let y_labels = [0.0, top / 2.0, top].map(|y| amount(y as u64));
    let x_labels = [format!("{start:.0}s"), "now".to_owned()];
    let chart = Chart::new(datasets)
        .x_axis(
            Axis::default()
                .bounds([start.min(-0.1), 0.0])
                .labels(x_labels),
        )
        .y_axis(Axis::default().bounds([0.0, top]).labels(y_labels));
    frame.render_widget(chart, area);
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use taut_linux::observe::Sample;
    use taut_observe::sampler::Collector;

    use super::super::screen::tests::{queue, with};
    use super::*;

    const PLAIN: Appearance = Appearance {
        color: false,
        unicode: false,
    };

    fn render(screen: &mut Screen, (columns, lines): (u16, u16), style: Appearance) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
        terminal.draw(|frame| draw(frame, screen, style)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        if !style.color {
            assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset));
        }
        let lines = buffer.content.chunks(usize::from(columns));
        lines
            .map(|line| line.iter().map(|cell| cell.symbol()).collect())
            .collect()
    }

    #[test]
    fn eighty_columns_show_a_queue_with_its_curve() {
        let mut screen = with(
            (0..64)
                .map(|at| queue(&format!("eth{at}"), at * 100))
                .collect(),
        );
        let lines = render(&mut screen, (80, 24), PLAIN);
        assert!(
            lines[0].starts_with("taut top  64 queues, by in-flight time, 20 Hz"),
            "{lines:#?}"
        );
        assert!(
            lines[1].starts_with("device       queue     limit      min"),
            "{lines:#?}"
        );
        assert!(
            lines[2].starts_with("eth63            0    40,000    6,300    6,495    6,690    52us"),
            "{lines:#?}"
        );
        assert!(lines[2].trim_end().ends_with("...."), "a curve: {lines:#?}");
        assert!(lines[23].starts_with("q quit"), "{lines:#?}");
        screen.select(usize::MAX);
        let lines = render(&mut screen, (80, 24), PLAIN);
        assert!(
            lines[22].starts_with("eth0 "),
            "the selected line is on the screen: {lines:#?}"
        );
    }

    #[test]
    fn negative_bytes_in_flight_are_shown() {
        let mut negative = queue("eth0", 0);
        let in_flight = 4_294_965_782;
        negative.row.limits.in_flight = Some(in_flight);
        negative.samples = History::new(100_000_000, 100);
        let limit = 9084;
        negative.samples.add(0, Sample { limit, in_flight });
        let lines = render(&mut with(vec![negative]), (80, 24), PLAIN);
        assert!(
            lines[2].contains("  -1,514   -1,514   -1,514"),
            "{lines:#?}"
        );
    }

    #[test]
    fn detail_has_a_chart_at_any_size() {
        let mut screen = with(vec![queue("eth0", 20_000)]);
        screen.in_detail = true;
        let lines = render(&mut screen, (80, 24), PLAIN);
        assert!(
            lines[1].starts_with("eth0 queue 0, sampled 20 times a second"),
            "{lines:#?}"
        );
        assert!(
            lines.iter().any(|line| line.contains("in flight, max")),
            "{lines:#?}"
        );
        for style in [
            PLAIN,
            Appearance {
                color: true,
                unicode: true,
            },
        ] {
            for size in [(1, 1), (5, 3), (20, 8), (80, 2), (300, 100)] {
                for in_detail in [false, true] {
                    screen.in_detail = in_detail;
                    render(&mut screen, size, style);
                }
            }
        }
        let mut empty = with(Vec::new());
        assert!(
            render(&mut empty, (80, 24), PLAIN)[2]
                .starts_with("no queue with a working byte limit")
        );
    }
}
