//! The checksums that a sender can leave to the device.

use std::ops::Range;

use crc::{CRC_32_ISCSI, Crc};

use super::internet::{fold, sum};

/// CRC32c, of SCTP (RFC 9260, appendix A).
static CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// A protocol whose checksum can be partial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChecksumKind {
    Tcp,
    Udp,
    /// Without a pseudo header.
    Gre,
    /// A CRC32c, without a pseudo header.
    Sctp,
}

impl ChecksumKind {
    /// Returns the kind of a protocol of IP.
    pub(crate) const fn of(protocol: u8) -> Option<Self> {
        match protocol {
            6 => Some(Self::Tcp),
            17 => Some(Self::Udp),
            47 => Some(Self::Gre),
            132 => Some(Self::Sctp),
            _ => None,
        }
    }

    /// Returns the kind with this offset in an unknown packet, of which only TCP and UDP are
    /// expected.
    pub(super) fn at_offset(offset: usize) -> Option<Self> {
        let mut kinds = [Self::Tcp, Self::Udp].into_iter();
        kinds.find(|kind| kind.field().start == offset)
    }

    /// Returns the position of the checksum in its header.
    pub(crate) const fn field(self) -> Range<usize> {
        match self {
            Self::Tcp => 16..18,
            Self::Udp => 6..8,
            Self::Gre => 4..6,
            Self::Sctp => 8..12,
        }
    }

    /// Completes the checksum of `covered`, the header and its payload. Returns `false` if that is
    /// too short, and changes nothing.
    pub(crate) fn complete(self, covered: &mut [u8]) -> bool {
        if self.field().end > covered.len() {
            return false;
        }
        if self == Self::Sctp {
            covered[self.field()].fill(0);
            let checksum = CRC32C.checksum(covered);
            covered[self.field()].copy_from_slice(&checksum.to_le_bytes());
            return true;
        }
        let checksum = match (self, !fold(sum(covered))) {
            // In UDP, 0 means that the checksum is absent (RFC 768); all ones is the same number.
            (Self::Udp, 0) => u16::MAX,
            (_, checksum) => checksum,
        };
        covered[self.field()].copy_from_slice(&checksum.to_be_bytes());
        true
    }
}
