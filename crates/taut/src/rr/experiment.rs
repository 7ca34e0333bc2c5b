//! What is varied in the experiment, read and checked: the same options live and simulated.

use std::fmt;
use std::ops::RangeInclusive;

use clap::Args;
use taut_path::limit::{LimitSpec, ParseLimitError};
use taut_path::{qdisc, units};

/// Most streams: two sockets each, in one process with the usual hard limit of descriptors.
const MAX_STREAMS: i64 = 4000;

const NS_PER_S: u64 = 1_000_000_000;

/// Bulk streams saturate a link while one request/response runs at high priority.
#[derive(Debug, Clone, Args)]
pub struct Experiment {
    /// Bulk TCP streams (1 to 4000)
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=MAX_STREAMS))]
    pub streams: u32,

    /// Link rate, as tc reads it [default: 1gbit; a packet ring: 100mbit]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub rate: Option<u64>,

    /// Descriptors of the ring (32 to 65536)
    #[arg(long, value_name = "N", default_value_t = 1024,
          value_parser = clap::value_parser!(u32).range(32..=65536))]
    pub ring: u32,

    /// Time between completions, with a unit
    #[arg(long, value_name = "TIME", default_value = "250us", value_parser = parse_cadence)]
    pub cadence: u64,

    /// Queueing discipline, spelled as for tc
    #[arg(long, value_name = "QDISC", default_value = "pfifo_fast", value_parser = parse_qdisc)]
    pub qdisc: String,

    /// The limit of the rows with a limit: dql, bytes (40k) or packets (32p)
    #[arg(long, value_name = "LIMIT", default_value = "dql", value_parser = parse_limit)]
    pub limit: LimitSpec,

    /// How long each row is measured, after its warm-up
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub duration: u64,

    /// Seed of everything drawn at random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Run only some rows, such as bql=on or bql=on,tso=off
    #[arg(long, value_name = "ROWS", default_value_t = Only::default(), value_parser = parse_only)]
    pub only: Only,

    /// Print one JSON document instead of the table
    #[arg(short, long)]
    pub json: bool,
}

/// One combination that is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Case {
    /// A limit holds the queue back.
    pub bql: bool,
    /// The kernel hands over super-packets.
    pub tso: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on_off = |on| if on { "on" } else { "off" };
        write!(f, "limit {}, TSO {}", on_off(self.bql), on_off(self.tso))
    }
}

impl Experiment {
    /// What holds the queue back in `case`.
    pub fn limit_of(&self, case: Case) -> LimitSpec {
        if case.bql { self.limit } else { LimitSpec::Off }
    }

    /// The unit of the limit in `case` is bytes, and it is there.
    pub fn limits_bytes(&self, case: Case) -> bool {
        matches!(
            self.limit_of(case),
            LimitSpec::Dynamic | LimitSpec::Bytes(_)
        )
    }

    /// The wanted rows, in the order of the published table.
    pub fn cases(&self) -> Vec<Case> {
        [(false, true), (true, true), (false, false), (true, false)]
            .into_iter()
            .map(|(bql, tso)| Case { bql, tso })
            .filter(|&case| self.only.admits(case))
            .collect()
    }
}

/// Which rows are wanted; `None` is both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Only {
    bql: Option<bool>,
    tso: Option<bool>,
}

impl Only {
    fn admits(self, case: Case) -> bool {
        self.bql.is_none_or(|on| on == case.bql) && self.tso.is_none_or(|on| on == case.tso)
    }
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = [("bql", self.bql), ("tso", self.tso)];
        let mut comma = "";
        for (name, on) in wanted.iter().filter_map(|&(name, on)| Some((name, on?))) {
            write!(f, "{comma}{name}={}", if on { "on" } else { "off" })?;
            comma = ",";
        }
        if comma.is_empty() {
            f.write_str("all")
        } else {
            Ok(())
        }
    }
}

fn parse_only(text: &str) -> Result<Only, String> {
    let mut only = Only::default();
    if text == "all" {
        return Ok(only);
    }
    let mut position = 1;
    for part in text.split(',') {
        let wanted = match part {
            "bql=on" | "bql=off" => &mut only.bql,
            "tso=on" | "tso=off" => &mut only.tso,
            _ => {
                return Err(format!(
                    "unknown row at position {position}; allowed: all, or bql=on, bql=off, \
                     tso=on, tso=off joined by a comma"
                ));
            }
        };
        if wanted.replace(part.ends_with("=on")).is_some() {
            return Err(format!(
                "said twice, at position {position}; say each name once"
            ));
        }
        position += part.chars().count() + 1;
    }
    Ok(only)
}

fn parse_rate(text: &str) -> Result<u64, String> {
    // Below, TCP's timers outlast the run; above, two cores cannot keep up by far.
    let rate = units::parse_rate_bits_per_s(text).map_err(|error| error.to_string())?;
    in_range(rate, 1_000_000..=100_000_000_000, "1mbit to 100gbit")
}

fn parse_cadence(text: &str) -> Result<u64, String> {
    let cadence_ns = units::parse_time_ns(text).map_err(|error| error.to_string())?;
    in_range(cadence_ns, 1_000..=100_000_000, "1us to 100ms")
}

fn parse_duration(text: &str) -> Result<u64, String> {
    let duration_ns = units::parse_time_ns(text).map_err(|error| error.to_string())?;
    in_range(
        duration_ns,
        NS_PER_S / 2..=3600 * NS_PER_S,
        "500ms to 3600s",
    )
}

fn parse_qdisc(text: &str) -> Result<String, String> {
    qdisc::by_name(text)
        .map(|_| text.to_owned())
        .map_err(|error| error.to_string())
}

fn parse_limit(text: &str) -> Result<LimitSpec, String> {
    match text
        .parse()
        .map_err(|error: ParseLimitError| error.to_string())?
    {
        LimitSpec::Off => Err("the rows with a limit need one; --only bql=off runs without".into()),
        limit => Ok(limit),
    }
}

fn in_range(value: u64, range: RangeInclusive<u64>, allowed: &str) -> Result<u64, String> {
    if range.contains(&value) {
        Ok(value)
    } else {
        Err(format!("out of range at position 1; allowed: {allowed}"))
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
    fn the_defaults_are_the_published_experiment() {
        let options = parse("").unwrap();
        assert_eq!(options.rate, None);
        assert_eq!(
            (options.streams, options.ring, options.cadence),
            (100, 1024, 250_000)
        );
        assert_eq!(
            (options.qdisc.as_str(), options.limit),
            ("pfifo_fast", LimitSpec::Dynamic)
        );
        assert_eq!(options.duration, 5 * NS_PER_S);
        let cases = options.cases();
        let in_order = [(false, true), (true, true), (false, false), (true, false)];
        assert_eq!(cases, in_order.map(|(bql, tso)| Case { bql, tso }));
    }

    #[test]
    fn only_selects_rows_by_name() {
        for (only, rows) in [
            ("all", 4),
            ("bql=on", 2),
            ("tso=off", 2),
            ("tso=off,bql=on", 1),
        ] {
            let options = parse(&format!("--only {only}")).unwrap();
            assert_eq!(options.cases().len(), rows, "{only}");
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
            ("--limit off", "bql=off"),
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
        assert_eq!(options.rate, Some(2_500_000_000));
        assert_eq!(options.limit, LimitSpec::Bytes(40 * 1024));
        assert_eq!(options.cadence, 100_000);
        assert_eq!(parse("--limit 32p").unwrap().limit, LimitSpec::Packets(32));
    }
}
