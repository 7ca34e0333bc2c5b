//! `taut set`: changes the byte limit of the kernel's queues, and prints how to undo it.

use std::io;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use taut_observe::set::{self, ApplyError, Change};
use taut_observe::{QueueSet, Selection};
use taut_report::document::envelope;
use taut_report::{exit, say, stdout};

use crate::selection::PlaceArgs;

/// Change the byte limit of a device's queues; print how to undo it
///
/// All values are checked before the first write. If a write fails, the writes before it are
/// undone. Settings last until the device is removed or the machine restarts.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Set {
    /// Device
    #[arg(value_name = "DEV")]
    pub device: String,

    /// Names and values, such as: limit_max 40k hold_time 500ms
    #[arg(value_names = ["NAME", "VALUE"], required = true, num_args = 2..)]
    pub settings: Vec<String>,

    /// Queues, such as 0-3,7 [default: all]
    #[arg(short = 'q', long = "queues", value_name = "QUEUES")]
    pub queues: Option<QueueSet>,

    /// Print the changes without writing them
    #[arg(long)]
    pub dry_run: bool,

    /// Print one JSON document
    #[arg(short, long)]
    pub json: bool,

    #[command(flatten)]
    pub place: PlaceArgs,
}

const AFTER_HELP: &str = "\
Names and values (sizes are as in tc: 40k is 40960 bytes):
  limit_max     maximum of the limit: a size such as 40k, or max
  limit_min     minimum of the limit: a size
  limit         current limit: a size; the kernel adjusts it from there
  hold_time     time for which slack is observed before the limit decreases, such as 500ms
  stall_thrs    age at which a queue counts as stalled: a time, or off (Linux 6.9)
Exit codes: 0 done, 1 failed, 2 bad usage, 77 not permitted (needs root).
Examples:
  taut set eth0 limit_max 40k --dry-run
  taut set eth0 --queues 0-3 limit_max 40k hold_time 500ms";

/// `taut set`.
pub fn set(options: &Set) -> Result<ExitCode, ExitCode> {
    let settings = set::parse(&options.settings).map_err(rejected)?;
    let host = options.place.open()?;
    let selection = Selection::device(&options.device, options.queues.clone());
    let changes = set::plan(&host, &selection, &settings).map_err(exit::failed)?;
    set::check(&changes).map_err(rejected)?;
    if options.dry_run {
        return Ok(show(options, &changes));
    }
    match set::apply(&host.sysfs, &changes) {
        Ok(changed) => Ok(show(options, &changed)),
        Err(failed) => Err(report(&failed)),
    }
}

fn rejected(error: String) -> ExitCode {
    exit::fail(exit::USAGE, format_args!("{error}; nothing was changed"))
}

/// Prints the changes, made or planned, and the commands that undo them.
fn show(options: &Set, changes: &[Change]) -> ExitCode {
    let (device, place) = (&options.device, options.place.to_arguments());
    let undo: Vec<String> = set::undo(changes)
        .into_iter()
        .map(|it| format!("taut set {device}{place} {it}"))
        .collect();
    if options.json {
        let row = |it: &Change| {
            json!({
                "device": it.device,
                "queue": it.queue,
                "name": it.setting.tunable.name(),
                "old": it.old,
                "new": it.new,
            })
        };
        let rows: Vec<Value> = changes.iter().map(row).collect();
        let document = envelope(json!({
            "dry_run": options.dry_run,
            "rows": rows,
            "undo": undo,
        }));
        return stdout::print_json(&document);
    }
    let mut out = String::new();
    for it in changes {
        out += &line(it, options.dry_run);
    }
    for command in undo {
        out += &format!("undo: {command}\n");
    }
    stdout::print(&out)
}

/// Returns the name of the setting, its old and its new value.
fn texts(it: &Change) -> [String; 3] {
    let tunable = it.setting.tunable;
    let text = |value| set::to_text(tunable, value);
    [tunable.name().to_owned(), text(it.old), text(it.new)]
}

fn line(it: &Change, dry_run: bool) -> String {
    let [name, old, new] = texts(it);
    let change = match (it.old == it.new, dry_run) {
        (true, _) => format!("is {old} already"),
        (false, true) => format!("{old} would become {new}"),
        (false, false) => format!("{old} -> {new}"),
    };
    let (device, queue) = (&it.device, it.queue);
    format!("{device} queue {queue}: {name} {change}\n")
}

/// Returns which changes before the failed one were undone, and which were not.
fn undone(failed: &ApplyError) -> Vec<String> {
    let mut lines = Vec::new();
    for (change, error) in &failed.not_undone {
        let ([name, old, new], device, queue) = (texts(change), &change.device, change.queue);
        lines.push(format!(
            "{device} queue {queue}: cannot restore {name} to {old}: {error}; it is {new}"
        ));
    }
    match (lines.len(), failed.undone) {
        (0, 0) => lines.push("nothing was changed".to_owned()),
        (_, 0) => {}
        (0, undone) => lines.push(format!("the {undone} previous changes were undone")),
        (_, undone) => lines.push(format!("the {undone} other changes were undone")),
    }
    lines
}

/// Prints what failed, and whether the changes before it were undone.
fn report(failed: &ApplyError) -> ExitCode {
    say!("taut: {}", failed.error);
    for line in undone(failed) {
        say!("taut: {line}");
    }
    match failed.error.kind() {
        io::ErrorKind::PermissionDenied => {
            exit::fail(exit::CANNOT_RUN_HERE, "changing a device needs root")
        }
        _ => ExitCode::from(exit::FAILED),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use taut_linux::observe::Sysfs;

    use super::*;

    #[test]
    fn failed_undo_names_values_with_units() {
        let tree = std::env::temp_dir().join(format!("taut-set-{}", std::process::id()));
        let limits = tree.join("class/net/eth0/queues/tx-0/byte_queue_limits");
        fs::create_dir_all(&limits).expect("tree");
        for name in ["limit", "limit_min", "limit_max", "hold_time"] {
            fs::write(limits.join(name), "1000\n").expect("file");
        }
        let settings = ["hold_time", "100ms", "limit_max", "max"].map(str::to_owned);
        let settings = set::parse(&settings).expect("settings");
        let sysfs = Sysfs::at(&tree);
        let failed = |&setting| {
            let change = Change::new(&sysfs, "eth0", 0, setting).expect("change");
            (change, io::Error::other("busy"))
        };
        let failed = ApplyError {
            error: io::Error::other("busy"),
            undone: 2,
            not_undone: settings.iter().map(failed).collect(),
        };
        fs::remove_dir_all(&tree).expect("removed");
        assert_eq!(
            undone(&failed),
            [
                "eth0 queue 0: cannot restore hold_time to 1000ms: busy; it is 100ms",
                "eth0 queue 0: cannot restore limit_max to 1000: busy; it is max",
                "the 2 other changes were undone",
            ]
        );
    }
}
