//! Segments a GSO packet into frames that a device can carry, as a card with TSO does.
//!
//! ```
//! use taut_linux::segment::Segmenter;
//! use taut_linux::VirtioNetHeader;
//!
//! # let mut frame = vec![0u8; 14 + 20 + 20 + 2_000];
//! # frame[12..14].copy_from_slice(&[0x08, 0x00]);
//! # frame[14] = 0x45;
//! # frame[16..18].copy_from_slice(&2_040u16.to_be_bytes());
//! # frame[23] = 6;
//! # frame[46] = 5 << 4;
//! // `frame` holds 2,000 bytes of TCP payload over IPv4, and its header says how to cut it.
//! let header = VirtioNetHeader {
//!     flags: 1,
//!     gso_type: 1,
//!     segment_payload_bytes: 1_448,
//!     checksum_start: 34,
//!     checksum_offset: 16,
//!     ..VirtioNetHeader::default()
//! };
//! let cut = Segmenter::of(header, &frame)?;
//! let mut slot = [0; 1_514];
//! let lengths: Vec<_> = (0..cut.segments())
//!     .map(|index| cut.write(&frame, index, &mut slot))
//!     .collect();
//! assert_eq!(lengths, [Some(54 + 1_448), Some(54 + 552)]);
//! # Ok::<(), taut_linux::segment::SegmentError>(())
//! ```

mod headers;
mod partial_checksum;

use std::ops::Range;

use taut_path::Segmentation;

use crate::checksum::{ChecksumKind, complete_checksum, fold, internet_checksum, sum};
use crate::layers::IPV6_BYTES;
use crate::vnet_header::VirtioNetHeader;
use headers::Headers;

pub use headers::{SegmentError, remove_jumbo_option};
pub use partial_checksum::complete_partial_checksum;

/// TCP flags, in the byte after the data offset.
const TCP_FIN: u8 = 0x01;
const TCP_PSH: u8 = 0x08;
const TCP_CWR: u8 = 0x80;

/// The segmentation of one GSO packet: TCP or UDP, over IPv4 or IPv6, behind any VLAN tags.
///
/// It follows the rules of TSO. Each segment has its own lengths and checksums. The identification
/// of IPv4 and TCP's sequence numbers count on from the first segment. FIN and PSH are set in the
/// last segment only, CWR in the first only. All segments carry the options. A UDP checksum of 0 is
/// sent as all ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmenter {
    headers: Headers,
    /// Payload bytes of each segment except the last; not 0.
    each_bytes: u16,
    payload_bytes: u32,
    /// The GSO type of a virtio-net header.
    gso_type: u8,
    has_accurate_ecn: bool,
}

/// A chunk of a GSO packet: its headers, and the position of its payload in the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentParts {
    /// The remaining work for the receiver of this chunk: completing the checksum, and segmenting
    /// it if it has more than one segment.
    pub header: VirtioNetHeader,
    /// Bytes of its headers.
    pub header_bytes: usize,
    /// The position of its payload in the frame.
    pub payload: Range<usize>,
}

impl Segmenter {
    /// Prepares to segment `frame` (without its virtio-net header) as `header` describes.
    ///
    /// # Errors
    /// [`SegmentError`]: such a frame is sent whole if the device can carry it, or not at all.
    pub fn of(header: VirtioNetHeader, frame: &[u8]) -> Result<Self, SegmentError> {
        if !header.is_segmented() {
            return Err(SegmentError::Plain);
        }
        if header.segment_payload_bytes == 0 {
            return Err(SegmentError::Malformed);
        }
        let headers = Headers::of(header, frame)?;
        let payload = frame.len() - usize::from(headers.header_bytes);
        Ok(Self {
            headers,
            each_bytes: header.segment_payload_bytes,
            // Cannot truncate: the kernel builds no packet of more than 2^19 bytes.
            payload_bytes: payload as u32,
            gso_type: header.gso_type,
            has_accurate_ecn: false,
        })
    }

    /// Sets whether the TCP of the sender uses accurate ECN. With it, CWR is a bit of a counter,
    /// which every segment repeats, and not an event, which only the first reports. A virtio-net
    /// header does not distinguish the two, so the caller must know the sender. A chunk of several
    /// segments is segmented again by the kernel or the device, without this setting.
    pub const fn with_accurate_ecn(mut self, is_used: bool) -> Self {
        self.has_accurate_ecn = is_used;
        self
    }

    /// As [`of`](Self::of), for a frame at the start of `space`, whose length is in its headers.
    ///
    /// # Errors
    /// As for [`of`](Self::of).
    pub fn within(header: VirtioNetHeader, space: &[u8]) -> Result<Self, SegmentError> {
        let frame = headers::frame(space).ok_or(SegmentError::Malformed)?;
        Self::of(header, frame)
    }

    /// Returns the length of the GSO packet.
    pub const fn frame_bytes(&self) -> usize {
        self.headers.header_bytes as usize + self.payload_bytes as usize
    }

    /// Returns the number of segments, at least 1.
    pub const fn segments(&self) -> u32 {
        let segments = self.payload_bytes.div_ceil(self.each_bytes as u32);
        if segments == 0 { 1 } else { segments }
    }

    /// Returns the length of the longest segment with all its headers, in bytes.
    pub fn longest_bytes(&self) -> u32 {
        let payload = self.payload_bytes.min(self.each_bytes.into());
        u32::from(self.headers.header_bytes) + payload
    }

    /// Returns the segmentation for a packet of `taut-path`; `None` if it fits in one segment.
    pub fn segmentation(&self) -> Option<Segmentation> {
        if self.segments() == 1 {
            return None;
        }
        Segmentation::new(self.headers.header_bytes, self.each_bytes)
    }

    /// Writes segment `index`, counted from 0, of `frame` to the start of `out`, with all checksums
    /// complete. Returns its length. `None` if there is no such segment, `out` is too short, or
    /// `frame` is another one; `out` might have changed then.
    pub fn write(&self, frame: &[u8], index: u32, out: &mut [u8]) -> Option<usize> {
        if frame.len() != self.frame_bytes() {
            return None;
        }
        let payload = self.write_headers(frame, index, 1, out)?;
        let header_bytes = usize::from(self.headers.header_bytes);
        let segment = out.get_mut(..header_bytes + payload.len())?;
        segment[header_bytes..].copy_from_slice(&frame[payload]);
        let transport = &mut segment[self.headers.transport_at.into()..];
        let is_complete = self.headers.transport.complete(transport);
        debug_assert!(is_complete, "the headers are longer than the field");
        Some(segment.len())
    }

    /// Writes the headers of a chunk of `frame`, `segments` segments from `first` on, to the start
    /// of `out`. Its checksum is partial. `None` if there are no such segments, `out` is too short
    /// or `frame` does not begin with the GSO packet; `out` might have changed then.
    pub fn piece(
        &self,
        frame: &[u8],
        first: u32,
        segments: u32,
        out: &mut [u8],
    ) -> Option<SegmentParts> {
        let payload = self.write_headers(frame, first, segments, out)?;
        let is_one = segments == 1;
        Some(SegmentParts {
            header: VirtioNetHeader {
                flags: VirtioNetHeader::NEEDS_CHECKSUM,
                gso_type: if is_one { 0 } else { self.gso_type },
                header_bytes: self.headers.header_bytes,
                segment_payload_bytes: if is_one { 0 } else { self.each_bytes },
                checksum_start: self.headers.transport_at,
                checksum_offset: self.headers.transport.offset(),
            },
            header_bytes: self.headers.header_bytes.into(),
            payload,
        })
    }

    /// Writes the headers of a chunk. Returns the position of its payload in the frame.
    fn write_headers(
        &self,
        frame: &[u8],
        first: u32,
        segments: u32,
        out: &mut [u8],
    ) -> Option<Range<usize>> {
        let end = first.checked_add(segments)?;
        if segments == 0 || end > self.segments() || frame.len() < self.frame_bytes() {
            return None;
        }
        let header_bytes = usize::from(self.headers.header_bytes);
        let headers = out.get_mut(..header_bytes)?;
        headers.copy_from_slice(&frame[..header_bytes]);
        let (each, all) = (usize::from(self.each_bytes), self.payload_bytes as usize);
        let at = |segment: u32| all.min(segment as usize * each);
        let payload = at(first)..at(end);
        self.set_numbers(headers, first..end, &payload);
        self.set_partial_checksums(headers, payload.len());
        Some(header_bytes + payload.start..header_bytes + payload.end)
    }

    /// Sets the fields that differ between segments.
    fn set_numbers(&self, headers: &mut [u8], segments: Range<u32>, payload: &Range<usize>) {
        let payload_bytes = payload.len();
        let network = &mut headers[self.headers.network_at.into()..];
        let network_bytes = network.len() + payload_bytes;
        if self.headers.is_v6 {
            put(network, 4, (network_bytes - IPV6_BYTES) as u16);
        } else {
            put(network, 2, network_bytes as u16);
            let first = get(network, 4);
            put(network, 4, first.wrapping_add(segments.start as u16));
        }
        let transport = &mut headers[self.headers.transport_at.into()..];
        match self.headers.transport {
            ChecksumKind::Tcp => {
                let first = u32::from(get(transport, 4)) << 16 | u32::from(get(transport, 6));
                let sequence = first.wrapping_add(payload.start as u32);
                transport[4..8].copy_from_slice(&sequence.to_be_bytes());
                if segments.start > 0 && !self.has_accurate_ecn {
                    transport[13] &= !TCP_CWR;
                }
                if segments.end < self.segments() {
                    transport[13] &= !(TCP_FIN | TCP_PSH);
                }
            }
            _ => put(transport, 4, (transport.len() + payload_bytes) as u16),
        }
    }

    /// Completes the checksum of IPv4. Leaves that of the transport header partial: the sum of the
    /// pseudo header.
    fn set_partial_checksums(&self, headers: &mut [u8], payload_bytes: usize) {
        let (before, transport) = headers.split_at_mut(self.headers.transport_at.into());
        let network = &mut before[self.headers.network_at.into()..];
        let addresses = if self.headers.is_v6 {
            &network[8..40]
        } else {
            put(network, 10, 0);
            let checksum = internet_checksum(network);
            put(network, 10, checksum);
            &network[12..20]
        };
        let (kind, transport_bytes) = (self.headers.transport, transport.len() + payload_bytes);
        let pseudo = sum(addresses) + u64::from(kind as u8) + transport_bytes as u64;
        put(transport, kind.offset().into(), fold(pseudo));
    }
}

/// Turns a GSO packet that is short enough to be sent whole into a plain packet: completes its
/// checksum.
///
/// # Errors
/// [`SegmentError::Tunnel`] inside UDP with a checksum: that covers the partial one, and it is
/// unknown whether it is that of one segment or of the whole. [`SegmentError::Malformed`] if the
/// checksum is outside. The frame is unchanged then.
pub fn finish_whole(header: VirtioNetHeader, frame: &mut [u8]) -> Result<(), SegmentError> {
    if headers::has_outer_checksum(header, frame) {
        return Err(SegmentError::Tunnel);
    }
    let whole = VirtioNetHeader {
        gso_type: 0,
        ..header
    };
    complete_checksum(frame, whole)
        .map(drop)
        .map_err(|_| SegmentError::Malformed)
}

/// Returns the number at `at`, which must be inside.
fn get(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tunnel_tests;
