//! The scenarios that can be run from a file, by name.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::tracing::{TraceRow, TraceRowsError, check_rows, trace_rows};
use super::{
    aperiodic, blind_sender, codel_under_load, late_sockets, limit_over_time, limit_rules,
    never_worse, rate_change, right_size, rr_sizes, rr_under_load, shared_budget, small_queues,
    split, watermarks,
};
use crate::results::{DOCUMENT_VERSION, Document, Figure, Series, Summary};
use taut_sim::lane::LaneError;
use taut_sim::pattern::RunError;
use taut_sim::queue::QueueFault;
use taut_sim::world::WorldError;

/// The seed if none is given.
pub const DEFAULT_SEED: u64 = 1;

/// Hears what is being run, how many parts are done, and of how many.
pub type Progress<'a> = &'a mut dyn FnMut(&str, u64, u64);

/// A scenario: what can be set, and how it is run.
pub trait Scenario: Default + DeserializeOwned + Serialize {
    /// Its name, which is also its file's first key.
    const NAME: &'static str;
    /// What it shows, in one line.
    const ABOUT: &'static str;
    /// Whether figures of it were published, to stand beside what it finds.
    const HAS_FIGURES: bool;
    /// What is to be said about them, such as why some are outside.
    const REMARK: &'static str = "";
    /// What the columns of its rows mean: (name, meaning). Names that explain themselves are left
    /// out.
    const COLUMNS: &'static [(&'static str, &'static str)] = &[];

    /// Looks at every setting.
    ///
    /// # Errors
    /// Names the first key that cannot be, its value, and what is allowed.
    fn validate(&self) -> Result<(), String>;

    /// Runs it with valid settings, and puts what it finds into `found` as soon as it is found.
    ///
    /// # Errors
    /// If the settings contradict each other.
    fn measure(&self, seed: u64, progress: Progress, found: &Findings)
    -> Result<(), ScenarioError>;

    /// Its rows in short, where they are many.
    fn summary(_rows: &[serde_json::Value]) -> Option<Summary> {
        None
    }

    /// The rows whose queues can be traced.
    fn traces(&self, _seed: u64) -> Vec<TraceRow<'_>> {
        Vec::new()
    }

    /// Checks the settings and runs them.
    ///
    /// # Errors
    /// If a setting cannot be.
    fn run(&self, seed: u64, progress: Progress) -> Result<Document, ScenarioError> {
        self.validate().map_err(ScenarioError::Setting)?;
        let found = Findings::default();
        self.measure(seed, progress, &found)?;
        Ok(self.document(seed, found.found()))
    }

    /// The document of what a run of these settings found.
    fn document(&self, seed: u64, found: Found) -> Document {
        Document {
            version: DOCUMENT_VERSION,
            scenario: Self::NAME,
            taut_version: env!("CARGO_PKG_VERSION"),
            seed,
            interrupted: false,
            notes: Vec::new(),
            parameters: serde_json::to_value(self).unwrap_or_default(),
            columns: Self::COLUMNS,
            summary: Self::summary(&found.rows),
            rows: found.rows,
            figures: found.figures,
            series: found.series,
        }
    }
}

/// What a run found: the parts of a [`Document`] that differ.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// One object for each row.
    pub rows: Vec<serde_json::Value>,
    /// Published figures and what was found in their place.
    pub figures: Vec<Figure>,
    /// How things went over time.
    pub series: Vec<Series>,
}

/// Where a run puts what it finds, row by row, while somebody else can look: what was finished is
/// worth showing when the run is interrupted.
#[derive(Debug, Clone, Default)]
pub struct Findings(Arc<Mutex<Found>>);

impl Findings {
    /// One more row.
    pub fn row(&self, row: serde_json::Value) {
        self.lock().rows.push(row);
    }

    /// These rows, instead of those before.
    pub fn replace_rows(&self, rows: Vec<serde_json::Value>) {
        self.lock().rows = rows;
    }

    /// Further published figures and what was found in their place.
    pub fn figures(&self, figures: impl IntoIterator<Item = Figure>) {
        self.lock().figures.extend(figures);
    }

    /// Further courses.
    pub fn series(&self, series: impl IntoIterator<Item = Series>) {
        self.lock().series.extend(series);
    }

    /// What was found so far.
    pub fn found(&self) -> Found {
        self.lock().clone()
    }

    // Nothing panics between two changes that belong together.
    fn lock(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Traces the rows of a file whose names have a part: text, seed, part, output, progress.
type TraceFile = fn(&str, u64, &str, &mut dyn Write, Progress) -> Result<u64, TraceRowsError>;

/// One scenario of the table.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// A file that states its defaults.
    pub file: &'static str,
    /// Whether figures of it were published.
    pub has_figures: bool,
    /// What is to be said about them, or nothing.
    pub remark: &'static str,
    check: fn(&str) -> Result<(), ScenarioError>,
    run: fn(&str, u64, Progress, &Findings) -> Result<(), ScenarioError>,
    document: fn(&str, u64, Found) -> Result<Document, ScenarioError>,
    check_rows: fn(&str, &str) -> Result<(), TraceRowsError>,
    trace: TraceFile,
}

impl Entry {
    const fn of<S: Scenario>(file: &'static str) -> Self {
        Self {
            name: S::NAME,
            about: S::ABOUT,
            file,
            has_figures: S::HAS_FIGURES,
            remark: S::REMARK,
            check: |text| read::<S>(text).map(drop),
            run: |text, seed, progress, found| read::<S>(text)?.measure(seed, progress, found),
            document: |text, seed, found| Ok(read::<S>(text)?.document(seed, found)),
            check_rows: |text, part| check_rows(&settings::<S>(text)?, part),
            trace: |text, seed, part, out, progress| {
                trace_rows(&settings::<S>(text)?, seed, part, out, progress)
            },
        }
    }
}

/// Every scenario.
pub const ALL: &[Entry] = &[
    Entry::of::<rr_under_load::Settings>(include_str!("../files/rr-under-load.toml")),
    Entry::of::<rr_sizes::Settings>(include_str!("../files/rr-sizes.toml")),
    Entry::of::<small_queues::Settings>(include_str!("../files/small-queues.toml")),
    Entry::of::<late_sockets::Settings>(include_str!("../files/late-sockets.toml")),
    Entry::of::<right_size::Settings>(include_str!("../files/right-size.toml")),
    Entry::of::<aperiodic::Settings>(include_str!("../files/aperiodic.toml")),
    Entry::of::<rate_change::Settings>(include_str!("../files/rate-change.toml")),
    Entry::of::<limit_over_time::Settings>(include_str!("../files/limit-over-time.toml")),
    Entry::of::<codel_under_load::Settings>(include_str!("../files/codel-under-load.toml")),
    Entry::of::<blind_sender::Settings>(include_str!("../files/blind-sender.toml")),
    Entry::of::<watermarks::Settings>(include_str!("../files/watermarks.toml")),
    Entry::of::<shared_budget::Settings>(include_str!("../files/shared-budget.toml")),
    Entry::of::<never_worse::Settings>(include_str!("../files/never-worse.toml")),
    Entry::of::<limit_rules::Settings>(include_str!("../files/limit-rules.toml")),
    Entry::of::<split::Settings>(include_str!("../files/split.toml")),
];

/// Why a scenario could not be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioError {
    /// The file is not understood; says line and column.
    Syntax(String),
    /// There is no scenario of that name.
    UnknownName(String),
    /// A setting is out of its range; names key, value and range.
    Setting(String),
    /// The settings contradict each other.
    Lane(LaneError),
    /// A queue went wrong: a bug, of which nothing that was found is to be trusted.
    Fault(QueueFault),
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // toml ends its messages with a line break.
            Self::Syntax(message) => f.write_str(message.trim_end()),
            Self::UnknownName(name) => {
                write!(f, "no scenario {name:?}; there are")?;
                for (index, entry) in ALL.iter().enumerate() {
                    write!(f, "{} {}", if index == 0 { "" } else { "," }, entry.name)?;
                }
                Ok(())
            }
            Self::Setting(message) => f.write_str(message),
            Self::Lane(error) => error.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for ScenarioError {}

impl From<LaneError> for ScenarioError {
    fn from(error: LaneError) -> Self {
        match error {
            LaneError::Fault(fault) => Self::Fault(fault),
            error => Self::Lane(error),
        }
    }
}

impl From<WorldError> for ScenarioError {
    fn from(error: WorldError) -> Self {
        match error {
            WorldError::Fault(fault) => Self::Fault(fault),
            error => Self::Setting(error.to_string()),
        }
    }
}

impl From<rr_under_load::RunError> for ScenarioError {
    fn from(error: rr_under_load::RunError) -> Self {
        match error {
            rr_under_load::RunError::World(error) => error.into(),
            error => Self::Setting(error.to_string()),
        }
    }
}

impl From<RunError> for ScenarioError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Fault(fault) => Self::Fault(fault),
            error => Self::Setting(error.to_string()),
        }
    }
}

/// The scenario that a file names; its other keys are not looked at.
///
/// # Errors
/// If the file is not TOML, or names no scenario or an unknown one.
pub fn find(text: &str) -> Result<&'static Entry, ScenarioError> {
    #[derive(Deserialize)]
    struct Head {
        scenario: String,
    }
    let Head { scenario } = toml::from_str(text).map_err(syntax)?;
    match ALL.iter().find(|entry| entry.name == scenario) {
        Some(entry) => Ok(entry),
        None => Err(ScenarioError::UnknownName(scenario)),
    }
}

/// Whether a file can be run, without running it.
///
/// # Errors
/// As [`run`].
pub fn check(text: &str) -> Result<&'static Entry, ScenarioError> {
    let entry = find(text)?;
    (entry.check)(text)?;
    Ok(entry)
}

/// Runs a scenario file; with [`DEFAULT_SEED`] if no seed is given.
///
/// # Errors
/// If the file is not understood (with line and column), or a setting cannot be.
pub fn run(
    text: &str,
    seed: Option<u64>,
    progress: &mut dyn FnMut(&str, u64, u64),
) -> Result<Document, ScenarioError> {
    let found = Findings::default();
    run_into(text, seed, progress, &found)?;
    document(text, seed, found.found())
}

/// Runs a scenario file and puts what it finds into `found` as soon as it is found.
///
/// # Errors
/// As [`run`].
pub fn run_into(
    text: &str,
    seed: Option<u64>,
    progress: &mut dyn FnMut(&str, u64, u64),
    found: &Findings,
) -> Result<(), ScenarioError> {
    (find(text)?.run)(text, seed.unwrap_or(DEFAULT_SEED), progress, found)
}

/// The document of what a run of a scenario file found.
///
/// # Errors
/// As [`run`].
pub fn document(text: &str, seed: Option<u64>, found: Found) -> Result<Document, ScenarioError> {
    (find(text)?.document)(text, seed.unwrap_or(DEFAULT_SEED), found)
}

/// Says before a run whether the rows of a scenario file with `part` in their names can be traced.
///
/// # Errors
/// See [`TraceRowsError`].
pub fn check_trace(text: &str, part: &str) -> Result<(), TraceRowsError> {
    (find(text).map_err(TraceRowsError::Scenario)?.check_rows)(text, part)
}

/// Runs those rows and writes what happens at their queues to `out`, which should be buffered.
/// Says how many bytes that were.
///
/// # Errors
/// See [`TraceRowsError`].
pub fn trace(
    text: &str,
    seed: Option<u64>,
    part: &str,
    out: &mut dyn Write,
    progress: Progress,
) -> Result<u64, TraceRowsError> {
    let entry = find(text).map_err(TraceRowsError::Scenario)?;
    (entry.trace)(text, seed.unwrap_or(DEFAULT_SEED), part, out, progress)
}

fn settings<S: Scenario>(text: &str) -> Result<S, TraceRowsError> {
    read(text).map_err(TraceRowsError::Scenario)
}

/// The settings in a scenario file, each of them looked at.
///
/// # Errors
/// As [`run`].
pub fn read<S: Scenario>(text: &str) -> Result<S, ScenarioError> {
    let settings: S = toml::from_str(text).map_err(syntax)?;
    settings.validate().map_err(ScenarioError::Setting)?;
    Ok(settings)
}

fn syntax(error: toml::de::Error) -> ScenarioError {
    ScenarioError::Syntax(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states_its_defaults<S: Scenario>() {
        let values = |settings: &S| serde_json::to_value(settings).expect("plain values");
        let entry = ALL.iter().find(|entry| entry.name == S::NAME);
        let file = entry.expect("in the table").file;
        let stated: S = toml::from_str(file).expect("a valid file");
        assert_eq!(values(&stated), values(&S::default()));
        let lines = file.lines().filter(|line| line.contains(" = "));
        let keys = values(&stated).as_object().map_or(0, serde_json::Map::len);
        assert_eq!(lines.count(), keys, "{}: every key is stated", S::NAME);
    }

    #[test]
    fn every_file_states_the_defaults() {
        states_its_defaults::<rr_under_load::Settings>();
        states_its_defaults::<rr_sizes::Settings>();
        states_its_defaults::<right_size::Settings>();
        states_its_defaults::<aperiodic::Settings>();
        states_its_defaults::<rate_change::Settings>();
        states_its_defaults::<limit_over_time::Settings>();
        states_its_defaults::<codel_under_load::Settings>();
        states_its_defaults::<blind_sender::Settings>();
        states_its_defaults::<watermarks::Settings>();
        states_its_defaults::<shared_budget::Settings>();
        states_its_defaults::<never_worse::Settings>();
        states_its_defaults::<limit_rules::Settings>();
        states_its_defaults::<small_queues::Settings>();
        states_its_defaults::<late_sockets::Settings>();
        states_its_defaults::<split::Settings>();
    }
}
