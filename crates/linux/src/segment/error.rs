//! Why a frame is not segmented.

use std::fmt;

/// Why a GSO packet is not segmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SegmentError {
    /// Not a GSO packet.
    Plain,
    /// The packet to be segmented is inside another one, or behind headers that change with it.
    Tunnel,
    /// A GSO type other than TCP over IPv4 or IPv6, or UDP datagrams of one size.
    Kind,
    /// The lengths in its headers differ from those of the frame.
    Malformed,
}

impl fmt::Display for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "not a GSO packet",
            Self::Tunnel => "a GSO packet inside a tunnel",
            Self::Kind => "an unknown GSO type",
            Self::Malformed => "a GSO packet with inconsistent lengths",
        })
    }
}

impl std::error::Error for SegmentError {}
