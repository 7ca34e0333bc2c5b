//! The common part of live experiments: plan, privilege, progress, interruption and output.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use clap::Args;
use taut_linux::interrupt;
use taut_report::emit::{self, Form};
use taut_report::output_file::ReportFile;
use taut_report::page::Page;
use taut_report::{exit, say, stdout, text};

use crate::progress::Progress;

/// A live experiment: it measures cases one after the other, and shows a row for each.
///
/// [`run`] adds what is the same for every experiment.
pub trait Experiment {
    /// One row to measure.
    type Case: Display;
    /// The result of one measurement.
    type Measurement;

    /// Returns the cases in the order of the rows.
    ///
    /// # Errors
    /// A message if the options leave no case to measure.
    fn cases(&self) -> Result<Vec<Self::Case>, String>;

    /// Returns the description of a run, for a dry run.
    fn plan(&self, cases: &[Self::Case]) -> String;

    /// Checks before a run that it can write its files, and that the user confirmed it.
    ///
    /// # Errors
    /// The exit code, after a message.
    fn check(&self) -> Result<(), ExitCode>;

    /// Returns `false` if the run needs no namespace of its own.
    fn needs_namespaces(&self) -> bool {
        true
    }

    /// Returns the number of repetitions of each case.
    fn repetitions(&self) -> u32 {
        1
    }

    /// Returns `true` if the repetitions of two neighbouring cases alternate, because rows are
    /// compared: then the machine was in about the same state for both.
    fn alternates(_: &Self::Case, _: &Self::Case) -> bool {
        true
    }

    /// Measures a case once. Returns `None` if the user interrupted it.
    ///
    /// # Errors
    /// If the case cannot be set up or measured.
    fn measure(
        &mut self,
        case: &Self::Case,
        progress: &mut Progress,
    ) -> anyhow::Result<Option<Self::Measurement>>;

    /// Prints the rows, as a document if `json` is set, and writes the requested files. Returns
    /// the exit code, after a message if that is a failure.
    fn show(&self, rows: &Rows<Self>, json: bool, interrupted: bool) -> ExitCode;
}

/// A case and its measurements, at least one.
pub struct Row<C, R> {
    /// The measured case.
    pub case: C,
    /// Each measurement.
    pub runs: Vec<R>,
}

/// The rows of an experiment.
pub type Rows<E> = [Row<<E as Experiment>::Case, <E as Experiment>::Measurement>];

impl<C, R> Row<C, R> {
    /// Returns the median over the repetitions. For an even number it is the lower of the two
    /// middle values, so that every median was measured.
    pub fn median<T: PartialOrd>(&self, of: impl FnMut(&R) -> T) -> Option<T> {
        let mut values: Vec<T> = self.runs.iter().map(of).collect();
        values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        let middle = values.len().checked_sub(1)? / 2;
        Some(values.swap_remove(middle))
    }
}

/// Options of every experiment.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct OutputOptions {
    /// Print one JSON document instead of the table
    #[arg(short, long)]
    pub json: bool,

    /// Print the plan without running it
    #[arg(long)]
    pub dry_run: bool,
}

/// Runs `experiment` and returns the exit code of the command.
///
/// It prints the plan of a dry run, checks the privilege, shows the progress, ends at an interrupt,
/// and prints the finished rows.
pub fn run<E: Experiment>(experiment: E, output: OutputOptions) -> ExitCode {
    try_run(experiment, output).unwrap_or_else(|code| code)
}

fn try_run<E: Experiment>(mut experiment: E, output: OutputOptions) -> Result<ExitCode, ExitCode> {
    let cases = experiment.cases();
    let cases = cases.map_err(|error| exit::fail(exit::USAGE, error))?;
    if output.dry_run {
        return Ok(stdout::print(&experiment.plan(&cases)));
    }
    experiment.check()?;
    if experiment.needs_namespaces() {
        let privilege = taut_linux::ensure_privilege();
        privilege.map_err(|missing| exit::fail(exit::CANNOT_RUN_HERE, missing))?;
    }
    let rows = measure_all(&mut experiment, cases);
    let mut rows = rows.map_err(|error| failed(&error))?;
    let repetitions = experiment.repetitions() as usize;
    let is_complete = rows.iter().all(|row| row.runs.len() == repetitions);
    // An interrupt after the last measurement has no effect.
    let interrupt = interrupt::noted().filter(|_| !is_complete);
    rows.retain(|row| !row.runs.is_empty());
    let shown = experiment.show(&rows, output.json, interrupt.is_some());
    Ok(match interrupt {
        Some(interrupt) => emit::interrupted(interrupt.exit_code(), rows.len(), shown),
        None => shown,
    })
}

/// Measures every case with the repetitions of the experiment, until the user interrupts it.
fn measure_all<E: Experiment>(
    experiment: &mut E,
    cases: Vec<E::Case>,
) -> anyhow::Result<Vec<Row<E::Case, E::Measurement>>> {
    interrupt::note()?;
    let repetitions = experiment.repetitions();
    let mut progress = Progress::new(cases.len() * repetitions as usize);
    let row = |case| Row {
        case,
        runs: Vec::new(),
    };
    let mut rows: Vec<_> = cases.into_iter().map(row).collect();
    for group in rows.chunk_by_mut(|a, b| E::alternates(&a.case, &b.case)) {
        for repetition in 1..=repetitions {
            for row in &mut *group {
                progress.begin(&row.case, (repetition, repetitions));
                let ran = experiment.measure(&row.case, &mut progress);
                progress.clear();
                row.runs.extend(ran?);
                if interrupt::noted().is_some() {
                    return Ok(rows);
                }
            }
        }
    }
    Ok(rows)
}

/// Prints the document of a page, as JSON or as a table, and writes the page to the report.
pub(crate) fn print_page(page: Page<'_>, json: bool, report: &ReportFile) -> ExitCode {
    let document = page.document;
    let table = || text::text(document, stdout::columns());
    let form = Form::json_or_table(json);
    emit::emit(document, form, report.path.as_deref(), table, || page)
}

const REQUIREMENTS: &str = "run as root, or on a kernel that lets users create user namespaces and \
    open /dev/net/tun. The kernel needs TUN/TAP, veth, and for af_packet the TBF discipline";

fn failed(error: &anyhow::Error) -> ExitCode {
    say!("taut: {error:#}");
    if lacks_privilege_or_feature(error) {
        say!("taut: {REQUIREMENTS}");
        return ExitCode::from(exit::CANNOT_RUN_HERE);
    }
    ExitCode::from(exit::FAILED)
}

/// Returns `true` if the error was caused by a missing privilege or kernel feature.
fn lacks_privilege_or_feature(error: &anyhow::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, Unsupported};
    let causes = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes
        .map(io::Error::kind)
        .any(|kind| matches!(kind, PermissionDenied | NotFound | Unsupported))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Constant;

    impl Experiment for Constant {
        type Case = u32;
        type Measurement = u32;

        fn cases(&self) -> Result<Vec<u32>, String> {
            Ok(vec![10, 20, 31])
        }

        fn plan(&self, _: &[u32]) -> String {
            String::new()
        }

        fn check(&self) -> Result<(), ExitCode> {
            Ok(())
        }

        fn repetitions(&self) -> u32 {
            2
        }

        fn alternates(a: &u32, b: &u32) -> bool {
            a % 10 == b % 10
        }

        fn measure(&mut self, case: &u32, _: &mut Progress) -> anyhow::Result<Option<u32>> {
            Ok(Some(*case))
        }

        fn show(&self, _: &Rows<Self>, _: bool, _: bool) -> ExitCode {
            unreachable!("the test prints no results")
        }
    }

    #[test]
    fn every_case_is_measured_in_every_repetition() {
        let rows = measure_all(&mut Constant, vec![10, 20, 31]).expect("measures");
        let runs: Vec<_> = rows
            .iter()
            .map(|row| (row.case, row.runs.clone()))
            .collect();
        assert_eq!(
            runs,
            [(10, vec![10; 2]), (20, vec![20; 2]), (31, vec![31; 2])]
        );
    }

    #[test]
    fn median_of_an_even_count_is_a_measured_value() {
        let row = |runs: &[u32]| Row {
            case: 0,
            runs: runs.to_vec(),
        };
        let median = |runs| row(runs).median(|&ran| ran);
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[4, 9, 1, 7]), Some(4));
        assert_eq!(median(&[9, 4, 1]), Some(4));
    }

    #[test]
    fn missing_privilege_is_distinct_from_failure() {
        let kind = |kind| anyhow::Error::from(io::Error::from(kind)).context("open the device");
        assert!(lacks_privilege_or_feature(&kind(
            io::ErrorKind::PermissionDenied
        )));
        assert!(!lacks_privilege_or_feature(&kind(io::ErrorKind::TimedOut)));
        assert!(!lacks_privilege_or_feature(&anyhow::anyhow!(
            "a thread panicked"
        )));
    }
}
