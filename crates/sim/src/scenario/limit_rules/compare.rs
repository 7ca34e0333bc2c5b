//! Every rule on every pattern of every seed.

use super::row::{Outcome, Row};
use super::show::Shown;
use super::{RuleName, Subject};
use crate::pattern::{RunError, least_fixed};
use crate::scenario::registry::{Progress, ScenarioError};

/// What was found on one pattern.
#[derive(Debug, Clone)]
pub struct Compared {
    /// A row for each rule.
    pub rows: Vec<Row>,
    /// The first seed over time, for drawing.
    pub shown: Shown,
}

/// Compares `rules` on `subjects`, with `seeds` seeds from `seed` on.
///
/// # Errors
/// If a rule cannot be set up.
pub fn compare(
    subjects: &[Subject],
    rules: &[RuleName],
    seed: u64,
    seeds: u32,
    progress: Progress,
) -> Result<Vec<Compared>, ScenarioError> {
    // The search for the yardstick counts as one part.
    let parts_of_seed = rules.len() as u64 + 1;
    let runs: u64 = subjects.iter().map(|it| u64::from(it.seeds(seeds))).sum();
    let mut done = 0;
    let mut part = |what: &str, progress: &mut dyn FnMut(&str, u64, u64)| {
        progress(what, done, runs * parts_of_seed);
        done += 1;
    };
    let mut found = Vec::new();
    for subject in subjects {
        let name = subject.name();
        let mut outcomes: Vec<Vec<Outcome>> = vec![Vec::new(); rules.len()];
        let mut shown = Shown::default();
        for number in 0..subject.seeds(seeds) {
            let pattern = subject.pattern(seed.wrapping_add(number.into()));
            part(&format!("{name}, the least fixed limit"), progress);
            let fixed_bytes = least_fixed(&pattern).map_err(refused)?;
            let fixed = RuleName::Fixed.observe(&pattern, fixed_bytes);
            let fixed = fixed.map_err(refused)?;
            if number == 0 {
                shown = Shown::new(&pattern, fixed_bytes);
            }
            for (rule, outcomes) in rules.iter().zip(&mut outcomes) {
                part(&format!("{name}, {rule}"), progress);
                let seen = match rule {
                    RuleName::Fixed => fixed.clone(),
                    rule => rule.observe(&pattern, fixed_bytes).map_err(refused)?,
                };
                if let Some(seen) = seen {
                    if number == 0 {
                        shown.add(*rule, &seen);
                    }
                    outcomes.push(Outcome::new(&pattern, &seen, fixed.as_ref()));
                }
            }
        }
        let rows = rules.iter().zip(&outcomes);
        let rows = rows.filter_map(|(rule, outcomes)| Row::new(name, *rule, outcomes));
        found.push(Compared {
            rows: rows.collect(),
            shown,
        });
    }
    Ok(found)
}

fn refused(error: RunError) -> ScenarioError {
    ScenarioError::Setting(error.to_string())
}
