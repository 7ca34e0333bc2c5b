//! Options of `taut lab two-threads`.

use std::fmt;
use std::ops::RangeInclusive;

use clap::Args;
use taut_linux::publish::About;
use taut_measure::DEFAULT_SEED;
use taut_path::limit::Unit;
use taut_path::units::{Rate, Time};
use taut_path::{AnyLimit, Limit};
use taut_scenarios::allowed::RINGS;
use taut_scenarios::rr_under_load::Settings;
use taut_scenarios::stated::Stated;

use super::super::world::SHAPED_DEVICE;
use crate::rr::experiment::{count_in, parse_cadence, parse_duration, parse_limit, parse_rate};
use crate::trace_file::TraceFile;

/// Each has a thread of its own.
const SENDERS: RangeInclusive<u32> = 1..=64;

/// A sending and a completing thread share one transmit queue over a packet ring.
#[derive(Debug, Clone, Args)]
pub struct TwoThreads {
    /// Sending threads (1 to 64); one makes its own packets, more go through a shared ring
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count_in(SENDERS))]
    pub senders: u32,

    /// Rate of the shaper as tc reads it, or none for a plain veth
    #[arg(long, value_name = "RATE|none", default_value = "100mbit", value_parser = parse_shaper)]
    pub rate: Shaper,

    /// Slots of the packet ring (32 to 65536)
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = count_in(RINGS))]
    pub ring: u32,

    /// Time between completions, with a unit
    #[arg(long, value_name = "TIME", default_value_t = Settings::defaults().cadence,
          value_parser = parse_cadence)]
    pub cadence: Time,

    /// The limit: off, dql, need, taut, bytes (40k) or packets (32p)
    #[arg(long, value_name = "LIMIT", allow_hyphen_values = true, default_value_t = AnyLimit::dql(),
          value_parser = parse_limit)]
    pub limit: AnyLimit,

    /// How long to send
    #[arg(long, value_name = "TIME", default_value_t = Time::ms(10_000),
          value_parser = parse_duration)]
    pub duration: Time,

    /// Seed of the frames' bytes
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Print one JSON document instead of the table
    #[arg(short, long)]
    pub json: bool,

    #[command(flatten)]
    pub trace: TraceFile,

    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl TwoThreads {
    /// The queue, for whoever looks at it; `limit` is the name of its rule.
    pub fn about<'a>(&self, limit: &'a str) -> About<'a> {
        About {
            device: SHAPED_DEVICE,
            queue: 0,
            limit,
            in_packets: self.limit.unit() == Unit::Packets,
            rate_bits_per_s: self.rate.0.map(|rate| rate.0),
        }
    }

    /// The threads of the run, for people.
    pub fn threads(&self) -> String {
        match self.senders {
            1 => "a sending and a completing thread".to_owned(),
            more => format!("{more} submitting threads, an owner and a completing thread"),
        }
    }
}

/// What the device is shaped to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shaper(pub Option<Rate>);

impl fmt::Display for Shaper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rate) => rate.fmt(f),
            None => f.write_str("none"),
        }
    }
}

fn parse_shaper(text: &str) -> Result<Shaper, String> {
    match text {
        "none" => Ok(Shaper(None)),
        rate => match parse_rate(rate) {
            Ok(rate) => Ok(Shaper(Some(rate))),
            Err(error) => Err(format!("{error}; or none")),
        },
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: TwoThreads,
    }

    fn parse(line: &str) -> Result<TwoThreads, String> {
        Line::try_parse_from(std::iter::once("lab").chain(line.split_whitespace()))
            .map(|line| line.options)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_rate_or_none() {
        let shaped = parse("").unwrap().rate;
        assert_eq!(shaped, Shaper(Some(Rate(100_000_000))));
        assert_eq!(parse("--rate none").unwrap().rate, Shaper(None));
        assert_eq!(parse("--limit off").unwrap().limit, AnyLimit::off());
    }

    #[test]
    fn what_is_refused_says_what_is_allowed() {
        let refused = [
            ("--rate non", "or none"),
            ("--rate 999999", "1mbit to 100gbit"),
            ("--senders 0", "1..=64"),
            ("--senders 65", "1..=64"),
            ("--ring 31", "32..=65536"),
            ("--limit 12q", "allowed are off"),
            ("--duration 1ms", "500ms to 3600s"),
        ];
        for (line, what) in refused {
            let error = parse(line).map(|_| ()).unwrap_err();
            assert!(error.contains(what), "{line}: {error}");
        }
    }
}
