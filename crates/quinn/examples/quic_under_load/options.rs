//! The options.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use taut_lab::experiment::OutputOptions;
use taut_path::units::{Rate, Time};
use taut_report::value::within;
use taut_scenarios::validation::{DURATIONS, RATES};

const AFTER_HELP: &str = "\
Rates as tc reads them (1gbit); times need a unit (5s).
Needs root, or a kernel that lets users make user namespaces.
After Ctrl-C or SIGTERM the finished rows are shown; one half a second later ends at once.
Exit codes: 0 done, 1 failed, 2 bad usage, 77 cannot run here, 130 or 143 interrupted.";

/// Allowed delay: at most three times around the earth.
const DISTANCES: RangeInclusive<Time> = Time(0)..=Time::ms(1_000);

/// A QUIC endpoint with a limit, compared with one without
///
/// Two network namespaces, with a router or a bridge between them if requested, and a slow link.
/// Bulk data and a small request of high priority every 50 ms share one endpoint, on one connection
/// and on two. Measures the time of the requests and the goodput.
#[derive(Debug, Clone, Parser)]
#[command(name = "quic_under_load", after_help = AFTER_HELP)]
pub struct Options {
    /// Rate of the link, in tc's syntax
    #[arg(long, value_name = "RATE", default_value_t = Rate(20_000_000),
          value_parser = within(RATES))]
    pub rate: Rate,

    /// Position of the slow link: the sender's own interface, or beyond a router or a bridge
    #[arg(long, value_enum, default_value_t = Topology::Direct)]
    pub topology: Topology,

    /// Delay added to a round trip, by threads beyond the slow link (0ms to 1s)
    #[arg(long, value_name = "TIME", default_value_t = Time(0), value_parser = within(DISTANCES))]
    pub distance: Time,

    /// Reduce the rate to a fifth in the middle third of each row
    #[arg(long)]
    pub falls: bool,

    /// Repetitions of each row, alternating with the others; results are medians (1 to 99)
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=99))]
    pub repeat: u32,

    /// Measurement time of each row, after its warm-up
    #[arg(long, value_name = "TIME", default_value_t = Time::ms(5_000),
          value_parser = within(DURATIONS))]
    pub duration: Time,

    /// Only rows with this in the name of the variant (repeatable)
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,

    /// Write a report as well: one HTML page that works offline
    ///
    /// FILE.md is a Markdown page with its charts in separate files, FILE.svg only the charts:
    /// FILE-1.svg, FILE-2.svg.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputOptions,
}

impl Options {
    /// Returns the command that repeats the run.
    pub fn command(&self) -> String {
        let mut line = format!(
            "cargo run --release -p taut-quinn --example quic_under_load -- --rate {} --topology \
             {} --distance {} --repeat {} --duration {}",
            self.rate,
            self.topology.name(),
            self.distance,
            self.repeat,
            self.duration
        );
        if self.falls {
            line += " --falls";
        }
        for only in &self.only {
            line += &format!(" --only {only:?}");
        }
        line
    }
}

/// The position of the slow link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Topology {
    /// The sender's own interface is shaped.
    Direct,
    /// As a container on a routed network: the shaper is in another namespace, which routes.
    Routed,
    /// As a container on a bridge: the shaper is in another namespace, behind its bridge.
    Bridged,
}

impl Topology {
    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Routed => "routed",
            Self::Bridged => "bridged",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_outside_of_their_range_are_rejected() {
        let parse = |line: &str| {
            let words = std::iter::once("quic_under_load").chain(line.split_whitespace());
            Options::try_parse_from(words).map(drop)
        };
        assert!(parse("--distance 50ms --repeat 3 --falls --topology routed").is_ok());
        for bad in [
            "--distance 2s",
            "--distance 50",
            "--repeat 0",
            "--topology far",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
