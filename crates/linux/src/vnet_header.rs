//! The header before each frame of a TAP or a packet socket.

/// Set together with the type if the sender uses explicit congestion notification.
const GSO_ECN: u8 = 0x80;

/// Segments of a GSO packet (`VIRTIO_NET_HDR_GSO_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Segments {
    TcpV4 = 1,
    TcpV6 = 4,
    Udp = 5,
}

/// A virtio-net header: the work that the kernel left to the device, in the host's byte order.
///
/// Any ten bytes are valid; their consistency with the frame is checked where they are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VirtioNetHeader {
    /// Flags.
    pub flags: u8,
    /// GSO type, 0 for none.
    pub gso_type: u8,
    /// A hint for the length of the headers. The kernel often sets a larger value: do not use it.
    pub header_bytes: u16,
    /// Payload bytes of each segment.
    pub segment_payload_bytes: u16,
    /// Offset of the bytes that the partial checksum covers.
    pub checksum_start: u16,
    /// Offset of the checksum, relative to `checksum_start`.
    pub checksum_offset: u16,
}

impl VirtioNetHeader {
    /// Bytes before each frame. Ten, because the later fields (merged buffers) are meaningless on a
    /// TAP, and packet sockets use ten too.
    pub const BYTES: usize = 10;

    /// The flag for a partial checksum: see [`complete_checksum`](crate::complete_checksum).
    pub(crate) const NEEDS_CHECKSUM: u8 = 1;

    /// Reads the header at the start of `buffer`, and returns it with the frame after it. `None` if
    /// `buffer` is shorter than a header.
    pub fn split(buffer: &[u8]) -> Option<(Self, &[u8])> {
        let (header, frame) = buffer.split_first_chunk::<{ Self::BYTES }>()?;
        let field = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let header = Self {
            flags: header[0],
            gso_type: header[1],
            header_bytes: field(2),
            segment_payload_bytes: field(4),
            checksum_start: field(6),
            checksum_offset: field(8),
        };
        Some((header, frame))
    }

    /// Returns the header as bytes.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let [h0, h1] = self.header_bytes.to_ne_bytes();
        let [s0, s1] = self.segment_payload_bytes.to_ne_bytes();
        let [c0, c1] = self.checksum_start.to_ne_bytes();
        let [o0, o1] = self.checksum_offset.to_ne_bytes();
        [self.flags, self.gso_type, h0, h1, s0, s1, c0, c1, o0, o1]
    }

    /// Returns `true` if the frame's checksum is partial.
    pub fn needs_checksum(self) -> bool {
        self.flags & Self::NEEDS_CHECKSUM != 0
    }

    /// Returns `true` if the frame is a GSO packet.
    pub fn is_segmented(self) -> bool {
        self.gso_type & !GSO_ECN != 0
    }

    /// Returns the type of the frame's segments; `None` if it is not a GSO packet, or its type is
    /// not one of these.
    pub(crate) fn segments(self) -> Option<Segments> {
        let mut all = [Segments::TcpV4, Segments::TcpV6, Segments::Udp].into_iter();
        all.find(|&segments| segments as u8 == self.gso_type & !GSO_ECN)
    }

    /// Returns the header of the same frame with `bytes` more before its network header.
    pub(crate) fn moved_by(mut self, bytes: u16) -> Self {
        if self.needs_checksum() {
            self.checksum_start = self.checksum_start.saturating_add(bytes);
        }
        if self.header_bytes > 0 {
            self.header_bytes = self.header_bytes.saturating_add(bytes);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_round_trip(bytes in prop::array::uniform10(any::<u8>())) {
            let (header, rest) = VirtioNetHeader::split(&bytes).expect("ten bytes");
            prop_assert!(rest.is_empty());
            prop_assert_eq!(header.to_bytes(), bytes);
        }

        #[test]
        fn short_buffers_have_no_header(bytes in prop::collection::vec(any::<u8>(), 0..10)) {
            prop_assert!(VirtioNetHeader::split(&bytes).is_none());
        }
    }
}
