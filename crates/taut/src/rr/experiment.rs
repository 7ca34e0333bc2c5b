//! What is varied in the experiment, read and checked: the same options live and simulated.

use clap::Args;
use taut_measure::DEFAULT_SEED;
use taut_path::units::{Rate, Time};
use taut_path::{AnyLimit, LateSegmentation};
use taut_scenarios::rr_under_load::{Only, Settings};
use taut_scenarios::schema::Schema;
use taut_scenarios::validation::{RINGS, STREAMS};

use crate::parse::{
    CADENCES, DURATIONS, RATES, count_in, limit_help, parse_limit, parse_qdisc, qdisc_help, within,
};

/// Bulk streams saturate a link while one request/response runs at high priority.
#[derive(Debug, Clone, Args)]
pub struct Experiment {
    /// Bulk TCP streams (1 to 4000)
    #[arg(long, value_name = "N", default_value_t = Settings::defaults().streams,
          value_parser = count_in(STREAMS))]
    pub streams: u32,

    /// Link rate, as tc reads it [default: 1gbit; a packet ring: 100mbit]
    #[arg(long, value_name = "RATE", value_parser = within(RATES))]
    pub rate: Option<Rate>,

    /// Descriptors of the ring (32 to 65536)
    #[arg(long, value_name = "N", default_value_t = Settings::defaults().ring,
          value_parser = count_in(RINGS))]
    pub ring: u32,

    /// Time between completions, with a unit
    #[arg(long, value_name = "TIME", default_value_t = Settings::defaults().cadence,
          value_parser = within(CADENCES))]
    pub cadence: Time,

    /// Queueing discipline, spelled as for tc
    #[arg(long, value_name = "QDISC", default_value_t = Settings::defaults().qdisc,
          value_parser = parse_qdisc, long_help = qdisc_help("Queueing discipline"))]
    pub qdisc: String,

    /// A limit beside the rows without one: dql, taut, need, bytes (40k), packets (32p), or off for
    /// those alone; said again, further rows [default: dql, simulated also taut]
    #[arg(long = "limit", value_name = "LIMIT", allow_hyphen_values = true, value_parser = parse_limit,
          long_help = limit_help(LIMIT_HELP))]
    pub limits: Vec<AnyLimit>,

    /// How super-packets go to the device in the rows with a limit: off (whole), auto (at most a twelfth of
    /// the limit at a time), 1/N (an N-th), all (each segment alone), or for how long a piece may hold the
    /// link, such as 250us; said again, further rows [default: off and auto]
    #[arg(long = "split", value_name = "SPLIT")]
    pub splits: Vec<LateSegmentation>,

    /// How long each row is measured, after its warm-up
    #[arg(long, value_name = "TIME", default_value_t = Settings::defaults().duration,
          value_parser = within(DURATIONS))]
    pub duration: Time,

    /// Seed of everything drawn at random
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Run only some rows, such as bql=on or bql=on,tso=off
    #[arg(long, value_name = "ROWS", default_value_t = Settings::defaults().rows)]
    pub only: Only,

    /// Print one JSON document instead of the table
    #[arg(short, long)]
    pub json: bool,
}

impl Experiment {
    /// How super-packets go to the device.
    pub fn splits(&self) -> Vec<LateSegmentation> {
        match &self.splits[..] {
            [] => Settings::defaults().splits,
            said => said.to_vec(),
        }
    }

    /// The scenario in virtual time.
    pub fn settings(&self) -> Settings {
        let defaults = Settings::defaults();
        Settings {
            streams: self.streams,
            rate: self.rate.unwrap_or(defaults.rate),
            ring: self.ring,
            cadence: self.cadence,
            qdisc: self.qdisc.clone(),
            limits: if self.limits.is_empty() {
                defaults.limits
            } else {
                self.limits.clone()
            },
            splits: self.splits(),
            duration: self.duration,
            rows: self.only,
            ..defaults
        }
    }
}

const LIMIT_HELP: &str = "A limit beside the rows without one; said again, further rows [default: dql, \
    simulated also taut]";

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
    fn the_defaults_are_the_published_experiment() {
        let options = parse("").unwrap();
        assert_eq!(options.rate, None);
        assert_eq!(
            (options.streams, options.ring, options.cadence),
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
            ("bql=on", "dql+ 40k+ dql- 40k-"),
            ("bql=off", "off+ off-"),
            ("tso=off", "off- dql- 40k-"),
            ("tso=off,bql=on", "dql- 40k-"),
        ] {
            // Without a limit is a row already; said again it is no other.
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
    fn what_is_refused_says_where_and_what_is_allowed() {
        let refused = [
            ("--rate 1gbitt", "position 2"),
            ("--rate 999999", "1mbit to 100gbit"),
            ("--cadence 250", "position 4"),
            ("--cadence 0us", "1us to 100ms"),
            ("--duration 1ms", "500ms to 3600s"),
            ("--qdisc fq", "pfifo_fast [limit PACKETS]"),
            ("--limit 12q", "position 3"),
            ("--ring 31", "32..=65536"),
            ("--streams 0", "1..=4000"),
            ("--only bql=on,foo", "position 8"),
            ("--only bql=on,bql=off", "position 8"),
            ("--only ", "value is required"),
        ];
        for (line, what) in refused {
            let error = parse(line).map(|_| ()).unwrap_err();
            assert!(error.contains(what), "{line}: {error}");
        }
    }

    #[test]
    fn rates_sizes_and_limits_are_read_as_tc_reads_them() {
        let options = parse("--rate 2.5gbit --limit 40k --cadence 0.1ms").unwrap();
        assert_eq!(options.rate, Some(Rate(2_500_000_000)));
        assert_eq!(options.limits, [AnyLimit::bytes(40 * 1024)]);
        assert_eq!(options.cadence, Time::us(100));
        let settings = parse("--limit taut --limit 32p").unwrap().settings();
        assert_eq!(
            settings.limits,
            [AnyLimit::taut(), AnyLimit::packets(32)],
            "nothing is added to what was said"
        );
    }
}
