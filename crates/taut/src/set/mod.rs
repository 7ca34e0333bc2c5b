//! `taut set`: changing the byte limit of the kernel's queues, and how to undo it.

mod change;
pub mod options;
mod settings;

use std::io;
use std::process::ExitCode;

use serde_json::{Value, json};
use taut_linux::observe::Sysfs;
use taut_path::knobs::{Knob, Setting};

use crate::observe::gather::{Asked, gather};
use crate::talk::say;
use crate::{exit, stdout};
use change::{Change, Failed};
use options::Set;

/// `taut set`.
pub fn set(options: &Set) -> ExitCode {
    let settings = match settings::parse(&options.settings) {
        Ok(settings) => settings,
        Err(error) => return refused(&error),
    };
    let sysfs = match options.place.open() {
        Ok((sysfs, _)) => sysfs,
        Err(code) => return code,
    };
    let changes = match plan(options, &sysfs, &settings) {
        Ok(changes) => changes,
        Err(error) => {
            say!("taut: {error}");
            return ExitCode::from(exit::FAILED);
        }
    };
    if let Err(error) = check(&changes) {
        return refused(&error);
    }
    if options.dry_run {
        return show(options, &changes);
    }
    match change::apply(&sysfs, &changes) {
        Ok(changed) => show(options, &changed),
        Err(failed) => tell(&failed),
    }
}

fn refused(error: &str) -> ExitCode {
    say!("taut: {error}; nothing was changed");
    ExitCode::from(exit::USAGE)
}

/// Every change that is to be made, with what is there now.
fn plan(options: &Set, sysfs: &Sysfs, settings: &[Setting]) -> Result<Vec<Change>, String> {
    let found = gather(sysfs, &options.selection(), Asked::All)?;
    let device = found.devices.first().ok_or("no device")?;
    if device.rows.is_empty() {
        let why = device
            .why_none
            .map_or("no such queue has one", |why| why.text());
        return Err(format!("{} has no byte limit to set: {why}", device.name));
    }
    let mut changes = Vec::new();
    for row in &device.rows {
        for &setting in settings {
            changes.push(Change::new(sysfs, &row.device, row.queue, setting)?);
        }
    }
    Ok(changes)
}

/// Refuses bounds that contradict each other, each queue with what it has now.
fn check(changes: &[Change]) -> Result<(), String> {
    for queue in changes.chunk_by(|a, b| a.queue == b.queue) {
        let Some(first) = queue.first() else { continue };
        let value = |knob| {
            let changed = queue.iter().find(|it| it.setting.knob() == knob);
            changed.map_or(first.now.of(knob), |it| u64::from(it.setting.value()))
        };
        let (min, max) = (value(Knob::LimitMin), value(Knob::LimitMax));
        let place = format!("{} queue {}", first.device, first.queue);
        if min > max {
            return Err(format!(
                "{place}: limit_min {min} would be above limit_max {max}"
            ));
        }
        let sets_limit = queue.iter().any(|it| it.setting.knob() == Knob::Limit);
        let limit = value(Knob::Limit);
        if sets_limit && !(min..=max).contains(&limit) {
            return Err(format!(
                "{place}: limit {limit} is outside of {min} to {max}"
            ));
        }
    }
    Ok(())
}

/// What was done, or would be.
fn show(options: &Set, changes: &[Change]) -> ExitCode {
    let undo = change::undo(changes, &options.place);
    if options.json {
        let row = |it: &Change| {
            json!({
                "device": it.device,
                "queue": it.queue,
                "name": it.setting.knob().name(),
                "old": it.old,
                "new": it.new,
            })
        };
        let rows: Vec<Value> = changes.iter().map(row).collect();
        let document = json!({
            "version": 1,
            "taut_version": env!("CARGO_PKG_VERSION"),
            "dry_run": options.dry_run,
            "rows": rows,
            "undo": undo,
        });
        return stdout::print(&format!("{document:#}\n"));
    }
    let mut out = String::new();
    for it in changes {
        out += &it.line(options.dry_run);
    }
    for command in undo {
        out += &format!("undo: {command}\n");
    }
    stdout::print(&out)
}

/// What failed, and what became of what had been changed by then.
fn tell(failed: &Failed) -> ExitCode {
    say!("taut: {}", failed.error);
    match (&failed.not_undone[..], failed.undone) {
        ([], 0) => say!("taut: nothing was changed"),
        ([], undone) => say!("taut: {undone} changes made before it were undone"),
        (left, _) => {
            for (change, error) in left {
                let (knob, new) = (change.setting.knob().name(), change.new);
                let (device, queue) = (&change.device, change.queue);
                say!("taut: {device} queue {queue}: {knob} stays {new}, undoing failed: {error}");
            }
        }
    }
    match failed.error.kind() {
        io::ErrorKind::PermissionDenied => {
            say!("taut: changing a device needs root");
            ExitCode::from(exit::CANNOT_RUN_HERE)
        }
        _ => ExitCode::from(exit::FAILED),
    }
}
