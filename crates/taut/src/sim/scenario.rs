//! Scenarios from files, and built-in ones.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use taut_report::document::Document;
use taut_scenarios::description::Description;
use taut_scenarios::limit_rules::LimitRulesSettings;
use taut_scenarios::registry::{self, DEFAULT_SEED};
use taut_scenarios::rr_under_load;
use taut_scenarios::schema::Schema;

use super::cases::{show, usage};
use super::output::Common;
use super::rr_under_load::run_settings;
use super::sweep;
use crate::missing;
use taut_report::over_time::charts;
use taut_report::page::{Origin, Page, command_line};
use taut_report::text::text;
use taut_report::{exit, stdout};

/// Maximum size of a scenario file.
const MAX_BYTES: u64 = 1 << 20;

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
    if output.is_sweep() {
        return sweep::run(file, seed, output);
    }
    // Without a sweep, these scenarios have their own tables and charts.
    match registry::find(file).map_or("", |entry| entry.name) {
        rr_under_load::Settings::NAME => {
            if let Ok(settings) = registry::read::<rr_under_load::Settings>(file)
                && settings.sweep.is_none()
            {
                return run_settings(settings, seed, output);
            }
        }
        LimitRulesSettings::NAME => {
            if let Ok(settings) = registry::read::<LimitRulesSettings>(file)
                && settings.sweep.is_none()
            {
                return super::limit_rules::run_settings(settings, seed, output);
            }
        }
        _ => {}
    }
    let run = taut_scenarios::sweep::prepare(file, options.seed).map_err(usage)?;
    show(
        run,
        output,
        |document| text(document, stdout::columns()),
        |document| {
            let about = &Description::of(document.scenario).about;
            over_time_page(document, about, Some(document.seed))
        },
    )
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
