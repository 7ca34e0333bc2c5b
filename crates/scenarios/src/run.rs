//! Runs scenarios: their cases side by side, on as many cores as are wanted. Who runs a case, and
//! when, changes nothing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;

use crate::error::ScenarioError;
use crate::scenario::{Found, Scenario};
use crate::trace_row::TraceRow;
use taut_report::document::{DOCUMENT_VERSION, Document};

/// Hears what is being run, how many parts are done, and of how many.
pub type Progress<'a> = &'a mut dyn FnMut(&str, u64, u64);

/// Settings with a seed, the cases that they make, and what was found of each so far.
pub struct Run<S: Scenario> {
    scenario: &'static str,
    settings: S,
    seed: u64,
    cases: Vec<S::Case>,
    outcomes: Vec<OnceLock<S::Outcome>>,
}

impl<S: Scenario> Run<S> {
    /// A run of `settings`, of which nothing has been run.
    ///
    /// # Errors
    /// If a setting cannot be.
    pub fn new(settings: S, seed: u64) -> Result<Self, ScenarioError> {
        settings.validate().map_err(ScenarioError::Setting)?;
        let cases = settings.cases(seed)?;
        Ok(Self::of(settings, seed, cases))
    }

    /// A run of cases that valid settings have made before.
    pub fn of(settings: S, seed: u64, cases: Vec<S::Case>) -> Self {
        let outcomes = cases.iter().map(|_| OnceLock::new()).collect();
        Self {
            scenario: S::NAME,
            settings,
            seed,
            cases,
            outcomes,
        }
    }

    /// The same run under the name of another scenario of its kind.
    pub(crate) fn of_scenario(self, scenario: &'static str) -> Self {
        Self { scenario, ..self }
    }

    /// Its settings.
    pub fn settings(&self) -> &S {
        &self.settings
    }

    /// The cases that have been run, with what they showed, in their order.
    pub fn ran(&self) -> Vec<(&S::Case, &S::Outcome)> {
        let both = self.cases.iter().zip(&self.outcomes);
        both.filter_map(|(case, outcome)| Some((case, outcome.get()?)))
            .collect()
    }
}

/// A run of any scenario.
pub trait AnyRun: Send + Sync {
    /// How many cases it has.
    fn cases(&self) -> usize;
    /// What one of them is called.
    fn name(&self, case: usize) -> String;
    /// Runs one of them.
    ///
    /// # Errors
    /// If the settings contradict each other, or a queue goes wrong.
    fn run(&self, case: usize) -> Result<(), ScenarioError>;
    /// What was found so far.
    fn document(&self) -> Document;
    /// The rows whose queues can be traced.
    fn traces(&self) -> Vec<TraceRow<'_>> {
        Vec::new()
    }
}

/// It is run on some threads and looked at on another.
pub type SharedRun = Arc<dyn AnyRun>;

impl<S: Scenario> AnyRun for Run<S> {
    fn cases(&self) -> usize {
        self.cases.len()
    }

    fn name(&self, case: usize) -> String {
        self.settings.name(&self.cases[case])
    }

    fn run(&self, case: usize) -> Result<(), ScenarioError> {
        let outcome = self.settings.run(&self.cases[case], self.seed)?;
        // A case that is run again shows the same.
        let _ = self.outcomes[case].set(outcome);
        Ok(())
    }

    fn document(&self) -> Document {
        let Found {
            rows,
            figures,
            series,
        } = self.settings.found(&self.ran());
        Document {
            version: DOCUMENT_VERSION,
            scenario: self.scenario,
            taut_version: env!("CARGO_PKG_VERSION"),
            seed: self.seed,
            interrupted: false,
            notes: Vec::new(),
            parameters: serde_json::to_value(&self.settings).unwrap_or_default(),
            columns: self.settings.columns(),
            summary: S::summary(&rows),
            rows,
            figures,
            series,
        }
    }

    fn traces(&self) -> Vec<TraceRow<'_>> {
        self.settings.traces(self.seed)
    }
}

/// Every case of `runs` on `jobs` threads, in their order as far as that goes; `finished` hears
/// which run has been run whole.
///
/// # Errors
/// The first of the cases that could not be run; then no other is begun.
pub fn run_all(
    runs: &[SharedRun],
    jobs: usize,
    progress: Progress,
    finished: &mut dyn FnMut(usize),
) -> Result<(), ScenarioError> {
    let of_run = |(run, it): (usize, &SharedRun)| (0..it.cases()).map(move |case| (run, case));
    let parts: Vec<(usize, usize)> = runs.iter().enumerate().flat_map(of_run).collect();
    let mut left: Vec<usize> = runs.iter().map(|run| run.cases()).collect();
    let all = parts.len() as u64;
    let mut done = 0;
    let work = |&(run, case): &(usize, usize)| runs[run].run(case);
    side_by_side(&parts, jobs, work, &mut |&(run, case), event| match event {
        PartEvent::Begun => {
            progress(&runs[run].name(case), done, all);
            Ok::<_, ScenarioError>(())
        }
        PartEvent::Done(result) => {
            result?;
            done += 1;
            left[run] -= 1;
            if left[run] == 0 {
                finished(run);
            }
            Ok(())
        }
    })?;
    progress("done", all, all);
    Ok(())
}

/// What becomes of a part.
enum PartEvent<T> {
    Begun,
    Done(T),
}

/// Who hears of a part; after an error nobody does.
type PartHandler<'a, P, T, E> = &'a mut dyn FnMut(&P, PartEvent<T>) -> Result<(), E>;

/// Does `work` for each of `parts` on `jobs` threads, and tells `on_event` of it until that fails.
fn side_by_side<P: Sync, T: Send, E>(
    parts: &[P],
    jobs: usize,
    work: impl Fn(&P) -> T + Sync,
    on_event: PartHandler<P, T, E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let (send, event) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, parts.len().max(1)) {
            let (send, next, work) = (send.clone(), &next, &work);
            scope.spawn(move || {
                // Nobody listens any more after an error.
                while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed))
                    && send.send((part, PartEvent::Begun)).is_ok()
                    && send.send((part, PartEvent::Done(work(part)))).is_ok()
                {}
            });
        }
        drop(send);
        event
            .into_iter()
            .try_for_each(|(part, event)| on_event(part, event))
    })
}

/// As many jobs as there are cores.
pub fn all_cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_done_once_on_any_number_of_threads() {
        let parts: Vec<usize> = (0..100).collect();
        for jobs in [0, 1, 3, 1_000] {
            let mut results = Vec::new();
            let mut begun = 0;
            let events =
                side_by_side::<_, _, ()>(&parts, jobs, |part| part * 2, &mut |_, event| {
                    match event {
                        PartEvent::Begun => begun += 1,
                        PartEvent::Done(result) => results.push(result),
                    }
                    Ok(())
                });
            results.sort_unstable();
            assert_eq!(events, Ok(()));
            assert_eq!(begun, 100);
            assert!(results.iter().copied().eq((0..100).map(|part| part * 2)));
        }
    }

    #[test]
    fn after_an_error_nothing_more_is_begun_than_there_are_threads() {
        let parts: Vec<u32> = (0..100_000).collect();
        let mut begun = 0;
        let events = side_by_side(&parts, 2, |&part| part, &mut |_, event| match event {
            PartEvent::Begun => {
                begun += 1;
                Ok(())
            }
            PartEvent::Done(part) => Err(part),
        });
        assert!(events.is_err_and(|part| part < 2));
        assert!(begun <= 2);
    }
}
