//! The scenarios by name, and what a file of settings says.

use std::sync::Arc;

use serde::Deserialize;
use toml::Table;

use crate::error::ScenarioError;
use crate::run::{Run, SharedRun};
use crate::scenario::Scenario;
use crate::schema::file;
use crate::{
    blind_sender, codel_under_load, limit_rules, pauses, rr_sizes, rr_under_load, shared_budget,
    single_queue, small_queues, software_consumer, watermarks,
};

pub use taut_measure::DEFAULT_SEED;

/// Every scenario. Several can be of one kind: then they differ in their files alone.
pub const ALL: &[Entry] = &[
    Entry::of::<rr_under_load::Settings>(),
    Entry::of::<rr_sizes::RrSizesSettings>(),
    Entry::of::<small_queues::SmallQueuesSettings>(),
    Entry::named::<small_queues::SmallQueuesSettings>(
        "late-sockets",
        "an application that comes back late to each of many sockets",
        file!("late-sockets"),
    ),
    Entry::of::<single_queue::SingleQueueSettings>(),
    Entry::named::<single_queue::SingleQueueSettings>(
        "aperiodic",
        "completions that are not periodic, and what handing them on at a fixed period does (E6)",
        file!("aperiodic"),
    ),
    Entry::named::<single_queue::SingleQueueSettings>(
        "rate-change",
        "the link speed changes and nothing is told to the limit (E9)",
        file!("rate-change"),
    ),
    Entry::named::<single_queue::SingleQueueSettings>(
        "limit-over-time",
        "the limit and what is in flight over time, on one queue (E5)",
        file!("limit-over-time"),
    ),
    Entry::of::<codel_under_load::CodelUnderLoadSettings>(),
    Entry::of::<blind_sender::BlindSenderSettings>(),
    Entry::of::<watermarks::WatermarksSettings>(),
    Entry::of::<shared_budget::SharedBudgetSettings>(),
    Entry::named::<single_queue::SingleQueueSettings>(
        "never-worse",
        "limits against no limit over rates, rings and sizes: where one costs throughput (E11)",
        file!("never-worse"),
    ),
    Entry::of::<limit_rules::LimitRulesSettings>(),
    Entry::of::<pauses::PausesSettings>(),
    Entry::named::<rr_under_load::Settings>(
        "split",
        "super-packets that a queue cuts at the last moment (E13)",
        file!("split"),
    ),
    Entry::of::<software_consumer::SoftwareConsumerSettings>(),
];

/// One scenario of the table.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// The file that states its defaults.
    pub file: &'static str,
    /// Whether figures of it were published.
    pub has_figures: bool,
    /// What is to be said about them, or nothing.
    pub remark: &'static str,
    check: fn(&str) -> Result<(), ScenarioError>,
    prepare: fn(&'static Entry, &str, u64) -> Result<SharedRun, ScenarioError>,
}

impl Entry {
    const fn of<S: Scenario>() -> Self {
        Self {
            name: S::NAME,
            about: S::ABOUT,
            file: S::FILE,
            has_figures: S::HAS_FIGURES,
            remark: S::REMARK,
            check: |text| read::<S>(text).map(drop),
            prepare: |entry, text, seed| {
                let run = Run::new(read::<S>(text)?, seed)?;
                Ok(Arc::new(run.of_scenario(entry.name)))
            },
        }
    }

    /// Another scenario of the same kind, without published figures.
    const fn named<S: Scenario>(
        name: &'static str,
        about: &'static str,
        file: &'static str,
    ) -> Self {
        Self {
            name,
            about,
            file,
            has_figures: false,
            remark: "",
            ..Self::of::<S>()
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
    let Head { scenario: name } = toml::from_str(text)?;
    let entry = ALL.iter().find(|entry| entry.name == name);
    entry.ok_or_else(|| ScenarioError::UnknownName {
        name,
        known: ALL.iter().map(|entry| entry.name).collect(),
    })
}

/// Whether a file can be run, without running it.
///
/// # Errors
/// If the file is not understood (with line and column), or a setting cannot be.
pub fn check(text: &str) -> Result<&'static Entry, ScenarioError> {
    let entry = find(text)?;
    (entry.check)(text)?;
    Ok(entry)
}

/// A run of a scenario file without what it sweeps, of which nothing has been run.
pub(crate) fn prepare_one(text: &str, seed: u64) -> Result<SharedRun, ScenarioError> {
    let entry = find(text)?;
    (entry.prepare)(entry, text, seed)
}

/// The file that states these settings.
pub fn file(settings: &impl Scenario) -> String {
    toml::to_string(settings).expect("what was read from TOML can be written as TOML")
}

/// The validated settings of a scenario file. A missing key has the value of the scenario's own
/// file.
///
/// # Errors
/// If the file is not understood (with line and column), or a setting is out of its range.
pub fn read<S: Scenario>(text: &str) -> Result<S, ScenarioError> {
    let stated: Table = toml::from_str(text)?;
    let mut all: Table = toml::from_str(find(text)?.file)?;
    all.extend(stated);
    let settings: S = match all.try_into() {
        Ok(settings) => settings,
        // The text alone has the line of the error, unless the error is a key that it lacks.
        Err(error) => match toml::from_str::<S>(text) {
            Err(of_text) if !of_text.message().starts_with("missing field") => {
                return Err(of_text.into());
            }
            _ => return Err(error.into()),
        },
    };
    settings.validate().map_err(ScenarioError::Setting)?;
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;
    use crate::sweep;

    #[test]
    fn every_file_states_every_setting_and_nothing_else() {
        for entry in ALL {
            let run = sweep::prepare(entry.file, None).unwrap_or_else(|error| panic!("{error}"));
            let parameters = run.document().parameters;
            let keys = parameters.as_object().expect("an object").keys();
            let stated: Table = toml::from_str(entry.file).expect("TOML");
            let keys: Vec<&String> = keys.collect();
            assert_eq!(stated.len(), keys.len(), "{}", entry.name);
            assert!(keys.iter().all(|key| stated.contains_key(*key)), "{keys:?}");
        }
    }

    #[test]
    fn what_a_file_leaves_out_is_as_in_the_scenarios_own() {
        let read = read::<rr_under_load::Settings>;
        let short = read("scenario = \"rr-under-load\"\nstreams = 7").expect("settings");
        let whole = rr_under_load::Settings {
            streams: 7,
            ..Schema::defaults()
        };
        assert_eq!(short, whole);
        let error = read("scenario = \"rr-under-load\"\n\nrate = \"fast\"").unwrap_err();
        assert!(error.to_string().contains("line 3"), "{error}");
    }
}
