//! Options of the experiment, live and simulated.

use clap::Args;
use taut_measure::DEFAULT_SEED;
use taut_path::units::{Rate, Time};
use taut_path::{AnyLimit, LateSegmentation};
use taut_scenarios::rr_under_load::{Only, Settings};
use taut_scenarios::schema::Schema;
use taut_scenarios::validation::{RINGS, STREAMS};

use crate::parse::{COALESCE_TIMES, DURATIONS, RATES, count_in, parse_limit, parse_qdisc, within};

/// Request/response latency while bulk streams saturate the link
#[derive(Debug, Clone, Args)]
pub struct Experiment {
    /// Bulk TCP streams (1 to 4000)
    #[arg(long, value_name = "N", default_value_t = Settings::defaults().streams,
          value_parser = count_in(STREAMS))]
    pub streams: u32,

    /// Link rate [default: 1gbit]
    #[arg(long, value_name = "RATE", value_parser = within(RATES))]
    pub rate: Option<Rate>,

    /// Ring size in descriptors (32 to 65536)
    ///
    /// A packet takes one or more.
    #[arg(long, value_name = "N", default_value_t = Settings::defaults().ring,
          value_parser = count_in(RINGS))]
    pub ring: u32,

    /// Interrupt interval of the emulated NIC
    #[arg(long, value_name = "TIME", default_value_t = Settings::defaults().coalesce,
          value_parser = within(COALESCE_TIMES))]
    pub coalesce: Time,

    /// Queueing discipline (taut help qdiscs)
    #[arg(long, value_name = "QDISC", default_value_t = Settings::defaults().qdisc,
          value_parser = parse_qdisc)]
    pub qdisc: String,

    /// Limit (repeatable; taut help limits) [default: dql, taut]
    ///
    /// Each limit adds rows to those without a limit; `off` adds none.
    #[arg(long = "limit", value_name = "LIMIT", allow_hyphen_values = true,
          value_parser = parse_limit)]
    pub limits: Vec<AnyLimit>,

    /// Late segmentation of GSO packets (repeatable) [default: off, auto]
    ///
    /// off: GSO packets are submitted whole. auto: chunks of at most a twelfth of the limit. 1/N:
    /// chunks of at most an N-th of the limit. all: each segment separately. A time such as 250us:
    /// the longest time that a chunk occupies the link. Without a limit, auto and 1/N equal off.
    #[arg(long, value_name = "MODE")]
    pub late_segmentation: Vec<LateSegmentation>,

    /// Measurement time of each row, after its warm-up
    #[arg(long, value_name = "TIME", default_value_t = Settings::defaults().duration,
          value_parser = within(DURATIONS))]
    pub duration: Time,

    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Rows to run, such as limit=on or limit=on,tso=off
    #[arg(long, value_name = "ROWS", default_value_t = Settings::defaults().rows)]
    pub only: Only,
}

impl Experiment {
    /// Returns the settings of the simulated scenario.
    pub fn settings(&self) -> Settings {
        let defaults = Settings::defaults();
        Settings {
            streams: self.streams,
            rate: self.rate.unwrap_or(defaults.rate),
            ring: self.ring,
            coalesce: self.coalesce,
            qdisc: self.qdisc.clone(),
            limits: or_else(&self.limits, defaults.limits),
            late_segmentation: or_else(&self.late_segmentation, defaults.late_segmentation),
            duration: self.duration,
            rows: self.only,
            ..defaults
        }
    }
}

/// Returns the values that the user set, or else the default ones.
fn or_else<T: Clone>(set: &[T], defaults: Vec<T>) -> Vec<T> {
    match set {
        [] => defaults,
        set => set.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Experiment,
    }

    fn parse(line: &str) -> Result<Experiment, String> {
        Line::try_parse_from(std::iter::once("lab").chain(line.split_whitespace()))
            .map(|line| line.options)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_the_published_experiment() {
        let options = parse("").unwrap();
        assert_eq!(options.rate, None);
        assert_eq!(
            (options.streams, options.ring, options.coalesce),
            (100, 1024, Time::us(250))
        );
        assert_eq!(
            (options.qdisc.as_str(), &options.limits[..]),
            ("pfifo_fast", &[][..])
        );
        assert_eq!(options.duration, Time::ms(5_000));
        assert_eq!(options.settings(), Settings::defaults());
    }

    #[test]
    fn only_selects_rows_by_name() {
        for (only, rows) in [
            ("all", "off+ dql+ 40k+ off- dql- 40k-"),
            ("limit=on", "dql+ 40k+ dql- 40k-"),
            ("limit=off", "off+ off-"),
            ("tso=off", "off- dql- 40k-"),
            ("tso=off,limit=on", "dql- 40k-"),
        ] {
            // The row without a limit exists already: `off` adds none.
            let options = parse(&format!(
                "--only {only} --limit dql --limit off --limit 40k"
            ));
            let options = options.unwrap();
            let cases = options
                .only
                .cases(&options.limits, &[LateSegmentation::Off])
                .into_iter();
            let sign = |tso| if tso { '+' } else { '-' };
            let cases = cases.map(|case| format!("{}{}", case.limit, sign(case.tso)));
            assert_eq!(cases.collect::<Vec<_>>().join(" "), rows, "{only}");
        }
    }

    #[test]
    fn errors_state_position_and_allowed_values() {
        let rejected = [
            ("--rate 1gbitt", "position 2"),
            ("--rate 999999", "1mbit to 100gbit"),
            ("--coalesce 250", "position 4"),
            ("--coalesce 0us", "1us to 100ms"),
            ("--duration 1ms", "500ms to 3600s"),
            ("--qdisc fq", "pfifo_fast [limit PACKETS]"),
            ("--limit 12q", "position 3"),
            ("--ring 31", "32..=65536"),
            ("--streams 0", "1..=4000"),
            ("--only limit=on,foo", "position 10"),
            ("--only limit=on,limit=off", "position 10"),
            ("--only ", "value is required"),
        ];
        for (line, what) in rejected {
            let error = parse(line).map(|_| ()).unwrap_err();
            assert!(error.contains(what), "{line}: {error}");
        }
    }

    #[test]
    fn rates_and_sizes_have_tc_syntax() {
        let options = parse("--rate 2.5gbit --limit 40k --coalesce 0.1ms").unwrap();
        assert_eq!(options.rate, Some(Rate(2_500_000_000)));
        assert_eq!(options.limits, [AnyLimit::bytes(40 * 1024)]);
        assert_eq!(options.coalesce, Time::us(100));
        let settings = parse("--limit taut --limit 32p").unwrap().settings();
        assert_eq!(
            settings.limits,
            [AnyLimit::taut(), AnyLimit::packets(32)],
            "only the given limits"
        );
    }
}
