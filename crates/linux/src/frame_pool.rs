//! Where the bytes of frames are.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use taut_path::{Frame, Packet};

/// What a free frame has in place of a length.
const FREE: u32 = u32::MAX;

/// A fixed number of frames of one size.
///
/// Allocated once, and a page is touched only when a frame in it is first used. The frame given
/// back last is taken first: its bytes are the likeliest to be in a cache.
#[derive(Debug)]
pub struct FramePool {
    bytes: Vec<u8>,
    frame_bytes: usize,
    /// For each frame the bytes in use, or [`FREE`].
    lengths: Vec<u32>,
    free: Vec<u32>,
}

impl FramePool {
    /// A pool of `frames` frames of `frame_bytes` bytes each, all free.
    pub fn new(frames: u32, frame_bytes: u32) -> Self {
        let frame_bytes = frame_bytes as usize;
        Self {
            // Zeroed memory comes from the kernel untouched.
            bytes: vec![0; frames as usize * frame_bytes],
            frame_bytes,
            lengths: vec![FREE; frames as usize],
            // The last is taken first, so that frame 0 starts.
            free: (0..frames).rev().collect(),
        }
    }

    /// Takes a free frame of length 0, if there is one. Its bytes are what was last in it.
    pub fn take(&mut self) -> Option<Frame> {
        let index = self.free.pop()?;
        self.lengths[index as usize] = 0;
        Some(Frame::new(index))
    }

    /// Takes a frame back.
    ///
    /// # Panics
    /// If this pool has no such frame in use: it belongs to another pool.
    pub fn give_back(&mut self, frame: Frame) {
        let length = &mut self.lengths[frame.index() as usize];
        assert_ne!(*length, FREE, "frame {} is not in use", frame.index());
        *length = FREE;
        self.free.push(frame.index());
    }

    /// The bytes in use of a frame.
    ///
    /// # Panics
    /// If the frame is not of this pool. So do all below.
    pub fn bytes(&self, frame: &Frame) -> &[u8] {
        let start = self.start(frame);
        &self.bytes[start..start + self.len(frame) as usize]
    }

    /// The whole space of a frame, also what is not in use.
    pub fn bytes_mut(&mut self, frame: &Frame) -> &mut [u8] {
        let start = self.start(frame);
        &mut self.bytes[start..start + self.frame_bytes]
    }

    /// Bytes in use.
    pub fn len(&self, frame: &Frame) -> u32 {
        let length = self.lengths[frame.index() as usize];
        assert_ne!(length, FREE, "frame {} is not in use", frame.index());
        length
    }

    /// Sets the bytes in use; more than the frame has space for counts as all of it.
    pub fn set_len(&mut self, frame: &Frame, length_bytes: u32) {
        let fits = length_bytes.min(self.frame_bytes as u32);
        self.lengths[frame.index() as usize] = fits;
    }

    /// Frames that can be taken now.
    pub fn free_frames(&self) -> u32 {
        self.free.len() as u32
    }

    /// Frames in all.
    pub fn frames(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// Space of each frame.
    pub fn frame_bytes(&self) -> u32 {
        self.frame_bytes as u32
    }

    fn start(&self, frame: &Frame) -> usize {
        frame.index() as usize * self.frame_bytes
    }
}

/// How a driver gets at the bytes of a packet.
pub trait FrameSource {
    /// Copies the packet's bytes to the start of `out`, as many as fit, and answers how many it
    /// has: more than `out.len()` says that it was cut.
    fn copy_to(&self, packet: &Packet, out: &mut [u8]) -> usize;
}

impl FrameSource for FramePool {
    fn copy_to(&self, packet: &Packet, out: &mut [u8]) -> usize {
        let bytes = self.bytes(packet.frame());
        let fits = bytes.len().min(out.len());
        out[..fits].copy_from_slice(&bytes[..fits]);
        bytes.len()
    }
}

/// The frame's first bytes are the packet's, as many as [`Packet::wire_bytes`] says.
impl FrameSource for taut_path::pool::FramePool {
    fn copy_to(&self, packet: &Packet, out: &mut [u8]) -> usize {
        let length = packet.wire_bytes() as usize;
        let copy = |bytes: &mut [u8]| {
            let fits = length.min(out.len()).min(bytes.len());
            out[..fits].copy_from_slice(&bytes[..fits]);
            length
        };
        // A frame that is not of this pool has no bytes: too few for any device.
        self.with(packet.frame(), copy).unwrap_or(0)
    }
}

impl FrameSource for Rc<RefCell<FramePool>> {
    /// # Panics
    /// If the pool is mutably borrowed at this moment.
    fn copy_to(&self, packet: &Packet, out: &mut [u8]) -> usize {
        self.borrow().copy_to(packet, out)
    }
}

impl FrameSource for Arc<Mutex<FramePool>> {
    fn copy_to(&self, packet: &Packet, out: &mut [u8]) -> usize {
        // A pool is never left half-changed, so one that a panic left is good.
        self.lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .copy_to(packet, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn last_back_is_first_out() {
        let mut pool = FramePool::new(3, 64);
        let (a, b) = (pool.take().expect("first"), pool.take().expect("second"));
        assert_eq!((a.index(), b.index(), pool.free_frames()), (0, 1, 1));
        pool.give_back(a);
        let again = pool.take().expect("free");
        assert_eq!(again.index(), 0);
        let c = pool.take().expect("third");
        assert!(pool.take().is_none());
        for frame in [again, b, c] {
            pool.give_back(frame);
        }
        assert_eq!(pool.free_frames(), 3);
    }

    #[test]
    fn length_is_kept_within_the_space() {
        let mut pool = FramePool::new(1, 64);
        let frame = pool.take().expect("free");
        assert!(pool.bytes(&frame).is_empty());
        pool.set_len(&frame, 1000);
        assert_eq!(pool.bytes(&frame).len(), 64);
        pool.bytes_mut(&frame)[..3].copy_from_slice(b"abc");
        pool.set_len(&frame, 3);
        let mut out = [0; 2];
        let packet = Packet::new(frame, 3);
        assert_eq!(pool.copy_to(&packet, &mut out), 3);
        assert_eq!(&out, b"ab");
        pool.give_back(packet.into_frame());
        assert_eq!(pool.take().map(|frame| pool.len(&frame)), Some(0));
    }

    #[test]
    #[should_panic(expected = "not in use")]
    fn a_strange_frame_is_refused() {
        FramePool::new(2, 64).give_back(Frame::new(1));
    }

    proptest! {
        #[test]
        fn frames_never_share_bytes(steps in prop::collection::vec(any::<bool>(), 1..200)) {
            let mut pool = FramePool::new(8, 16);
            let mut held: Vec<(Frame, u8)> = Vec::new();
            for (number, take) in steps.into_iter().enumerate() {
                let mark = number as u8;
                if take {
                    let Some(frame) = pool.take() else {
                        prop_assert_eq!(held.len(), 8);
                        continue;
                    };
                    pool.bytes_mut(&frame).fill(mark);
                    pool.set_len(&frame, 16);
                    held.push((frame, mark));
                } else if !held.is_empty() {
                    let (frame, mark) = held.remove(number % held.len());
                    prop_assert_eq!(pool.bytes(&frame), &[mark; 16]);
                    pool.give_back(frame);
                }
                prop_assert_eq!(pool.free_frames() as usize + held.len(), 8);
            }
        }
    }
}
