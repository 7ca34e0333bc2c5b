//! Options of `taut lab ring`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use taut_lab::experiment::{self, Wanted};
use taut_lab::ring::{self, Card, MAX_SLOTS};
use taut_linux::link::MacAddress;
use taut_measure::DEFAULT_SEED;
use taut_path::AnyLimit;
use taut_path::units::{Rate, Time};
use taut_relay::driver::Driver;

use crate::parse::{COALESCE_TIMES, DURATIONS, RATES, count_in, parse_limit, within};

/// Options of `taut lab ring`.
#[derive(Debug, Clone, Args)]
pub struct RingSweep {
    /// Driver (repeatable) [default: both]
    #[arg(long = "driver", value_name = "DRIVER", value_enum)]
    pub drivers: Vec<Driver>,

    /// Rate of the shaper (repeatable) [default: 100mbit, 1gbit]
    #[arg(long = "rate", value_name = "RATE", value_parser = within(RATES))]
    pub rates: Vec<Rate>,

    /// Fixed depth in packets (repeatable) [default: 1, 4, 16 .. 4096]
    #[arg(long = "depth", value_name = "N", value_parser = count_in(1..=MAX_SLOTS))]
    pub depths: Vec<u32>,

    /// Limit (repeatable; taut help limits) [default: dql, taut]
    #[arg(long = "limit", value_name = "LIMIT", allow_hyphen_values = true,
          value_parser = parse_limit)]
    pub limits: Vec<AnyLimit>,

    /// Completion poll interval, such as 250us
    #[arg(long, value_name = "TIME", default_value_t = Time::us(250),
          value_parser = within(COALESCE_TIMES))]
    pub coalesce: Time,

    /// Measurement time of each row, after its warm-up
    #[arg(long, value_name = "TIME", default_value_t = Time::ms(1_000),
          value_parser = within(DURATIONS))]
    pub duration: Time,

    /// Repetitions of each row; medians are printed (1 to 99)
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = count_in(1..=99))]
    pub repeat: u32,

    /// Real card instead of veth pairs; needs --peer-mac and --yes
    #[arg(
        long,
        value_name = "DEV",
        requires = "peer_mac",
        conflicts_with = "rates"
    )]
    pub device: Option<String>,

    /// MAC address of the peer of the card, the destination of the frames
    #[arg(long, value_name = "MAC", requires = "device")]
    pub peer_mac: Option<MacAddress>,

    /// Confirm that the link of the card will be saturated
    #[arg(long)]
    pub yes: bool,

    /// Seed of the payload of the frames
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Print one JSON document instead of the table
    #[arg(short, long)]
    pub json: bool,

    /// Write the tables to FILE too, as Markdown
    #[arg(long, value_name = "FILE")]
    pub tables: Option<PathBuf>,

    /// Write charts of the shaped links to FILE, as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Print the plan without running it
    #[arg(long)]
    pub dry_run: bool,
}

impl RingSweep {
    /// `taut lab ring`.
    pub fn run(&self) -> ExitCode {
        let wanted = Wanted {
            json: self.json,
            dry_run: self.dry_run,
        };
        experiment::run(self.experiment(), wanted)
    }

    /// Returns the experiment with these options.
    fn experiment(&self) -> ring::RingSweep {
        let card = |(device, peer_mac): (&String, MacAddress)| Card {
            device: device.clone(),
            peer_mac,
            confirmed: self.yes,
        };
        ring::RingSweep {
            drivers: self.drivers.clone(),
            rates: self.rates.clone(),
            depths: self.depths.clone(),
            limits: self.limits.clone(),
            coalesce: self.coalesce,
            duration: self.duration,
            repetitions: self.repeat,
            card: self.device.as_ref().zip(self.peer_mac).map(card),
            seed: self.seed,
            tables: self.tables.clone(),
            svg: self.svg.clone(),
        }
    }
}
