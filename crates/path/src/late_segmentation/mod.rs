//! Late segmentation: GSO packets are sent in chunks, which are segmented as late as possible.
//!
//! A packet cannot overtake those in front of it, and a GSO packet blocks others for a long time:
//! 5 ms at 100 Mbit/s. With [`LateSegmentation`], a queue takes a GSO packet from its discipline
//! and submits only its first segments. The remainder is requeued at the head of its class, and
//! packets of higher priority can overtake it.
//!
//! The ring, the limit, probes and traces count a chunk as one object. The frame, its charge and
//! its flow's budget are returned once: after the last chunk completed and no remainder is left.
//! Only drivers that support chunks receive them
//! ([`TxRing::chunk_support`](crate::TxRing::chunk_support)).

mod table;

use core::fmt;
use core::num::NonZeroU32;
use core::ops::RangeInclusive;
use core::str::FromStr;

use crate::driver::ChunkSupport;
use crate::limit::Unit;
use crate::units::{Time, parse_time_ns};

pub(crate) use table::{ChunkTracker, EndedPacket, LateSegmenter, Plan, Unsegmented, table};

/// The maximum length of the chunks of a GSO packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LateSegmentation {
    /// GSO packets are sent whole.
    Off,
    /// A chunk is at most a twelfth of the current limit. Without a limit, or with one in packets,
    /// GSO packets are sent whole.
    #[default]
    Auto,
    /// A chunk is at most the limit divided by this number, within [`CHUNKS_PER_LIMIT`]. `Auto`
    /// divides by 12.
    ChunksPerLimit(u32),
    /// Each segment is sent on its own.
    EachSegment,
    /// A chunk is what the device sends in this time in ns, at the measured rate, and at least one
    /// segment. It is one segment while the rate is unknown.
    Time(u64),
}

/// The range of the time of a chunk, in ns: that of a time cap.
pub const CHUNK_NS: RangeInclusive<u64> = crate::limit::TIME_CAP_NS;

/// The range of chunks per limit. Above it, a chunk would be one segment for any practical limit.
pub const CHUNKS_PER_LIMIT: RangeInclusive<u32> = 1..=1_000;

/// Chunks per limit with [`LateSegmentation::Auto`]. It is the smallest tested number that keeps
/// 95 % of the gain of [`LateSegmentation::EachSegment`] at every rate
/// (`taut sim late-segmentation`, docs/late-segmentation.md).
const AUTO_CHUNKS_PER_LIMIT: u32 = 12;

/// The text is not a [`LateSegmentation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("allowed: auto, off, all, 1/1 to 1/1000 of the limit, or a time from 1us to 10s")]
pub struct ParseLateSegmentationError;

impl FromStr for LateSegmentation {
    type Err = ParseLateSegmentationError;

    fn from_str(text: &str) -> Result<Self, ParseLateSegmentationError> {
        match text {
            "off" => Ok(Self::Off),
            "auto" => Ok(Self::Auto),
            "all" => Ok(Self::EachSegment),
            _ => match text.strip_prefix("1/") {
                Some(chunks) => match chunks.parse() {
                    Ok(chunks) if CHUNKS_PER_LIMIT.contains(&chunks) => {
                        Ok(Self::ChunksPerLimit(chunks))
                    }
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
            Self::ChunksPerLimit(chunks) => write!(f, "1/{chunks}"),
            Self::EachSegment => f.write_str("all"),
            Self::Time(ns) => Time(ns).fmt(f),
        }
    }
}

impl LateSegmentation {
    /// Returns the chunks per limit, if the limit determines the length of a chunk.
    const fn chunks_per_limit(self) -> Option<NonZeroU32> {
        match self {
            Self::Auto => NonZeroU32::new(AUTO_CHUNKS_PER_LIMIT),
            Self::ChunksPerLimit(chunks) => NonZeroU32::new(chunks),
            Self::Off | Self::EachSegment | Self::Time(_) => None,
        }
    }

    /// Returns `true` if packets are segmented only while there is a limit.
    pub const fn needs_limit(self) -> bool {
        self.chunks_per_limit().is_some()
    }

    /// Returns the setting that a driver with this support can implement.
    pub(crate) const fn with(self, support: ChunkSupport) -> Self {
        match (self, support) {
            (Self::Off, _) | (_, ChunkSupport::None) => Self::Off,
            (_, ChunkSupport::SingleSegment) => Self::EachSegment,
            (split, ChunkSupport::Any) => split,
        }
    }

    /// Returns the chunks per limit of this unit, and the initial maximum of the bytes of a chunk.
    /// A limit in packets gives no length in bytes.
    pub(crate) const fn at_first(self, unit: Unit) -> (Option<NonZeroU32>, u32) {
        match (self, unit) {
            (Self::Auto | Self::ChunksPerLimit(_), Unit::Bytes) => (self.chunks_per_limit(), 0),
            (Self::Off | Self::Auto | Self::ChunksPerLimit(_), _) => (None, u32::MAX),
            (Self::EachSegment | Self::Time(_), _) => (None, 0),
        }
    }
}
