//! `taut where`: where bytes wait on their way out.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use taut_observe::waiting::{OvertakenBy, Stage, WaitingBytes, locate};
use taut_path::units::Time;
use taut_report::document::envelope;
use taut_report::layout::fold;
use taut_report::number::{readable, short_time};
use taut_report::{exit, stdout};

use crate::parse::{PERIODS, within};
use crate::repeat::{self, Shown};
use crate::selection::PlaceArgs;

/// Show where outgoing bytes wait: socket, qdisc, limit, ring
///
/// Draws the whole transmit path. Each part shows its bytes, the time to send them at the current
/// rate, and which packets can overtake them: those of another flow, or of higher priority. Lists
/// the parts that cannot be measured, and how to remove the largest part that nothing can overtake.
/// With --sysfs, only a device and its rings are shown.
/// The command changes nothing. It needs no privilege, with two exceptions: a process of another
/// user needs root, and -n needs CAP_SYS_ADMIN.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Where {
    /// Device, process id, or port as :443 (443 too, if no process has that id)
    #[arg(value_name = "DEV|PID|PORT")]
    pub target: String,

    /// Measurement time of the rate
    #[arg(short = 't', long, value_name = "TIME", default_value = "500ms",
          value_parser = within(SAMPLE_TIMES))]
    pub duration: Time,

    /// Repeat every TIME, after each measurement
    #[arg(short, long, value_name = "TIME", value_parser = within(PERIODS))]
    pub watch: Option<Time>,

    /// Print one JSON document; with -w, one per line
    #[arg(short, long)]
    pub json: bool,

    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Measurement times: a rate needs some packets.
const SAMPLE_TIMES: RangeInclusive<Time> = Time::ms(10)..=Time::ms(60_000);

const AFTER_HELP: &str = "\
Times need a unit (500ms).
Exit codes: 0 done, 1 failed (no such device, process or port), 2 bad usage,
77 a privilege or kernel feature is missing.
Examples:
  taut where eth0
  taut where :443 --duration 2s --json";

/// `taut where`.
pub fn where_(options: &Where) -> Result<ExitCode, ExitCode> {
    let host = options.place.open()?;
    if host.namespace.is_none() && options.place.sysfs.is_none() {
        let message = "where needs netlink, which is not available here";
        return Err(exit::fail(exit::CANNOT_RUN_HERE, message));
    }
    let (target, duration_ns) = (&options.target, options.duration.0);
    repeat::print(options.watch, || {
        let waiting = locate(target, &host, duration_ns).map_err(exit::failed)?;
        Ok(match options.json {
            true => Shown::Json(document(&waiting)),
            false => Shown::Text(text(&waiting, stdout::columns())),
        })
    })
}

/// Returns the JSON document.
fn document(waiting: &WaitingBytes) -> Value {
    let row = |it: &Stage| {
        json!({
            "where": it.name,
            "bytes": it.bytes,
            "packets": it.packets,
            "time_ns": it.bytes.and_then(|bytes| waiting.time_ns(bytes)),
            "overtaken_by": it.overtaken_by.name(),
            "in_memory": it.in_memory,
            "within_the_one_before": it.within,
            "note": it.note,
        })
    };
    envelope(json!({
        "target": waiting.title,
        "device": waiting.device,
        "rate_bits_per_s": waiting.rate_bits_per_s,
        "rows": waiting.stages.iter().map(row).collect::<Vec<_>>(),
        "advice": waiting.advice,
        "unseen": waiting.unseen,
    }))
}

/// Length of the longest bar.
const BAR: usize = 16;

/// Returns the drawing.
fn text(waiting: &WaitingBytes, width: Option<usize>) -> String {
    let rate = waiting.rate_bits_per_s as f64 / 1e6;
    let (title, device) = (&waiting.title, &waiting.device);
    let mut out = match title == device {
        true => format!("{device}, sending {rate:.1} Mbit/s\n\n"),
        false => format!("{title} over {device}, sending {rate:.1} Mbit/s\n\n"),
    };
    let stages = || waiting.stages.iter();
    let largest = stages().filter_map(|it| it.bytes).max().unwrap_or(0);
    let names = stages().map(|it| it.name.chars().count() + 2);
    let name_width = names.max().unwrap_or(0);
    for stage in stages() {
        let name = match stage.within {
            true => format!("  {}", stage.name),
            false => stage.name.clone(),
        };
        let (bytes, time) = match stage.bytes {
            None => ("unknown".to_owned(), String::new()),
            Some(bytes) => {
                let time = waiting.time_ns(bytes).map_or(String::new(), short_time);
                (readable(&json!(bytes)), time)
            }
        };
        let bar = bar(stage, largest);
        let overtaken = stage.overtaken_by.text();
        let line = format!("{name:<name_width$} {bytes:>11} {time:>7} {bar:<BAR$} {overtaken}");
        let _ = writeln!(out, "{}", line.trim_end());
        if !stage.note.is_empty() {
            let _ = writeln!(out, "{:name_width$} {:>11} {}", "", "", stage.note);
        }
    }
    out.push('\n');
    out += &fold(&waiting.advice, 0, width);
    let unseen = format!("Not seen: {}.", waiting.unseen.join("; "));
    out + &fold(&unseen, 2, width)
}

/// Returns a bar: `#` where nothing can overtake, `=` where something can, `?` if unknown.
fn bar(stage: &Stage, largest: u64) -> String {
    let Some(bytes) = stage.bytes else {
        return "?".to_owned();
    };
    let length = u128::from(bytes) * BAR as u128;
    let length = length.div_ceil(u128::from(largest.max(1))) as usize;
    let in_order = stage.overtaken_by == OvertakenBy::Nothing;
    let mark = if in_order { "#" } else { "=" };
    mark.repeat(length)
}
