//! The traffic of a trace under other limits.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use pyo3::prelude::*;
use taut_path::units;
use taut_scenarios::replay::{ReplaySettings, prepare};
use taut_sim::single_queue_bench::ParseRuleError;

use crate::document::Document;
use crate::error::{ScenarioError, of_scenario};
use crate::number::Units;
use crate::run::document_of;

fn rate_bits_per_s(rate: &str) -> PyResult<u64> {
    units::parse_rate_bits_per_s(rate)
        .map_err(|error| ScenarioError::new_err(format!("rate cannot be {rate:?}: {error}")))
}

/// Replays a trace.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are those of the command")]
pub fn replay(
    py: Python<'_>,
    path: PathBuf,
    limits: Option<Vec<String>>,
    row: String,
    rate: Option<String>,
    ring: Option<Units>,
    jobs: Option<Units>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Document> {
    let rules = match limits {
        None => ReplaySettings::default_rules(),
        Some(limits) => {
            let rule = |text: &String| {
                text.parse().map_err(|error: ParseRuleError| {
                    ScenarioError::new_err(format!("limit cannot be {text:?}: {error}"))
                })
            };
            limits.iter().map(rule).collect::<PyResult<_>>()?
        }
    };
    let settings = ReplaySettings {
        file: path.display().to_string(),
        row,
        rules,
        rate_bits_per_s: rate.as_deref().map(rate_bits_per_s).transpose()?,
        ring: ring.map_or(ReplaySettings::DEFAULT_RING, |ring| ring.0),
    };
    let file = File::open(&path)?;
    let run = py.detach(|| prepare(BufReader::new(file), settings));
    let run = run.map_err(of_scenario)?;
    document_of(py, run, jobs, progress.as_ref()).map(Document)
}
