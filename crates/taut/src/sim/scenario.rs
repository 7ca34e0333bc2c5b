//! Scenarios from files, and built-in ones.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use taut_report::document::Document;
use taut_scenarios::registry::{self, DEFAULT_SEED, Entry};
use taut_scenarios::schema::Schema;
use taut_scenarios::{limit_rules, rr_under_load};

use super::cases::{show, usage};
use super::common::Common;
use super::rr_under_load::run_settings;
use super::sweep;
use crate::missing;
use crate::rr::command::quoted;
use taut_report::over_time::charts;
use taut_report::page::{Origin, Page};
use taut_report::text::text;
use taut_report::{exit, say, stdout};

/// Maximum size of a scenario file.
const MAX_BYTES: u64 = 1 << 20;

/// `taut sim NAME`.
pub fn run_named(entry: &Entry, options: &Common) -> ExitCode {
    run(entry.file, &format!("taut sim {}", entry.name), options)
}

/// `taut sim run FILE`.
pub fn run_file(path: &Path, options: &Common) -> ExitCode {
    match read(path) {
        Ok(text) => {
            if let Err(failed) = options.output.spares(&[path]) {
                return failed;
            }
            let command = format!("taut sim run {}", quoted(&path.display().to_string()));
            run(&text, &command, options)
        }
        Err(error) => {
            say!("taut: {}", missing::unreadable(path, &error));
            ExitCode::from(match error.kind() {
                std::io::ErrorKind::InvalidData => exit::USAGE,
                _ => exit::FAILED,
            })
        }
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path)?;
    // One byte more, to detect a file that is too long.
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::from(std::io::ErrorKind::FileTooLarge));
    }
    Ok(text)
}

/// Runs the scenario of a file; `command` repeats it.
pub(super) fn run(file: &str, command: &str, options: &Common) -> ExitCode {
    let output = &options.output;
    let form = output.form(options.json);
    let seed = options.seed.unwrap_or(DEFAULT_SEED);
    if output.many.is_wanted() {
        return sweep::run(file, seed, output, form);
    }
    // These scenarios have their own tables and charts.
    match registry::find(file).map(|entry| entry.name) {
        Ok(rr_under_load::Settings::NAME) => {
            if let Ok(settings) = registry::read(file) {
                return run_settings(settings, seed, output, form, command);
            }
        }
        Ok(limit_rules::LimitRulesSettings::NAME) => {
            if let Ok(settings) = registry::read(file) {
                return super::limit_rules::run_settings(settings, seed, output, form, command);
            }
        }
        _ => {}
    }
    match taut_scenarios::sweep::prepare(file, options.seed) {
        Ok(run) => show(
            run,
            output,
            form,
            |document| text(document, stdout::columns()),
            |document| page(document, command),
        ),
        Err(error) => usage(&error),
    }
}

fn page<'d>(document: &'d Document, command: &str) -> Page<'d> {
    let (charts, left_out) = charts(document);
    let entry = registry::ALL.iter().find(|it| it.name == document.scenario);
    Page {
        document,
        origin: Origin::Simulated,
        about: entry.map_or("", |entry| entry.about),
        charts,
        remark: (left_out > 0).then(|| format!("{left_out} more charts are not drawn.")),
        command: format!("{command} --seed {}", document.seed),
    }
}
