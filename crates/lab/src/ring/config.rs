//! The settings of the experiment.

use std::path::PathBuf;

use taut_linux::link::MacAddress;
use taut_path::AnyLimit;
use taut_path::units::{Rate, Time};
use taut_relay::driver::Driver;

/// Slots of every ring, and the largest depth.
pub const MAX_SLOTS: u32 = 4_096;
/// The depth that users set without a measurement.
pub const USUAL_DEPTH: u32 = 1_024;

/// The experiment.
#[derive(Debug, Clone)]
pub struct RingSweep {
    /// The drivers; all if there are none.
    pub drivers: Vec<Driver>,
    /// Rates of the shaper; 100 Mbit/s and 1 Gbit/s if there are none.
    pub rates: Vec<Rate>,
    /// Fixed depths in packets; powers of 4 if there are none.
    pub depths: Vec<u32>,
    /// Limits to compare with them; `dql` and `taut` if there are none.
    pub limits: Vec<AnyLimit>,
    /// Time between two looks for completions.
    pub cadence: Time,
    /// How long each row is measured.
    pub duration: Time,
    /// How many times each row is measured.
    pub rounds: u32,
    /// A card of the user instead of links of the experiment.
    pub card: Option<Card>,
    /// Seed of the frames' bytes.
    pub seed: u64,
    /// Where the tables go.
    pub tables: Option<PathBuf>,
    /// Where the picture goes.
    pub svg: Option<PathBuf>,
}

/// A network card of the user.
#[derive(Debug, Clone)]
pub struct Card {
    /// Its device, in the namespace of the process.
    pub device: String,
    /// The hardware address at the other end of its cable.
    pub peer_mac: MacAddress,
    /// The user allows the experiment to fill the link.
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

    /// Fixed depths, then limits.
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
