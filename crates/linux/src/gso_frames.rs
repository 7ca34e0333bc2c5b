//! Frames of a device, and frames that hold GSO packets until their segments are sent.

use taut_path::pool::{FramePool, PoolError};
use taut_path::{DropReason, Frame, Packet, PacketSink};

use crate::frames::{FrameSource, Frames, copy_frame};
use crate::segment::Segmenter;
use crate::vnet_header::VirtioNetHeader;

/// A GSO packet of 192 KB, as configured for BIG TCP, after its Ethernet header and two tags. A
/// longer one is segmented on entry.
const LONG_FRAME_BYTES: u32 = PREFIX_BYTES as u32 + 196_608 + 14 + 2 * 4;
/// The length of a GSO packet, which its IP header cannot hold above 64 KB, and its virtio-net
/// header.
const PREFIX_BYTES: usize = 4 + VirtioNetHeader::BYTES;

/// Frames of the device's length, and long frames. Each of these holds a GSO packet with its
/// virtio-net header, or a frame after the MTU of the device was raised. A clone refers to the same
/// frames.
///
/// This is the source of a segmenting [`AfPacket`](crate::af_packet::AfPacket) ring:
/// [`gso_packet`](Frames::gso_packet) stores the received packet, and each segment is written into
/// its slot.
#[derive(Debug, Clone)]
pub struct GsoFrames {
    plain: FramePool,
    long: FramePool,
    stores_gso: bool,
    has_accurate_ecn: bool,
}

impl GsoFrames {
    /// Maximum number of GSO frames: as many as a queue segments at a time. A further GSO packet
    /// would be sent whole, which no packet ring can do.
    pub const MAX_GSO_FRAMES: u32 = 511;

    /// Allocates `frames` of `frame_bytes`, and `gso` long frames, which store GSO packets: 0 to
    /// [`MAX_GSO_FRAMES`](Self::MAX_GSO_FRAMES), to which larger numbers are clamped. For 0, there
    /// are as many as for the maximum, but none stores a GSO packet. Each uses the memory of the
    /// longest packet that it has held.
    pub fn new(frames: u32, frame_bytes: u32, gso: u32) -> Self {
        let long_frames = match gso {
            0 => Self::MAX_GSO_FRAMES,
            gso => gso.min(Self::MAX_GSO_FRAMES),
        };
        Self {
            plain: FramePool::new(frames, frame_bytes),
            long: FramePool::new(long_frames, LONG_FRAME_BYTES),
            stores_gso: gso > 0,
            has_accurate_ecn: false,
        }
    }

    /// Sets accurate ECN, for senders whose TCP uses it; see [`Segmenter::with_accurate_ecn`].
    pub fn with_accurate_ecn(mut self) -> Self {
        self.has_accurate_ecn = true;
        self
    }

    /// Returns the pool of a frame, and its index there. Long frames follow the others.
    fn pool(&self, frame: &Frame) -> (&FramePool, Frame) {
        let index = frame.index();
        match index.checked_sub(self.plain.frames()) {
            Some(index) => (&self.long, Frame::new(index)),
            None => (&self.plain, Frame::new(index)),
        }
    }

    fn take_long(&self) -> Option<Frame> {
        let frame = self.long.take()?;
        Some(Frame::new(frame.index() + self.plain.frames()))
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

    fn max_frame_bytes(&self) -> u32 {
        self.long.frame_bytes().max(self.plain.frame_bytes())
    }

    fn take_for(&self, bytes: u32) -> Option<Frame> {
        match bytes <= self.plain.frame_bytes() {
            true => self.take(),
            false => self.take_long(),
        }
    }

    fn gso_packet(&self, header: VirtioNetHeader, frame: &[u8]) -> Option<Packet> {
        let segmentation = Segmenter::of(header, frame).ok()?.segmentation()?;
        let bytes = PREFIX_BYTES + frame.len();
        if !self.stores_gso || bytes > self.long.frame_bytes() as usize {
            return None;
        }
        // Cannot truncate: it fits into a frame, whose size has 32 bits.
        let wire_bytes = frame.len() as u32;
        let kept = self.take_long()?;
        let written = self.with(&kept, |space| {
            let (length, rest) = space.split_at_mut(size_of::<u32>());
            length.copy_from_slice(&wire_bytes.to_ne_bytes());
            let (start, rest) = rest.split_at_mut(VirtioNetHeader::BYTES);
            start.copy_from_slice(&header.to_bytes());
            rest[..frame.len()].copy_from_slice(frame);
        });
        // Cannot fail: the frame was just taken and is not lent.
        written.ok()?;
        let mut packet = Packet::new(kept, wire_bytes).with_charge(self.long.frame_bytes());
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
        if packet.segmentation.is_some() {
            return usize::MAX;
        }
        copy_frame(self, packet, out)
    }

    fn cuts(&self) -> bool {
        self.stores_gso
    }

    fn write_segment(&self, piece: &Packet, out: &mut [u8]) -> Option<usize> {
        let index = piece.chunk()?.first_segment;
        let (pool, frame) = self.pool(piece.frame());
        let written = pool.with(&frame, |space| {
            let (length, space) = space.split_first_chunk()?;
            let (header, space) = VirtioNetHeader::split(space)?;
            let frame = space.get(..u32::from_ne_bytes(*length) as usize)?;
            let segmenter = Segmenter::of(header, frame).ok()?;
            let segmenter = segmenter.with_accurate_ecn(self.has_accurate_ecn);
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
        assert_eq!(some.long.free_frames(), GsoFrames::MAX_GSO_FRAMES);
        assert_eq!(some.frames(), 2);
    }

    #[test]
    fn long_frame_is_stored_without_gso() {
        let frames = GsoFrames::new(1, 1_514, 0);
        let bytes: Vec<u8> = (0..9_014).map(|at| at as u8).collect();
        let packet = frames.packet(&bytes).expect("a long frame");
        let mut out = vec![0; 9_014];
        assert_eq!(frames.copy_to(&packet, &mut out), 9_014);
        assert_eq!((out == bytes, frames.free_frames()), (true, 1));
        frames.release(packet.into_frame()).expect("taken");
        assert_eq!(frames.long.free_frames(), GsoFrames::MAX_GSO_FRAMES);
    }
}
