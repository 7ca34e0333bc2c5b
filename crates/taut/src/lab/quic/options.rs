//! Options of `taut lab quic`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use taut_path::units::{Rate, Time};

use taut_path::units;

use crate::rr::experiment::{count_in, parse_duration, parse_rate};

/// The longest that a path may add: three times around the earth.
const LONGEST_DISTANCE: Time = Time::ms(1_000);

/// A QUIC endpoint held back by a limit, beside one that is not.
#[derive(Debug, Clone, Args)]
pub struct LabQuic {
    /// Rate of the link, as tc reads it
    #[arg(long, value_name = "RATE", default_value_t = Rate(20_000_000), value_parser = parse_rate)]
    pub rate: Rate,

    /// Where the slow link is: at the sender's own interface, or beyond a router or a bridge
    #[arg(long, value_enum, default_value_t = Topology::Direct)]
    pub topology: Topology,

    /// What the path adds to a round trip, made by threads beyond the slow link (0ms to 1s)
    #[arg(long, value_name = "TIME", default_value_t = Time(0), value_parser = parse_distance)]
    pub distance: Time,

    /// In the middle third of each row the link has a fifth of its rate
    #[arg(long)]
    pub falls: bool,

    /// Each row is run so often, one after the other with the others; figures are medians (1 to 99)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count_in(1..=99))]
    pub rounds: u32,

    /// How long each row is measured, after its warm-up
    #[arg(long, value_name = "TIME", default_value_t = Time::ms(5_000), value_parser = parse_duration)]
    pub duration: Time,

    /// Only rows whose variant has this in its name; said again, these too
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,

    /// Print one JSON document instead of the table
    #[arg(short, long)]
    pub json: bool,

    /// Write a report too: one HTML page that works offline
    ///
    /// FILE.md is a Markdown page with its charts beside it, FILE.svg only the charts: FILE-1.svg, FILE-2.svg.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Where the slow link is.
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
    /// As it is said on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Routed => "routed",
            Self::Bridged => "bridged",
        }
    }
}

fn parse_distance(text: &str) -> Result<Time, String> {
    let distance_ns = units::parse_time_ns(text).map_err(|error| error.to_string())?;
    if distance_ns > LONGEST_DISTANCE.0 {
        return Err(format!("a distance is 0ms to {LONGEST_DISTANCE}"));
    }
    Ok(Time(distance_ns))
}
