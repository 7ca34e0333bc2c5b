//! The drivers below the measured queue.

use clap::ValueEnum;
use taut_path::units::Rate;
use taut_scenarios::rr_under_load::Settings;
use taut_scenarios::schema::Schema;

/// A driver below the measured queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DriverKind {
    /// An emulated e1000 between two TAP devices
    #[value(name = "emulated")]
    Emulated,
    /// An AF_PACKET transmit ring into a veth with a kernel TBF
    #[value(name = "af_packet")]
    AfPacket,
}

impl DriverKind {
    /// Returns the name in options and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Emulated => "emulated",
            Self::AfPacket => "af_packet",
        }
    }

    /// Returns the rate of the link, unless the user sets another.
    pub fn default_rate(self) -> Rate {
        match self {
            Self::Emulated => Settings::defaults().rate,
            Self::AfPacket => Rate(100_000_000),
        }
    }
}
