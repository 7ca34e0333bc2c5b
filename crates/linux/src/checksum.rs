//! Completing the checksum that the kernel left to the device.

use std::ops::Range;

use crc::{CRC_32_ISCSI, Crc};

use crate::layers::layers;
use crate::vnet_header::VirtioNetHeader;

/// Why a checksum cannot be completed. The frame is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChecksumError {
    /// The header refers to bytes after the end of the frame.
    #[error("the checksum field is outside the frame")]
    OutsideFrame,
    /// The frame is a GSO packet: each segment needs a checksum of its own.
    #[error("a GSO packet has no checksum of its own")]
    Segmented,
    /// The algorithm of the checksum is unknown: the protocol is not TCP, UDP, GRE or SCTP, or the
    /// offset is that of another one.
    #[error("the protocol of the partial checksum is unknown")]
    UnknownProtocol,
}

/// Completes the checksum of `frame` (an Ethernet frame without the virtio-net header) if `header`
/// marks it as partial. Returns `true` if it did. The header is then stale: pass on a default one.
///
/// In TCP, UDP and GRE, the field already holds the sum of the pseudo header (RFC 1071 arithmetic),
/// so all bytes from `checksum_start` on are added to it. SCTP has a CRC32c instead (RFC 9260). The
/// header does not distinguish them, so the protocol is read from the IP header before
/// `checksum_start`, behind other headers and in tunnels. If that is not found, TCP and UDP are
/// identified by `checksum_offset`.
///
/// # Errors
/// [`ChecksumError`]; the frame is unchanged then.
pub fn complete_checksum(frame: &mut [u8], header: VirtioNetHeader) -> Result<bool, ChecksumError> {
    if !header.needs_checksum() {
        return Ok(false);
    }
    if header.is_segmented() {
        return Err(ChecksumError::Segmented);
    }
    let (start, offset) = (
        usize::from(header.checksum_start),
        usize::from(header.checksum_offset),
    );
    if start + offset + 2 > frame.len() {
        return Err(ChecksumError::OutsideFrame);
    }
    let layer = layers(frame).find(|layer| layer.transport_at == start);
    let (kind, end) = match layer {
        Some(layer) => (ChecksumKind::of(layer.protocol), layer.end_at),
        None => (ChecksumKind::at_offset(offset), frame.len()),
    };
    let kind = kind.filter(|kind| kind.field().start == offset);
    let kind = kind.ok_or(ChecksumError::UnknownProtocol)?;
    let is_complete = kind.complete(&mut frame[start..end]);
    is_complete
        .then_some(true)
        .ok_or(ChecksumError::OutsideFrame)
}

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
    fn at_offset(offset: usize) -> Option<Self> {
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
        let checksum = match (self, internet_checksum(covered)) {
            // In UDP, 0 means that the checksum is absent (RFC 768); all ones is the same number.
            (Self::Udp, 0) => u16::MAX,
            (_, checksum) => checksum,
        };
        covered[self.field()].copy_from_slice(&checksum.to_be_bytes());
        true
    }
}

/// Returns the Internet checksum of `bytes` (RFC 1071): 0 if they contain it already.
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    !fold(sum(bytes))
}

/// Returns the sum of the Internet checksum (RFC 1071): of the big-endian 16-bit words, with an odd
/// last byte padded with zero. Carries are added.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    // In native byte order, four bytes at a time. The sum of the swapped words is the swapped sum,
    // and 2^32 is 1 modulo 2^16 - 1, as is 2^16 (RFC 1071, section 2). No overflow: a frame is
    // shorter than 2^32 words.
    let (words, rest) = bytes.as_chunks::<4>();
    let words = words
        .iter()
        .map(|word| u64::from(u32::from_ne_bytes(*word)));
    let whole: u64 = words.sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let sum = fold(whole + u64::from(u32::from_ne_bytes(last)));
    u64::from(u16::from_be_bytes(sum.to_ne_bytes()))
}

/// Adds the carries until there are none.
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open_at(start: u16, offset: u16) -> VirtioNetHeader {
        VirtioNetHeader {
            flags: 1,
            checksum_start: start,
            checksum_offset: offset,
            ..VirtioNetHeader::default()
        }
    }

    #[test]
    fn example_of_rfc_1071() {
        // Section 3: 0001 f203 f4f5 f6f7 sum to ddf2.
        assert_eq!(
            fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])),
            0xddf2
        );
    }

    #[test]
    fn known_ip_header() {
        // A common textbook example; its checksum is b861.
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0x00,
            0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(!fold(sum(&header)), 0xb861);
    }

    #[test]
    fn udp_checksum_is_never_zero() {
        // Sums to ffff, so the checksum would be 0.
        let mut udp = [0xff, 0xff, 0, 0, 0, 0, 0, 0];
        assert_eq!(complete_checksum(&mut udp, open_at(0, 6)), Ok(true));
        assert_eq!(udp[6..], [0xff, 0xff]);
        let mut tcp = [0; 20];
        tcp[..2].fill(0xff);
        assert_eq!(complete_checksum(&mut tcp, open_at(0, 16)), Ok(true));
        assert_eq!(tcp[16..18], [0, 0]);
    }

    #[test]
    fn complete_and_invalid_checksums_are_unchanged() {
        let mut frame = [1u8; 20];
        assert_eq!(
            complete_checksum(&mut frame, VirtioNetHeader::default()),
            Ok(false)
        );
        for (start, offset) in [(21, 0), (20, 0), (10, 9), (0, 19), (u16::MAX, u16::MAX)] {
            let refused = complete_checksum(&mut frame, open_at(start, offset));
            assert_eq!(refused, Err(ChecksumError::OutsideFrame));
        }
        for offset in [0, 2, 4, 8, 10] {
            let rejected = complete_checksum(&mut frame, open_at(0, offset));
            assert_eq!(rejected, Err(ChecksumError::UnknownProtocol));
        }
        let segmented = VirtioNetHeader {
            gso_type: 1,
            ..open_at(0, 2)
        };
        assert_eq!(
            complete_checksum(&mut frame, segmented),
            Err(ChecksumError::Segmented)
        );
        assert_eq!(frame, [1; 20]);
    }

    proptest! {
        #[test]
        fn sum_equals_that_of_16_bit_words(
            bytes in prop::collection::vec(any::<u8>(), 0..70),
        ) {
            let words = bytes.chunks(2);
            let byte = |pair: &[u8], at: usize| pair.get(at).map_or(0, |&byte| u64::from(byte));
            let word = |pair: &[u8]| byte(pair, 0) << 8 | byte(pair, 1);
            // 0 and 2^16 - 1 are the same number, and only zeroes have the sum 0.
            prop_assert_eq!(fold(sum(&bytes)), fold(words.map(word).sum()));
        }

        /// A receiver verifies that the pseudo header and all covered bytes sum to ffff.
        #[test]
        fn receiver_accepts_the_checksum(
            mut segment in prop::collection::vec(any::<u8>(), 20..200),
            pseudo in any::<u16>(),
        ) {
            segment[16..18].copy_from_slice(&pseudo.to_be_bytes());
            complete_checksum(&mut segment, open_at(0, 16)).expect("inside");
            prop_assert_eq!(fold(sum(&segment) + u64::from(pseudo)), u16::MAX);
        }
    }
}
