//! The way, for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::picture::{Part, Picture};
use taut_report::layout::fold;
use taut_report::number::{readable, short_time};

/// Length of the longest bar.
const BAR: usize = 16;

pub fn json(picture: &Picture) -> Value {
    let row = |it: &Part| {
        json!({
            "where": it.name,
            "bytes": it.bytes,
            "packets": it.packets,
            "time_ns": it.bytes.and_then(|bytes| picture.time_ns(bytes)),
            "overtaken_by": it.overtaken.name(),
            "in_memory": it.in_memory,
            "within_the_one_before": it.within,
            "note": it.note,
        })
    };
    json!({
        "version": 1,
        "taut_version": env!("CARGO_PKG_VERSION"),
        "target": picture.title,
        "device": picture.device,
        "rate_bits_per_s": picture.rate_bits_per_s,
        "rows": picture.parts.iter().map(row).collect::<Vec<_>>(),
        "advice": picture.advice,
        "unseen": picture.unseen,
    })
}

pub fn text(picture: &Picture, width: Option<usize>) -> String {
    let rate = picture.rate_bits_per_s as f64 / 1e6;
    let mut out = match picture.title == picture.device {
        true => format!("{}, sending {rate:.1} Mbit/s\n\n", picture.device),
        false => format!(
            "{} over {}, sending {rate:.1} Mbit/s\n\n",
            picture.title, picture.device
        ),
    };
    let largest = picture
        .parts
        .iter()
        .filter_map(|it| it.bytes)
        .max()
        .unwrap_or(0);
    let name_width = picture
        .parts
        .iter()
        .map(|it| it.name.chars().count() + 2)
        .max()
        .unwrap_or(0);
    for part in &picture.parts {
        let name = match part.within {
            true => format!("  {}", part.name),
            false => part.name.clone(),
        };
        let (bytes, time) = match part.bytes {
            None => ("unknown".to_owned(), String::new()),
            Some(bytes) => {
                let time = picture.time_ns(bytes).map_or(String::new(), short_time);
                (readable(&json!(bytes)), time)
            }
        };
        let bar = bar(part, largest);
        let overtaken = part.overtaken.text();
        let line = format!("{name:<name_width$} {bytes:>11} {time:>7} {bar:<BAR$} {overtaken}");
        let _ = writeln!(out, "{}", line.trim_end());
        if !part.note.is_empty() {
            let _ = writeln!(out, "{:name_width$} {:>11} {}", "", "", part.note);
        }
    }
    out.push('\n');
    out += &fold(&picture.advice, 0, width);
    out += &fold(
        &format!("Not seen: {}.", picture.unseen.join("; ")),
        2,
        width,
    );
    out
}

/// `#` where nothing can overtake, `=` where something can, `?` where nobody knows.
fn bar(part: &Part, largest: u64) -> String {
    use super::picture::Overtaken::Nothing;
    let Some(bytes) = part.bytes else {
        return "?".to_owned();
    };
    let length = u128::from(bytes) * BAR as u128;
    let length = length.div_ceil(u128::from(largest.max(1))) as usize;
    let mark = if part.overtaken == Nothing { "#" } else { "=" };
    mark.repeat(length)
}
