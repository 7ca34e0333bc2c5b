//! Scenarios from files, and built-in ones.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use taut_report::exit;
use taut_scenarios::limit_rules::LimitRulesSettings;
use taut_scenarios::registry::{self, DEFAULT_SEED};
use taut_scenarios::run::Run;
use taut_scenarios::schema::Schema;

use super::cases::{failed, show};
use super::output::{Common, Output};
use super::sweep;
use crate::missing;

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
    if let Ok(settings) = registry::read::<LimitRulesSettings>(file) {
        output.spares(&settings.files)?;
    }
    let run = taut_scenarios::sweep::prepare(file, options.seed);
    show(run.map_err(|error| failed("", &error))?, output, Some(seed))
}

/// Runs settings from the command line.
pub fn run_settings<S: Schema>(
    settings: S,
    seed: u64,
    output: &Output,
) -> Result<ExitCode, ExitCode> {
    if output.is_sweep() {
        let file = registry::file(&settings).map_err(|error| failed("", &error))?;
        return sweep::run(&file, seed, output);
    }
    let run = Run::of_settings(settings, seed).map_err(|error| failed("", &error))?;
    show(Arc::new(run), output, Some(seed))
}
