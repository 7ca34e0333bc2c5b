//! The options of the experiment.

use clap::Args;
use taut_linux::link::MacAddress;
use taut_measure::DEFAULT_SEED;
use taut_path::AnyLimit;
use taut_path::units::{Rate, Time};
use taut_relay::driver::Driver;
use taut_report::output_file::ReportFile;
use taut_report::value::{count_in, parse_limit, within};
use taut_scenarios::validation::{COALESCE_TIMES, DURATIONS, RATES};

use crate::experiment::OutputOptions;

/// Slots of every ring, and the largest depth.
pub const MAX_SLOTS: u32 = 4_096;
/// A typical depth without measurement.
pub const USUAL_DEPTH: u32 = 1_024;

/// Options of `taut lab ring`.
#[derive(Debug, Clone, Args)]
pub struct RingSweep {
    /// Driver (repeatable) [default: both]
    #[arg(long = "driver", value_name = "DRIVER", value_enum, hide_default_value = true,
          default_values_t = [Driver::AfPacket, Driver::AfXdp])]
    pub drivers: Vec<Driver>,

    /// Rate of the shaper (repeatable) [default: 100mbit, 1gbit]
    #[arg(long = "rate", value_name = "RATE", value_parser = within(RATES),
          default_values_t = [Rate(100_000_000), Rate(1_000_000_000)], hide_default_value = true)]
    pub rates: Vec<Rate>,

    /// Fixed depth in packets (repeatable) [default: 1, 4, 16 .. 4096]
    #[arg(long = "depth", value_name = "N", value_parser = count_in(1..=MAX_SLOTS),
          default_values_t = (0..=6).map(|power| 4_u32.pow(power)), hide_default_value = true)]
    pub depths: Vec<u32>,

    /// Limit (repeatable; taut help limits) [default: dql, taut]
    #[arg(long = "limit", value_name = "LIMIT", allow_hyphen_values = true,
          value_parser = parse_limit, hide_default_value = true,
          default_values_t = [AnyLimit::dql(), AnyLimit::taut()])]
    pub limits: Vec<AnyLimit>,

    /// Completion poll interval
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

    #[command(flatten)]
    pub report: ReportFile,

    #[command(flatten)]
    pub output: OutputOptions,
}

impl RingSweep {
    /// Returns the fixed depths, then the limits.
    pub fn limits(&self) -> Vec<AnyLimit> {
        let depths = self.depths.iter().copied().map(AnyLimit::packets);
        depths.chain(self.limits.iter().cloned()).collect()
    }

    /// Returns the card of the user and the address of its peer, if the links are not those of the
    /// experiment.
    pub fn card(&self) -> Option<(&str, MacAddress)> {
        Some((self.device.as_deref()?, self.peer_mac?))
    }
}
