//! The settings of the experiment.

use std::path::PathBuf;

use taut_linux::link::MacAddress;
use taut_path::AnyLimit;
use taut_path::units::{Rate, Time};
use taut_relay::driver::Driver;

/// Slots of every ring, and the largest depth.
pub const MAX_SLOTS: u32 = 4_096;
/// A typical depth without measurement.
pub const USUAL_DEPTH: u32 = 1_024;

/// The experiment.
#[derive(Debug, Clone)]
pub struct RingSweep {
    /// The drivers; empty: all.
    pub drivers: Vec<Driver>,
    /// Rates of the shaper; empty: 100 Mbit/s and 1 Gbit/s.
    pub rates: Vec<Rate>,
    /// Fixed depths in packets; empty: powers of 4.
    pub depths: Vec<u32>,
    /// Limits to compare with them; empty: `dql` and `taut`.
    pub limits: Vec<AnyLimit>,
    /// Completion poll interval.
    pub coalesce: Time,
    /// Measurement time of each row.
    pub duration: Time,
    /// Repetitions of each row.
    pub repetitions: u32,
    /// A card of the user instead of links of the experiment.
    pub card: Option<Card>,
    /// Seed of the payload of the frames.
    pub seed: u64,
    /// The path of the tables.
    pub tables: Option<PathBuf>,
    /// The path of the charts.
    pub svg: Option<PathBuf>,
}

/// A network card of the user.
#[derive(Debug, Clone)]
pub struct Card {
    /// Its device, in the namespace of the process.
    pub device: String,
    /// The MAC address of its peer.
    pub peer_mac: MacAddress,
    /// The user allows the experiment to saturate the link.
    pub confirmed: bool,
}

impl RingSweep {
    pub fn drivers(&self) -> Vec<Driver> {
        match &self.drivers[..] {
            [] => vec![Driver::AfPacket, Driver::AfXdp],
            drivers => drivers.to_vec(),
        }
    }

    pub fn rates(&self) -> Vec<Rate> {
        match &self.rates[..] {
            [] => vec![Rate(100_000_000), Rate(1_000_000_000)],
            rates => rates.to_vec(),
        }
    }

    /// Returns the fixed depths, then the limits.
    pub fn limits(&self) -> Vec<AnyLimit> {
        let depths = match &self.depths[..] {
            [] => (0..=6).map(|power| 4_u32.pow(power)).collect(),
            depths => depths.to_vec(),
        };
        let limits = match &self.limits[..] {
            [] => vec![AnyLimit::dql(), AnyLimit::taut()],
            limits => limits.to_vec(),
        };
        let depths = depths.into_iter().map(AnyLimit::packets);
        depths.chain(limits).collect()
    }
}
