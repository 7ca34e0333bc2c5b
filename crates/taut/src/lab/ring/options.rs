//! Options of `taut lab ring`.

use std::path::PathBuf;

use clap::Args;
use taut_linux::link::MacAddress;
use taut_measure::DEFAULT_SEED;
use taut_path::AnyLimit;
use taut_path::limit::ParseLimitError;
use taut_path::units::{Rate, Time};

use crate::rr::experiment::{count_in, parse_cadence, parse_duration, parse_rate};
use crate::send::options::parse_mac;
use taut_relay::driver::Driver;

/// Fixed depths of a ring against the limits: throughput, bytes in flight, completion latency.
#[derive(Debug, Clone, Args)]
pub struct RingSweep {
    /// Only this driver; said again, both
    #[arg(long = "driver", value_name = "DRIVER", value_enum)]
    pub drivers: Vec<Driver>,

    /// Rates of the shaper, as tc reads them; said again, more [default: 100mbit and 1gbit]
    #[arg(long = "rate", value_name = "RATE", value_parser = parse_rate)]
    pub rates: Vec<Rate>,

    /// Fixed depths in packets (1 to 4096); said again, more [default: 1, 4, 16 .. 4096]
    #[arg(long = "depth", value_name = "N", value_parser = count_in(1..=MOST_SLOTS))]
    pub depths: Vec<u32>,

    /// Limits beside them: dql, taut, need, bytes (40k); said again, more [default: dql and taut]
    #[arg(long = "limit", value_name = "LIMIT", allow_hyphen_values = true, value_parser = parse_limit)]
    pub limits: Vec<AnyLimit>,

    /// Time between two looks for completions, with a unit
    #[arg(long, value_name = "TIME", default_value_t = Time::us(250), value_parser = parse_cadence)]
    pub cadence: Time,

    /// How long each row is measured, after its warm-up
    #[arg(long, value_name = "TIME", default_value_t = Time::ms(1_000), value_parser = parse_duration)]
    pub duration: Time,

    /// Times that every row is run, one after the other; the medians are shown (1 to 99)
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = count_in(1..=99))]
    pub rounds: u32,

    /// A real card instead of links of the lab's own; needs --peer-mac and --yes
    #[arg(
        long,
        value_name = "DEV",
        requires = "peer_mac",
        conflicts_with = "rates"
    )]
    pub device: Option<String>,

    /// Who is at the other end of the card's cable: the frames go there
    #[arg(long, value_name = "MAC", value_parser = parse_mac, requires = "device")]
    pub peer_mac: Option<MacAddress>,

    /// Yes, fill the card's link with frames
    #[arg(long)]
    pub yes: bool,

    /// Seed of the frames' bytes
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Print one JSON document instead of the table
    #[arg(short, long)]
    pub json: bool,

    /// Write the tables into this file too, as Markdown
    #[arg(long, value_name = "FILE")]
    pub tables: Option<PathBuf>,

    /// Draw the sweeps of the shaped links into this file, as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Slots of every ring, and so the largest depth.
pub const MOST_SLOTS: u32 = 4_096;
/// The depth that people set who measure nothing.
pub const USUAL_DEPTH: u32 = 1_024;

impl RingSweep {
    pub fn drivers(&self) -> Vec<Driver> {
        match &self.drivers[..] {
            [] => vec![Driver::AfPacket, Driver::AfXdp],
            said => said.to_vec(),
        }
    }

    pub fn rates(&self) -> Vec<Rate> {
        match &self.rates[..] {
            [] => vec![Rate(100_000_000), Rate(1_000_000_000)],
            said => said.to_vec(),
        }
    }

    /// Fixed depths, then limits.
    pub fn limits(&self) -> Vec<AnyLimit> {
        let depths = match &self.depths[..] {
            [] => (0..=6).map(|power| 4_u32.pow(power)).collect(),
            said => said.to_vec(),
        };
        let limits = match &self.limits[..] {
            [] => vec![AnyLimit::dql(), AnyLimit::taut()],
            said => said.to_vec(),
        };
        let depths = depths.into_iter().map(AnyLimit::packets);
        depths.chain(limits).collect()
    }
}

fn parse_limit(text: &str) -> Result<AnyLimit, String> {
    text.parse()
        .map_err(|error: ParseLimitError| error.to_string())
}
