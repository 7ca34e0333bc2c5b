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
use taut_report::over_time::charts;
use taut_report::page::{Origin, Page, command_line};
use taut_report::text::text;
use taut_report::{exit, stdout};

/// Maximum size of a scenario file.
const MAX_BYTES: u64 = 1 << 20;

/// `taut sim NAME`.
pub fn run_named(entry: &Entry, options: &Common) -> Result<ExitCode, ExitCode> {
    run(entry.file, options)
}

/// `taut sim run FILE`.
pub fn run_file(path: &Path, options: &Common) -> Result<ExitCode, ExitCode> {
    let text = read(path).map_err(|error| {
        let code = match error.kind() {
            std::io::ErrorKind::InvalidData => exit::USAGE,
            _ => exit::FAILED,
        };
        exit::fail(code, missing::unreadable(path, &error))
    })?;
    options.output.spares(&[path])?;
    run(&text, options)
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

/// Runs the scenario of a file.
pub(super) fn run(file: &str, options: &Common) -> Result<ExitCode, ExitCode> {
    let output = &options.output;
    let seed = options.seed.unwrap_or(DEFAULT_SEED);
    if output.sweep_options.is_sweep() {
        return sweep::run(file, seed, output);
    }
    // These scenarios have their own tables and charts.
    match registry::find(file).map(|entry| entry.name) {
        Ok(rr_under_load::Settings::NAME) => {
            if let Ok(settings) = registry::read(file) {
                return run_settings(settings, seed, output);
            }
        }
        Ok(limit_rules::LimitRulesSettings::NAME) => {
            if let Ok(settings) = registry::read(file) {
                return super::limit_rules::run_settings(settings, seed, output);
            }
        }
        _ => {}
    }
    match taut_scenarios::sweep::prepare(file, options.seed) {
        Ok(run) => show(
            run,
            output,
            |document| text(document, stdout::columns()),
            |document| {
                let entry = registry::ALL.iter().find(|it| it.name == document.scenario);
                over_time_page(
                    document,
                    entry.map_or("", |entry| &entry.description().about),
                    Some(document.seed),
                )
            },
        ),
        Err(error) => Err(usage(error)),
    }
}

/// Returns the page of a simulated run, with its series as charts.
pub fn over_time_page<'d>(document: &'d Document, about: &'d str, seed: Option<u64>) -> Page<'d> {
    let (charts, left_out) = charts(document);
    Page {
        document,
        origin: Origin::Simulated,
        about,
        charts,
        remark: (left_out > 0).then(|| format!("{left_out} more charts are not drawn.")),
        command: command_line(seed),
    }
}
