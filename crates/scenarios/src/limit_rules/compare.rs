//! Every rule on every pattern of every seed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::ground::{AnyGround, Ground};
use super::row::{Outcome, Row};
use super::show::Shown;
use super::{RuleName, Subject};
use crate::registry::{Progress, ScenarioError};

/// What was found on one pattern.
#[derive(Debug, Clone)]
pub struct Compared {
    /// A row for each rule.
    pub rows: Vec<Row>,
    /// The first seed over time, for drawing.
    pub shown: Shown,
}

/// Compares `rules` on `subjects`, with `seeds` seeds from `seed` on, and gives what was found on
/// each to `compared`, in their order and as soon as it is there. Each pattern of each seed is a job
/// of its own, and as many run at a time as there are cores: who runs it changes nothing.
///
/// # Errors
/// If a rule cannot be set up.
pub fn compare(
    subjects: &[Subject],
    rules: &[RuleName],
    seed: u64,
    seeds: u32,
    progress: Progress,
    compared: &mut dyn FnMut(Compared),
) -> Result<(), ScenarioError> {
    let jobs: Vec<Job> = subjects
        .iter()
        .flat_map(|subject| (0..subject.seeds(seeds)).map(move |number| Job { subject, number }))
        .collect();
    let mut done: Vec<Option<Done>> = jobs.iter().map(|_| None).collect();
    let (mut left, mut first) = (subjects.iter().peekable(), 0);
    let run = |job: &Job| job.run(rules, seed);
    run_all(&jobs, progress, run, &mut |index, one| {
        done[index] = Some(one);
        while let Some(subject) = left.peek() {
            let of_subject = &mut done[first..first + subject.seeds(seeds) as usize];
            if of_subject.iter().any(Option::is_none) {
                break;
            }
            let of_subject = of_subject.iter_mut().filter_map(Option::take).collect();
            compared(Compared::new(subject.name(), rules, of_subject));
            first += subject.seeds(seeds) as usize;
            left.next();
        }
    })
}

/// One pattern of one seed.
struct Job<'a> {
    subject: &'a Subject,
    /// Which of the seeds.
    number: u32,
}

/// What came of it: an outcome for each rule that could be run.
struct Done {
    outcomes: Vec<Option<Outcome>>,
    /// Only of the first seed.
    shown: Option<Shown>,
}

impl Job<'_> {
    fn run(&self, rules: &[RuleName], seed: u64) -> Result<Done, ScenarioError> {
        match self.subject.ground(seed.wrapping_add(self.number.into()))? {
            AnyGround::Pattern(pattern) => self.run_on(&pattern, rules),
            AnyGround::Tcp(load) => self.run_on(&load, rules),
        }
    }

    fn run_on(&self, ground: &impl Ground, rules: &[RuleName]) -> Result<Done, ScenarioError> {
        let fixed_bytes = ground.least_fixed()?;
        let fixed = RuleName::Fixed.observe(ground, fixed_bytes)?;
        let mut shown = (self.number == 0).then(|| Shown::new(ground, fixed_bytes));
        let mut outcomes = Vec::new();
        for rule in rules {
            let seen = match rule {
                RuleName::Fixed => fixed.clone(),
                rule => rule.observe(ground, fixed_bytes)?,
            };
            if let (Some(shown), Some(seen)) = (&mut shown, &seen) {
                shown.add(rule.clone(), seen);
            }
            outcomes.push(seen.map(|seen| Outcome::new(ground, &seen, fixed.as_ref())));
        }
        Ok(Done { outcomes, shown })
    }
}

impl Compared {
    fn new(name: &str, rules: &[RuleName], mut seeds: Vec<Done>) -> Self {
        let row = |(index, rule): (usize, &RuleName)| {
            let of_rule = seeds.iter().filter_map(|it| it.outcomes[index].clone());
            Row::new(name, rule, &of_rule.collect::<Vec<_>>())
        };
        Self {
            rows: rules.iter().enumerate().filter_map(row).collect(),
            shown: (seeds.first_mut())
                .and_then(|it| it.shown.take())
                .unwrap_or_default(),
        }
    }
}

/// Runs every job on all cores and gives what came of each, with its number, to `done`.
fn run_all<'a>(
    jobs: &[Job<'a>],
    progress: Progress,
    run: impl Fn(&Job<'a>) -> Result<Done, ScenarioError> + Sync,
    done: &mut dyn FnMut(usize, Done),
) -> Result<(), ScenarioError> {
    let next = AtomicUsize::new(0);
    let (send, results) = mpsc::channel();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores.min(jobs.len()) {
            let (send, next, run) = (send.clone(), &next, &run);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { break };
                    // Nobody listens any more after an error.
                    if send.send((index, run(job))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        let all = jobs.len() as u64;
        progress("all patterns", 0, all);
        for (count, (index, result)) in (1..).zip(results) {
            let name = jobs[index].subject.name();
            progress(&format!("{name}, and others"), count, all);
            done(index, result?);
        }
        Ok(())
    })
}
