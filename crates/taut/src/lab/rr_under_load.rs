//! Options of `taut lab rr-under-load`.

use clap::{Arg, Args};
use taut_lab::rr;
use taut_scenarios::rr_under_load::Settings;

use crate::rr::Experiment;

/// Options of `taut lab rr-under-load`. Some have another effect than in the simulator.
#[derive(Debug, Clone, Args)]
#[command(mut_args(live_help))]
pub struct RrUnderLoad {
    #[command(flatten)]
    pub experiment: Experiment,

    #[command(flatten)]
    pub options: rr::Options,
}

/// Replaces the help of the options that have another effect than in the simulator.
fn live_help(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "rate" => arg.help("Link rate [default: 1gbit; with --driver af_packet: 100mbit]"),
        "limits" => arg
            .help("Limit (repeatable; taut help limits) [default: dql]")
            .long_help(LIMITS),
        "coalesce" => arg.long_help(COALESCE),
        "seed" => arg.help("Seed of the emulated NIC; live results still vary"),
        _ => arg,
    }
}

const LIMITS: &str = "\
Limit (repeatable; taut help limits) [default: dql]

Each limit adds rows to those without a limit; `off` adds none.";

const COALESCE: &str = "\
Interrupt interval of the emulated NIC; with --driver af_packet, completion poll interval";

impl RrUnderLoad {
    /// Returns the experiment with these options.
    pub fn experiment(&self) -> rr::RrUnderLoad {
        let Self {
            experiment,
            options,
        } = self;
        rr::RrUnderLoad::new(rr::Config {
            settings: Settings {
                rate: experiment.rate.unwrap_or(options.driver.default_rate()),
                limits: rr::limits(&experiment.limits),
                ..experiment.settings()
            },
            seed: experiment.seed,
            options: options.clone(),
        })
    }
}

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
