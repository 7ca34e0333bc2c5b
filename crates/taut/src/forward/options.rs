//! Options of `taut forward`.

use std::fmt;
use std::ops::RangeInclusive;

use clap::Args;
use taut_path::units::{Rate, Time};
use taut_path::{AnyLimit, LateSegmentation};
use taut_relay::bridge::PathSettings;
use taut_relay::driver::Driver;

use crate::parse::{
    CADENCES, DURATIONS, RATES, count_in, limit_help, parse_limit, parse_qdisc, qdisc_help, within,
};

const DEFAULT_QDISC: &str = "fq_codel ecn";
const DEFAULT_RING: u32 = 1024;
/// The smallest ring holds the largest super-packet.
const RINGS: RangeInclusive<u32> = 32..=65_536;
const DEFAULT_CADENCE: Time = Time::us(250);

const DRIVER_HELP: &str = "\
What carries the frames:
af_packet: packet sockets. The box hears what it forwards too; frames go out through the device's \
own discipline.
af_xdp: an XDP program on each interface catches what comes in, so that the box's own kernel hears \
nothing of it, and frames go out past the device's discipline. Interfaces with one receive queue \
and an MTU of 3818 at most. The tags of VLAN devices on the other end of a veth are lost: turn txvlan \
off there.";

/// Forwards everything between two interfaces, in both directions.
///
/// A transparent bridge: VLANs and any protocol pass untouched. Each direction waits in a
/// discipline of ours and is held back by a limit, so that what waits can be reordered, marked or
/// dropped. Ctrl-C ends it with a summary.
#[derive(Debug, Clone, Args)]
pub struct Forward {
    /// One interface
    #[arg(value_name = "A")]
    pub a: String,

    /// The other interface
    #[arg(value_name = "B")]
    pub b: String,

    /// What carries the frames
    #[arg(long, value_enum, default_value_t = Driver::AfPacket, long_help = DRIVER_HELP)]
    pub driver: Driver,

    #[command(flatten)]
    pub path: PathOptions,

    /// Both interfaces are in the network namespace NETNS: a name as `ip netns` has it, or a path
    #[arg(short = 'n', long, value_name = "NETNS")]
    pub netns: Option<String>,

    /// End after this time; without it, at Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = within(DURATIONS))]
    pub duration: Option<Time>,

    /// Print one JSON document at the end instead of the summary
    #[arg(short, long)]
    pub json: bool,

    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What each direction goes through.
#[derive(Debug, Clone, Args)]
pub struct PathOptions {
    /// Queueing discipline, spelled as for tc
    #[arg(long, value_name = "QDISC", default_value = DEFAULT_QDISC, value_parser = parse_qdisc,
          long_help = qdisc_help("Queueing discipline"))]
    pub qdisc: String,

    /// What holds the queue back: off, dql, taut, need, bytes (40k) or packets (32p)
    #[arg(long, value_name = "LIMIT", allow_hyphen_values = true, default_value_t = AnyLimit::dql(),
          value_parser = parse_limit,
          long_help = limit_help("What holds the queue back"))]
    pub limit: AnyLimit,

    /// A software shaper above, towards B and, after a comma, towards A if that is another rate.
    /// Set it a little below a bottleneck that is further away
    #[arg(long, value_name = "RATE[,RATE]", value_parser = parse_rates)]
    pub rate: Option<Rates>,

    /// Slots of each ring (32 to 65536)
    #[arg(long, value_name = "N", default_value_t = DEFAULT_RING, value_parser = count_in(RINGS))]
    pub ring: u32,

    /// Time between completions, with a unit
    #[arg(long, value_name = "TIME", default_value_t = DEFAULT_CADENCE,
          value_parser = within(CADENCES))]
    pub cadence: Time,

    /// When super-packets are cut: off (on entry), or at the last moment, a segment at a time
    /// (auto, where there is a limit; all, always). af_xdp has none. At most 511 wait whole, each
    /// way; more are cut on entry
    #[arg(long, value_name = "SPLIT", default_value_t = LateSegmentation::Auto)]
    pub split: LateSegmentation,
}

/// The shapers of both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    pub to_b: Rate,
    pub to_a: Rate,
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_b)?;
        if self.to_a != self.to_b {
            write!(f, ",{}", self.to_a)?;
        }
        Ok(())
    }
}

fn parse_rates(text: &str) -> Result<Rates, String> {
    let (to_b, to_a) = text.split_once(',').unwrap_or((text, text));
    let parse = within(RATES);
    Ok(Rates {
        to_b: parse(to_b)?,
        to_a: parse(to_a)?,
    })
}

impl PathOptions {
    /// As the engine takes them.
    pub fn settings(&self) -> PathSettings {
        let rates_bits_per_s = match self.rate {
            Some(rates) => [Some(rates.to_b.0), Some(rates.to_a.0)],
            None => [None; 2],
        };
        PathSettings {
            qdisc: self.qdisc.clone(),
            limit: self.limit.clone(),
            split: self.split,
            rates_bits_per_s,
            ring_slots: self.ring,
            cadence_ns: self.cadence.0,
            ..PathSettings::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Forward,
    }

    fn parse(line: &str) -> Result<Forward, String> {
        let words = std::iter::once("forward").chain(line.split_whitespace());
        Line::try_parse_from(words)
            .map(|line| line.options)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_rate_is_of_both_directions_or_of_each() {
        let rates = |line| parse(line).map(|options| options.path.rate.map(|it| it.to_string()));
        assert_eq!(rates("a b"), Ok(None));
        assert_eq!(rates("a b --rate 100mbit"), Ok(Some("100mbit".to_owned())));
        let apart = rates("a b --rate 100mbit,20mbit");
        assert_eq!(apart, Ok(Some("100mbit,20mbit".to_owned())));
        for wrong in ["1mbit,", ",1mbit", "1mbit,2,3", "x"] {
            assert!(parse(&format!("a b --rate {wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn defaults_are_those_of_the_engine() {
        let path = parse("a b").unwrap().path.settings();
        let default = PathSettings::default();
        assert_eq!(format!("{path:?}"), format!("{default:?}"));
    }

    #[test]
    fn two_interfaces_are_needed_and_nonsense_is_refused() {
        for wrong in [
            "",
            "a",
            "a b c",
            "a b --limit x",
            "a b --ring 1",
            "a b --qdisc fq",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
