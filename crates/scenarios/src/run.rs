//! Runs the cases of scenarios in parallel. The results do not depend on the number of threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;

use crate::description::Description;
use crate::error::ScenarioError;
use crate::scenario::{Results, Scenario};
use crate::schema::Schema;
use crate::trace_row::TraceRow;
use taut_report::document::{DOCUMENT_VERSION, Document};

/// Called with the name of the running case, the number of finished cases, and the total.
pub type Progress<'a> = &'a mut dyn FnMut(&str, u64, u64);

/// A scenario with a seed, its cases, and the results of the finished cases.
pub struct Run<S: Scenario> {
    name: &'static str,
    scenario: S,
    seed: u64,
    cases: Vec<(String, S::Case)>,
    outcomes: Vec<OnceLock<Results>>,
}

impl<S: Scenario> Run<S> {
    /// Creates a run of the scenario `name`, whose settings are valid. [`Run::of_settings`] checks
    /// them.
    ///
    /// # Errors
    /// If something that the settings refer to is not available.
    pub fn new(name: &'static str, scenario: S, seed: u64) -> Result<Self, ScenarioError> {
        let cases = scenario.cases()?;
        Ok(Self {
            name,
            outcomes: cases.iter().map(|_| OnceLock::new()).collect(),
            scenario,
            seed,
            cases,
        })
    }
}

impl<S: Schema> Run<S> {
    /// Creates a run of `settings`.
    ///
    /// # Errors
    /// If a setting is invalid; as for [`Run::new`].
    pub fn of_settings(settings: S, seed: u64) -> Result<Self, ScenarioError> {
        settings.validate().map_err(ScenarioError::Setting)?;
        Self::new(S::NAME, settings, seed)
    }
}

/// A case of a run.
pub struct RunCase<'r> {
    /// Its name for progress messages.
    pub name: &'r str,
    /// Runs it.
    ///
    /// # Errors
    /// If the settings contradict each other, or a queue becomes faulty.
    pub run: Box<dyn Fn() -> Result<(), ScenarioError> + Sync + 'r>,
}

/// A run of any scenario.
pub trait AnyRun: Send + Sync {
    /// Returns its cases, in order.
    fn cases(&self) -> Vec<RunCase<'_>>;
    /// Returns the results so far.
    fn document(&self) -> Document;
    /// Returns the rows whose queues can be traced.
    fn traces(&self) -> Vec<TraceRow<'_>>;
}

/// A run that is executed on some threads and read on another.
pub type SharedRun = Arc<dyn AnyRun>;

impl<S: Scenario> AnyRun for Run<S> {
    fn cases(&self) -> Vec<RunCase<'_>> {
        let mut cases = Vec::new();
        for ((name, case), outcome) in self.cases.iter().zip(&self.outcomes) {
            let run = Box::new(move || {
                let results = self.scenario.run(case, self.seed)?;
                // A repeated case has the same outcome.
                let _ = outcome.set(results);
                Ok(())
            });
            cases.push(RunCase { name, run });
        }
        cases
    }

    fn document(&self) -> Document {
        let mut results = Results::default();
        for outcome in self.outcomes.iter().filter_map(OnceLock::get) {
            results.extend(outcome);
        }
        self.scenario.complete(&mut results);
        let Results {
            rows,
            figures,
            series,
            notes,
        } = results;
        let described = self.scenario.described().unwrap_or(self.name);
        Document {
            version: DOCUMENT_VERSION,
            scenario: self.name,
            taut_version: env!("CARGO_PKG_VERSION"),
            seed: self.seed,
            interrupted: false,
            notes,
            parameters: serde_json::to_value(&self.scenario).unwrap_or_default(),
            columns: Description::of(described).columns(),
            summary: S::summary(&rows),
            rows,
            figures,
            series,
        }
    }

    fn traces(&self) -> Vec<TraceRow<'_>> {
        self.scenario.traces(self.seed)
    }
}

/// Runs every case of `runs` on `jobs` threads, started in order. `finished` is called with the
/// index of each completed run.
///
/// # Errors
/// The first error of a case; then no further case is started.
pub fn run_all(
    runs: &[SharedRun],
    jobs: usize,
    progress: Progress,
    finished: &mut dyn FnMut(usize),
) -> Result<(), ScenarioError> {
    run_all_with(&|case| (case.run)(), runs, jobs, progress, finished)
}

/// As [`run_all`]; `work` runs a case on one of the threads.
///
/// # Errors
/// As for [`run_all`], with the errors of `work`.
pub fn run_all_with(
    work: &(dyn Fn(&RunCase<'_>) -> Result<(), ScenarioError> + Sync),
    runs: &[SharedRun],
    jobs: usize,
    progress: Progress,
    finished: &mut dyn FnMut(usize),
) -> Result<(), ScenarioError> {
    let mut parts = Vec::new();
    let mut left = Vec::new();
    for (run, it) in runs.iter().enumerate() {
        let cases = it.cases();
        left.push(cases.len());
        parts.extend(cases.into_iter().map(|case| (run, case)));
    }
    let all = parts.len() as u64;
    let mut done = 0;
    let work = |(_, case): &(usize, RunCase)| work(case);
    side_by_side(&parts, jobs, work, |(run, case), result| {
        let Some(result) = result else {
            progress(case.name, done, all);
            return Ok::<_, ScenarioError>(());
        };
        result?;
        done += 1;
        left[*run] -= 1;
        if left[*run] == 0 {
            finished(*run);
        }
        Ok(())
    })?;
    progress("done", all, all);
    Ok(())
}

/// Calls `work` for each of `parts` on `jobs` threads, and `on_event` when a part begins (`None`)
/// and with its result, until that fails.
fn side_by_side<P: Sync, T: Send, E>(
    parts: &[P],
    jobs: usize,
    work: impl Fn(&P) -> T + Sync,
    mut on_event: impl FnMut(&P, Option<T>) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let (send, event) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, parts.len().max(1)) {
            let (send, next, work) = (send.clone(), &next, &work);
            scope.spawn(move || {
                // The receiver is closed after an error.
                while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed))
                    && send.send((part, None)).is_ok()
                    && send.send((part, Some(work(part)))).is_ok()
                {}
            });
        }
        drop(send);
        event
            .into_iter()
            .try_for_each(|(part, event)| on_event(part, event))
    })
}

/// Returns the number of available cores.
pub fn all_cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_runs_once() {
        let parts: Vec<usize> = (0..100).collect();
        for jobs in [0, 1, 3, 1_000] {
            let mut results = Vec::new();
            let mut begun = 0;
            let events = side_by_side::<_, _, ()>(
                &parts,
                jobs,
                |part| part * 2,
                |_, event| {
                    match event {
                        None => begun += 1,
                        Some(result) => results.push(result),
                    }
                    Ok(())
                },
            );
            results.sort_unstable();
            assert_eq!(events, Ok(()));
            assert_eq!(begun, 100);
            assert!(results.iter().copied().eq((0..100).map(|part| part * 2)));
        }
    }

    #[test]
    fn no_part_starts_after_an_error() {
        let parts: Vec<u32> = (0..100_000).collect();
        let mut begun = 0;
        let events = side_by_side(
            &parts,
            2,
            |&part| part,
            |_, event| match event {
                None => {
                    begun += 1;
                    Ok(())
                }
                Some(part) => Err(part),
            },
        );
        assert!(events.is_err_and(|part| part < 2));
        assert!(begun <= 2);
    }
}
