//! Super-packets that go to the device in pieces, cut as late as can be.
//!
//! What is in front of a packet can only be waited for, and a super-packet is in front of others for
//! long: 5 ms at 100 Mbit/s. With a [`Split`], a queue takes a super-packet from its discipline and
//! gives the device only the first of its segments; the rest goes back to where it was taken from,
//! first in its class, and what comes first there overtakes it.
//!
//! A piece is an object of its own for the ring, the limit, probes and traces. The frame, its charge
//! and its flow's budget come back once: when the rest is gone and the last piece has come back. Only
//! drivers that say so are given pieces ([`TxRing::takes_pieces`](crate::TxRing::takes_pieces)).

mod table;

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

use crate::units::{parse_time_ns, write_time};

pub(crate) use table::{Cutter, Ended, Joiner, Plan, table};

/// How long the pieces of a super-packet may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Split {
    /// Super-packets go whole.
    #[default]
    Off,
    /// Each segment goes alone.
    All,
    /// A piece is as long as the device takes so many ns for, at the rate that the queue measures, but
    /// never less than a segment; and one segment while the rate is not known.
    Time(u64),
}

/// The shortest and the longest time of a piece: those of a cap in time.
pub const PIECE_NS: RangeInclusive<u64> = crate::limit::CAP_NS;

/// A text that is no [`Split`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseSplitError;

impl fmt::Display for ParseSplitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("allowed: off, all, or a time from 1us to 10s")
    }
}

impl core::error::Error for ParseSplitError {}

impl FromStr for Split {
    type Err = ParseSplitError;

    fn from_str(text: &str) -> Result<Self, ParseSplitError> {
        match text {
            "off" => Ok(Self::Off),
            "all" => Ok(Self::All),
            _ => match parse_time_ns(text) {
                Ok(ns) if PIECE_NS.contains(&ns) => Ok(Self::Time(ns)),
                _ => Err(ParseSplitError),
            },
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Off => f.write_str("off"),
            Self::All => f.write_str("all"),
            Self::Time(ns) => write_time(f, ns),
        }
    }
}

impl Split {
    /// The most bytes of a piece while the rate is not known.
    pub(crate) const fn most_bytes_at_first(self) -> u32 {
        match self {
            Self::Off => u32::MAX,
            Self::All | Self::Time(_) => 0,
        }
    }
}
