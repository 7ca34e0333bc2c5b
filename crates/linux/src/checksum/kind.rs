//! The checksums that a sender can leave to the device.

use std::ops::Range;

use crc::{CRC_32_ISCSI, Crc};

use super::internet::{fold, sum};

/// CRC32c, of SCTP (RFC 9260, appendix A).
static CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// A protocol whose checksum can be partial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ChecksumKind {
    Tcp = 6,
    Udp = 17,
    /// Without a pseudo header.
    Gre = 47,
    /// A CRC32c, without a pseudo header.
    Sctp = 132,
}

impl ChecksumKind {
    /// Returns the kind of a protocol of IP.
    pub(crate) fn of(protocol: u8) -> Option<Self> {
        let mut kinds = [Self::Tcp, Self::Udp, Self::Gre, Self::Sctp].into_iter();
        kinds.find(|&kind| kind as u8 == protocol)
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

    /// Returns the offset of the checksum in its header.
    pub(crate) const fn offset(self) -> u16 {
        // Cannot truncate: headers are shorter.
        self.field().start as u16
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
