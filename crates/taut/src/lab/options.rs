//! Options of the labs.

use std::path::PathBuf;

use clap::{Args, FromArgMatches, ValueEnum};
use taut_path::AnyLimit;

use crate::rr::experiment::Experiment;
use crate::trace_file::TraceFile;
use taut_path::units::Rate;
use taut_scenarios::allowed;
use taut_scenarios::rr_under_load::{Case, Settings};
use taut_scenarios::stated::Stated;

/// Options of `taut lab rr-under-load`.
#[derive(Debug, Clone, Args)]
pub struct RrUnderLoad {
    #[command(flatten)]
    pub experiment: Experiment,

    /// What carries the packets
    #[arg(long, value_enum, default_value_t = DriverKind::Emulated)]
    pub driver: DriverKind,

    /// Leave the thread that moves packets at ordinary priority, as it is without privilege: a busy machine
    /// makes it late then
    #[arg(long)]
    pub no_real_time: bool,

    /// Write a report too: one HTML page that works offline
    ///
    /// FILE.md is a Markdown page with its charts beside it, FILE.svg only the charts: FILE-1.svg, FILE-2.svg.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    #[command(flatten)]
    pub trace: TraceFile,

    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What carries the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DriverKind {
    /// An emulated e1000 between two TAP devices
    #[value(name = "emulated")]
    Emulated,
    /// An AF_PACKET transmit ring into a veth with a kernel TBF
    #[value(name = "af_packet")]
    AfPacket,
}

impl DriverKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Emulated => "emulated",
            Self::AfPacket => "af_packet",
        }
    }
}

impl RrUnderLoad {
    /// Without options.
    pub fn published() -> Option<Self> {
        let command = Self::augment_args(clap::Command::new(Settings::NAME));
        let matches = command.try_get_matches_from([Settings::NAME]).ok()?;
        Self::from_arg_matches(&matches).ok()
    }

    /// Link rate, in bit/s.
    pub fn rate_bits_per_s(&self) -> u64 {
        let default = match self.driver {
            DriverKind::Emulated => Settings::defaults().rate,
            DriverKind::AfPacket => Rate(100_000_000),
        };
        self.experiment.rate.unwrap_or(default).0
    }

    /// What holds the queue back in the rows with a limit.
    pub fn limits(&self) -> Vec<AnyLimit> {
        match &self.experiment.limits[..] {
            [] => vec![AnyLimit::dql()],
            said => said.to_vec(),
        }
    }

    /// How long one row takes, in ns, besides setting it up.
    pub fn row_ns(&self) -> u64 {
        Settings::defaults().warm_up.0 + self.experiment.duration.0
    }

    /// The rows to run. The slots of an AF_PACKET ring hold one frame each, so it has no rows with
    /// super-packets.
    ///
    /// # Errors
    /// If nothing is left to run, or a limit is said twice.
    pub fn cases(&self) -> Result<Vec<Case>, String> {
        let (limits, splits) = (self.limits(), self.experiment.splits());
        allowed::limits(0)("--limit", &limits)?;
        allowed::splits("--split", &splits)?;
        let mut cases = self.experiment.only.cases(&limits, &splits);
        cases.retain(|case| self.driver == DriverKind::Emulated || !case.tso);
        if cases.is_empty() {
            return Err(format!(
                "--only {} leaves no row with this limit and driver: off is no limit, and the \
                 af_packet driver sends frames, no super-packets; allowed: bql=on with a limit, \
                 bql=off, tso=off",
                self.experiment.only
            ));
        }
        Ok(cases)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: RrUnderLoad,
    }

    fn parse(line: &str) -> RrUnderLoad {
        Line::parse_from(std::iter::once("lab").chain(line.split_whitespace())).options
    }

    #[test]
    fn a_packet_ring_runs_slower_and_without_super_packets_by_default() {
        assert_eq!(parse("").rate_bits_per_s(), 1_000_000_000);
        let options = parse("--driver af_packet");
        assert_eq!(options.rate_bits_per_s(), 100_000_000);
        assert!(options.cases().unwrap().iter().all(|case| !case.tso));
        let none = parse("--driver af_packet --only tso=on")
            .cases()
            .unwrap_err();
        assert!(none.contains("tso=off"), "{none}");
    }

    #[test]
    fn the_rows_with_a_limit_are_those_of_linux_unless_others_are_said() {
        let limits = |line: &str| {
            let cases = parse(line).cases().unwrap().into_iter();
            cases
                .map(|case| case.limit.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(limits("--only tso=off"), "off dql");
        let said = "--only tso=off --limit taut --limit dql";
        assert_eq!(limits(said), "off taut dql", "in the order said");
        let twice = parse("--limit 1p --limit taut --limit 1p").cases();
        let error = twice.unwrap_err();
        assert!(error.contains("1p twice, again at position 3"), "{error}");
    }
}
