//! Options of `taut lab rr-under-load`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, FromArgMatches};
use taut_lab::experiment::{self, Wanted};
use taut_lab::rr::{self, DriverKind};
use taut_report::output_file::TraceFile;
use taut_scenarios::rr_under_load::Settings;
use taut_scenarios::schema::Schema;

use crate::rr::command;
use crate::rr::experiment::Experiment;

/// Options of `taut lab rr-under-load`.
#[derive(Debug, Clone, Args)]
pub struct RrUnderLoad {
    #[command(flatten)]
    pub experiment: Experiment,

    /// Driver
    #[arg(long, value_enum, default_value_t = DriverKind::Emulated)]
    pub driver: DriverKind,

    /// Run the packet thread at normal priority
    ///
    /// Without privilege, the thread always has normal priority. On a busy machine it is then late.
    #[arg(long)]
    pub no_real_time: bool,

    /// Write a report to FILE too: one HTML page that works offline
    ///
    /// FILE.md is a Markdown page with separate charts, FILE.svg only the charts: FILE-1.svg,
    /// FILE-2.svg.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    #[command(flatten)]
    pub trace: TraceFile,

    /// Print the plan without running it
    #[arg(long)]
    pub dry_run: bool,
}

impl RrUnderLoad {
    /// Returns the options of the published experiment: the defaults.
    fn published() -> Option<Self> {
        let command = Self::augment_args(clap::Command::new(Settings::NAME));
        let matches = command.try_get_matches_from([Settings::NAME]).ok()?;
        Self::from_arg_matches(&matches).ok()
    }

    /// Returns the command that repeats the run.
    fn command(&self) -> String {
        let mut line = NAME.to_owned();
        if let Some(published) = Self::published() {
            line = command::line(&line, &self.experiment, &published.experiment);
        }
        if self.driver != DriverKind::Emulated {
            line += &format!(" --driver {}", self.driver.name());
        }
        if self.no_real_time {
            line += " --no-real-time";
        }
        line
    }

    /// Returns the experiment with these options.
    fn experiment(&self) -> rr::RrUnderLoad {
        let experiment = &self.experiment;
        rr::RrUnderLoad::new(rr::Config {
            settings: Settings {
                rate: experiment.rate.unwrap_or(self.driver.default_rate()),
                limits: rr::limits(&experiment.limits),
                ..experiment.settings()
            },
            driver: self.driver,
            real_time: !self.no_real_time,
            seed: experiment.seed,
            report: self.report.clone(),
            trace: self.trace.clone(),
            command: self.command(),
        })
    }

    /// `taut lab rr-under-load`.
    pub fn run(&self) -> ExitCode {
        let wanted = Wanted {
            json: self.experiment.json,
            dry_run: self.dry_run,
        };
        experiment::run(self.experiment(), wanted)
    }
}

const NAME: &str = "taut lab rr-under-load";

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use taut_lab::experiment::Experiment as _;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: RrUnderLoad,
    }

    fn parse(line: &str) -> RrUnderLoad {
        Line::parse_from(std::iter::once("lab").chain(line.split_whitespace())).options
    }

    #[test]
    fn packet_ring_defaults_to_100_mbit_without_tso() {
        let plan = |line: &str| {
            let experiment = parse(line).experiment();
            experiment.cases().map(|cases| experiment.plan(&cases))
        };
        assert!(plan("").unwrap().contains("of 1000000000 bit/s"));
        let ring = plan("--driver af_packet").unwrap();
        assert!(ring.contains("of 100000000 bit/s"), "{ring}");
        assert!(!ring.contains("TSO on"), "{ring}");
        let none = plan("--driver af_packet --only tso=on").unwrap_err();
        assert!(none.contains("tso=off"), "{none}");
    }

    #[test]
    fn limits_default_to_dql() {
        let limits = |line: &str| {
            let cases = parse(line).experiment().cases().unwrap().into_iter();
            cases
                .map(|case| case.limit.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(limits("--only tso=off"), "off dql");
        let given = "--only tso=off --limit taut --limit dql";
        assert_eq!(limits(given), "off taut dql", "in the given order");
        let twice = parse("--limit 1p --limit taut --limit 1p");
        let twice = twice.experiment().cases();
        let error = twice.unwrap_err();
        assert!(error.contains("1p twice, again at position 3"), "{error}");
    }
}
