//! The command line.

use clap::{Parser, ValueEnum};
use taut_path::AnyLimit;
use taut_path::units::parse_rate_bits_per_s;

/// Rate of the device of a fault, in bits a second.
const FAULT_RATE: u64 = 20_000_000;

/// Send frames over a veth pair in network namespaces of its own.
#[derive(Debug, Parser)]
pub struct Options {
    /// A loop without a queue, as in the library's own examples (plain), or a limit: dql, taut, ...
    #[arg(long, default_value = "dql", value_parser = limit)]
    pub limit: String,
    /// Packets to send without --rate.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub packets: u64,
    /// Send for --seconds through a shaper of this rate, such as 100mbit, and measure the delay of
    /// urgent packets.
    #[arg(long, value_parser = parse_rate_bits_per_s)]
    pub rate: Option<u64>,
    /// Duration with --rate, in seconds.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// Inject a fault and check that each packet is accounted for.
    #[arg(long, conflicts_with = "rate")]
    pub fault: Option<Fault>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// A fault of the device or of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// No completion is read any more, from any socket.
    Completions,
    /// The device stops and continues two seconds later.
    Held,
    /// The device is deleted, and created again.
    Removed,
    /// The other end of the veth pair goes down and up.
    PeerDown,
    /// The process stops for a second (SIGSTOP).
    Stopped,
}

impl Options {
    pub fn is_plain(&self) -> bool {
        self.limit == "plain"
    }

    /// Returns the rate of the device; `None` for a plain veth pair.
    pub fn device_rate(&self) -> Option<u64> {
        match self.fault {
            Some(Fault::PeerDown) => None,
            Some(_) => Some(FAULT_RATE),
            None => self.rate,
        }
    }
}

fn limit(text: &str) -> Result<String, String> {
    if text != "plain" {
        text.parse::<AnyLimit>()
            .map_err(|error| format!("{error}, or plain"))?;
    }
    Ok(text.to_owned())
}
