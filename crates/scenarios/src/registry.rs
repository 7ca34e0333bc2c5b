//! The scenarios by name, and the parsing of settings files.

use std::sync::Arc;

use serde::Deserialize;
use toml::Table;

use crate::description::{Description, file};
use crate::error::ScenarioError;
use crate::run::{Run, SharedRun};
use crate::schema::Schema;
use crate::{
    blind_sender, codel_under_load, limit_rules, pauses, rr_sizes, rr_under_load, shared_budget,
    single_queue, small_queues, software_consumer, watermarks,
};

pub use taut_measure::DEFAULT_SEED;

/// Every scenario. Several can be of one kind and differ only in their files.
pub const ALL: &[Entry] = &[
    Entry::of::<rr_under_load::Settings>(),
    Entry::of::<rr_sizes::RrSizesSettings>(),
    Entry::of::<small_queues::SmallQueuesSettings>(),
    Entry::named::<small_queues::SmallQueuesSettings>("late-sockets", file!("late-sockets")),
    Entry::of::<single_queue::SingleQueueSettings>(),
    Entry::named::<single_queue::SingleQueueSettings>("aperiodic", file!("aperiodic")),
    Entry::named::<single_queue::SingleQueueSettings>("rate-change", file!("rate-change")),
    Entry::named::<single_queue::SingleQueueSettings>("limit-over-time", file!("limit-over-time")),
    Entry::of::<codel_under_load::CodelUnderLoadSettings>(),
    Entry::of::<blind_sender::BlindSenderSettings>(),
    Entry::of::<watermarks::WatermarksSettings>(),
    Entry::of::<shared_budget::SharedBudgetSettings>(),
    Entry::named::<single_queue::SingleQueueSettings>("never-worse", file!("never-worse")),
    Entry::of::<limit_rules::LimitRulesSettings>(),
    Entry::of::<pauses::PausesSettings>(),
    Entry::named::<rr_under_load::Settings>("late-segmentation", file!("late-segmentation")),
    Entry::of::<software_consumer::SoftwareConsumerSettings>(),
];

/// An entry of the table.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// The file with its defaults.
    pub file: &'static str,
    check: fn(&str) -> Result<(), ScenarioError>,
    prepare: fn(&'static Entry, &str, u64) -> Result<SharedRun, ScenarioError>,
}

impl Entry {
    const fn of<S: Schema>() -> Self {
        Self {
            name: S::NAME,
            file: S::FILE,
            check: |text| read::<S>(text).map(drop),
            prepare: |entry, text, seed| {
                let run = Run::new(entry.name, read::<S>(text)?, seed)?;
                Ok(Arc::new(run))
            },
        }
    }

    /// Creates another scenario of the same kind.
    const fn named<S: Schema>(name: &'static str, file: &'static str) -> Self {
        Self {
            name,
            file,
            ..Self::of::<S>()
        }
    }

    /// Returns its description.
    pub fn description(&self) -> &'static Description {
        Description::of(self.name)
    }
}

/// Returns the scenario of a file; other keys are not checked.
///
/// # Errors
/// If the file is not TOML, or has no scenario or an unknown one.
pub fn find(text: &str) -> Result<&'static Entry, ScenarioError> {
    #[derive(Deserialize)]
    struct Head {
        scenario: String,
    }
    let Head { scenario: name } = toml::from_str(text)?;
    let entry = ALL.iter().find(|entry| entry.name == name);
    entry.ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
        let names = names.join(", ");
        ScenarioError::Setting(format!("no scenario {name:?}; there are: {names}"))
    })
}

/// Checks that a file can be run, without running it.
///
/// # Errors
/// If the file cannot be parsed (with line and column), or a setting is out of its range.
pub fn check(text: &str) -> Result<&'static Entry, ScenarioError> {
    let entry = find(text)?;
    (entry.check)(text)?;
    Ok(entry)
}

/// Prepares a run of a scenario file without its sweep.
pub(crate) fn prepare_one(text: &str, seed: u64) -> Result<SharedRun, ScenarioError> {
    let entry = find(text)?;
    (entry.prepare)(entry, text, seed)
}

/// Returns the file of these settings.
///
/// # Errors
/// If the name of a trace file is not UTF-8, as TOML requires.
pub fn file(settings: &impl Schema) -> Result<String, ScenarioError> {
    toml::to_string(settings).map_err(|error| ScenarioError::Setting(error.to_string()))
}

/// Returns the validated settings of a scenario file. A missing key has the value of the scenario's
/// own file.
///
/// # Errors
/// If the file cannot be parsed (with line and column), or a setting is out of its range.
pub fn read<S: Schema>(text: &str) -> Result<S, ScenarioError> {
    let stated: Table = toml::from_str(text)?;
    let mut all: Table = toml::from_str(find(text)?.file)?;
    all.extend(stated);
    let settings: S = match all.try_into() {
        Ok(settings) => settings,
        // Only the text has the line of the error, unless the error is a missing key.
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
    use crate::sweep;

    #[test]
    fn every_file_has_exactly_the_settings() {
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

    #[cfg(unix)]
    #[test]
    fn file_name_must_be_utf8() {
        use std::ffi::OsString;
        use std::os::unix::ffi::OsStringExt;

        let name = OsString::from_vec(vec![0xff]);
        let settings = limit_rules::LimitRulesSettings {
            files: vec![name.into()],
            ..Schema::defaults()
        };
        let error = file(&settings).unwrap_err();
        assert!(error.to_string().contains("UTF-8"), "{error}");
    }

    #[test]
    fn missing_keys_have_the_scenarios_values() {
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
