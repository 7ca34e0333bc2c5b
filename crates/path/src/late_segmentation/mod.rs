//! Super-packets that go to the device in chunks, cut as late as can be.
//!
//! What is in front of a packet can only be waited for, and a super-packet is in front of others
//! for long: 5 ms at 100 Mbit/s. With a [`LateSegmentation`], a queue takes a super-packet from its discipline
//! and gives the device only the first of its segments; the rest goes back to where it was taken
//! from, first in its class, and what comes first there overtakes it.
//!
//! A chunk is an object of its own for the ring, the limit, probes and traces. The frame, its
//! charge and its flow's budget come back once: when the rest is gone and the last chunk has come
//! back. Only drivers that say so are given chunks ([`TxRing::chunk_support`](crate::TxRing::chunks)).

mod table;

use core::fmt;
use core::num::NonZeroU32;
use core::ops::RangeInclusive;
use core::str::FromStr;

use crate::driver::ChunkSupport;
use crate::limit::Unit;
use crate::units::{parse_time_ns, write_time};

pub(crate) use table::{Cutter, Ended, Joiner, Plan, Uncut, table};

/// How long the chunks of a super-packet may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LateSegmentation {
    /// Super-packets go whole.
    Off,
    /// A chunk is at most a twelfth of the limit that is in force. Where there is none, or one in
    /// packets, super-packets go whole.
    #[default]
    Auto,
    /// A chunk is at most this part of the limit, a 1 above it: the same with another divisor,
    /// within [`LIMIT_FRACTIONS`].
    LimitFraction(u32),
    /// Each segment goes alone.
    EachSegment,
    /// A chunk is as long as the device takes so many ns for, at the rate that the queue measures,
    /// but never less than a segment; and one segment while the rate is not known.
    Time(u64),
}

/// The shortest and the longest time of a chunk: those of a cap in time.
pub const CHUNK_NS: RangeInclusive<u64> = crate::limit::TIME_CAP_NS;

/// Chunks in a limit. More than the most, and a chunk is one segment under any limit that there is.
pub const LIMIT_FRACTIONS: RangeInclusive<u32> = 1..=1_000;

/// Chunks in a limit with [`LateSegmentation::Auto`]: of the divisors tried by `taut sim split`, the least
/// that keeps 95 % of what [`LateSegmentation::EachSegment`] gives at every rate; see docs/split.md.
const AUTO_FRACTION: u32 = 12;

/// A text that is no [`LateSegmentation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseLateSegmentationError;

impl fmt::Display for ParseLateSegmentationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("allowed: auto, off, all, a part of the limit from 1/1 to 1/1000, or a time from 1us to 10s")
    }
}

impl core::error::Error for ParseLateSegmentationError {}

impl FromStr for LateSegmentation {
    type Err = ParseLateSegmentationError;

    fn from_str(text: &str) -> Result<Self, ParseLateSegmentationError> {
        match text {
            "off" => Ok(Self::Off),
            "auto" => Ok(Self::Auto),
            "all" => Ok(Self::EachSegment),
            _ => match text.strip_prefix("1/") {
                Some(share) => match share.parse() {
                    Ok(share) if LIMIT_FRACTIONS.contains(&share) => Ok(Self::LimitFraction(share)),
                    _ => Err(ParseLateSegmentationError),
                },
                None => match parse_time_ns(text) {
                    Ok(ns) if CHUNK_NS.contains(&ns) => Ok(Self::Time(ns)),
                    _ => Err(ParseLateSegmentationError),
                },
            },
        }
    }
}

impl fmt::Display for LateSegmentation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Off => f.write_str("off"),
            Self::Auto => f.write_str("auto"),
            Self::LimitFraction(share) => write!(f, "1/{share}"),
            Self::EachSegment => f.write_str("all"),
            Self::Time(ns) => write_time(f, ns),
        }
    }
}

impl LateSegmentation {
    /// Chunks in a limit, if that is what says how long they are.
    const fn share(self) -> Option<NonZeroU32> {
        match self {
            Self::Auto => NonZeroU32::new(AUTO_FRACTION),
            Self::LimitFraction(share) => NonZeroU32::new(share),
            Self::Off | Self::EachSegment | Self::Time(_) => None,
        }
    }

    /// Whether it cuts only where there is a limit.
    pub const fn needs_limit(self) -> bool {
        self.share().is_some()
    }

    /// What of it can be done for a driver that sends such chunks.
    pub(crate) const fn with(self, support: ChunkSupport) -> Self {
        match (self, support) {
            (Self::Off, _) | (_, ChunkSupport::None) => Self::Off,
            (_, ChunkSupport::SingleSegment) => Self::EachSegment,
            (split, ChunkSupport::Any) => split,
        }
    }

    /// Chunks in a limit of this unit, and the most bytes of a chunk before anything else is known.
    /// Packets say nothing of bytes.
    pub(crate) const fn at_first(self, unit: Unit) -> (Option<NonZeroU32>, u32) {
        match (self, unit) {
            (Self::Auto | Self::LimitFraction(_), Unit::Bytes) => (self.share(), 0),
            (Self::Off | Self::Auto | Self::LimitFraction(_), _) => (None, u32::MAX),
            (Self::EachSegment | Self::Time(_), _) => (None, 0),
        }
    }
}
