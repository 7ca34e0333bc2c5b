//! Frames of a device, and frames that hold GSO packets until their segments are sent.

use taut_path::pool::{FramePool, PoolError};
use taut_path::{DropReason, Frame, Packet, PacketSink};

use crate::frame_source::FrameSource;
use crate::frames::Frames;
use crate::segment::Segmenter;
use crate::vnet_header::VirtioNetHeader;

/// The longest GSO packet: 64 KB after its Ethernet header and two tags.
const GSO_FRAME_BYTES: u32 = 65_536 + 14 + 2 * 4;

/// Frames of the device's length, and frames that each hold a GSO packet with its virtio-net
/// header. A clone refers to the same frames.
///
/// This is the source of a segmenting [`AfPacket`](crate::af_packet::AfPacket) ring:
/// [`gso_packet`](Frames::gso_packet) stores the received packet, and each segment is written into
/// its slot.
#[derive(Debug, Clone)]
pub struct GsoFrames {
    plain: FramePool,
    gso: Option<FramePool>,
    has_accurate_ecn: bool,
}

impl GsoFrames {
    /// Maximum number of GSO frames: as many as a queue segments at a time. A further GSO packet
    /// would be sent whole, which no packet ring can do.
    pub const MAX_GSO_FRAMES: u32 = 511;

    /// Allocates `frames` of `frame_bytes`, and `gso` frames for GSO packets: 0 to
    /// [`MAX_GSO_FRAMES`](Self::MAX_GSO_FRAMES), to which larger numbers are clamped. Each uses 64
    /// KB of memory after its first use.
    pub fn new(frames: u32, frame_bytes: u32, gso: u32) -> Self {
        let gso_frame_bytes = VirtioNetHeader::BYTES as u32 + GSO_FRAME_BYTES;
        Self {
            plain: FramePool::new(frames, frame_bytes),
            gso: (gso > 0).then(|| FramePool::new(gso.min(Self::MAX_GSO_FRAMES), gso_frame_bytes)),
            has_accurate_ecn: false,
        }
    }

    /// Sets accurate ECN, for senders whose TCP uses it; see [`Segmenter::with_accurate_ecn`].
    pub fn with_accurate_ecn(self) -> Self {
        Self {
            has_accurate_ecn: true,
            ..self
        }
    }

    /// Returns the pool of a frame, and its index there. Frames for GSO packets follow the others.
    fn pool(&self, frame: &Frame) -> (&FramePool, Frame) {
        let index = frame.index();
        match (index.checked_sub(self.plain.frames()), &self.gso) {
            (Some(index), Some(gso)) => (gso, Frame::new(index)),
            _ => (&self.plain, Frame::new(index)),
        }
    }

    fn gso_frame(&self, frame: &Frame) -> Frame {
        Frame::new(frame.index() + self.plain.frames())
    }
}

impl Frames for GsoFrames {
    fn take(&self) -> Option<Frame> {
        self.plain.take()
    }

    fn release(&self, frame: Frame) -> Result<(), PoolError> {
        let (pool, frame) = self.pool(&frame);
        pool.release(frame)
    }

    fn with<R>(&self, frame: &Frame, work: impl FnOnce(&mut [u8]) -> R) -> Result<R, PoolError> {
        let (pool, frame) = self.pool(frame);
        pool.with(&frame, work)
    }

    fn free_frames(&self) -> u32 {
        self.plain.free_frames()
    }

    fn frames(&self) -> u32 {
        self.plain.frames()
    }

    fn frame_bytes(&self) -> u32 {
        self.plain.frame_bytes()
    }

    fn packet(&self, bytes: &[u8]) -> Result<Packet, PoolError> {
        self.plain.packet(bytes)
    }

    fn gso_packet(&self, header: VirtioNetHeader, frame: &[u8]) -> Option<Packet> {
        let gso = self.gso.as_ref()?;
        let segmentation = Segmenter::of(header, frame).ok()?.segmentation()?;
        let bytes = VirtioNetHeader::BYTES + frame.len();
        if bytes > gso.frame_bytes() as usize {
            return None;
        }
        let kept = gso.take()?;
        let written = gso.with(&kept, |space| {
            let (start, rest) = space.split_at_mut(VirtioNetHeader::BYTES);
            start.copy_from_slice(&header.to_bytes());
            rest[..frame.len()].copy_from_slice(frame);
        });
        // Cannot fail: the frame was just taken and is not lent.
        written.ok()?;
        let wire_bytes = frame.len() as u32;
        let packet = Packet::new(self.gso_frame(&kept), wire_bytes);
        let mut packet = packet.with_charge(gso.frame_bytes());
        packet.segmentation = Some(segmentation);
        Some(packet)
    }
}

impl PacketSink for GsoFrames {
    fn freed(&mut self, packet: Packet) {
        // The pool counts frames that are not its own.
        let _ = self.release(packet.into_frame());
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.freed(packet);
    }
}

impl FrameSource for GsoFrames {
    /// A GSO packet is longer than any device carries.
    fn copy_to(&self, packet: &Packet, out: &mut [u8]) -> usize {
        if packet.frame().index() >= self.plain.frames() {
            return usize::MAX;
        }
        self.plain.copy_to(packet, out)
    }

    fn cuts(&self) -> bool {
        self.gso.is_some()
    }

    fn write_segment(&self, piece: &Packet, out: &mut [u8]) -> Option<usize> {
        let index = piece.chunk()?.first_segment;
        let (pool, frame) = self.pool(piece.frame());
        let written = pool.with(&frame, |space| {
            let (header, space) = VirtioNetHeader::split(space)?;
            let segmenter = Segmenter::within(header, space).ok()?;
            let segmenter = match self.has_accurate_ecn {
                true => segmenter.with_accurate_ecn(),
                false => segmenter,
            };
            let frame = space.get(..segmenter.frame_bytes())?;
            segmenter.write(frame, index, out)
        });
        written.ok()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_packet_is_not_stored() {
        let frames = GsoFrames::new(2, 1_514, 0);
        assert!(!frames.cuts());
        let plain = VirtioNetHeader::default();
        assert!(frames.gso_packet(plain, &[0; 60]).is_none());
        let some = GsoFrames::new(2, 1_514, 1_000);
        assert!(some.cuts());
        assert!(some.gso_packet(plain, &[0; 60]).is_none());
        let free = some.gso.as_ref().map(FramePool::free_frames);
        assert_eq!(free, Some(GsoFrames::MAX_GSO_FRAMES));
        assert_eq!(some.frames(), 2);
    }
}
