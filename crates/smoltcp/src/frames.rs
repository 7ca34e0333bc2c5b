//! Buffers of packets.

use alloc::vec;
use alloc::vec::Vec;

use smoltcp::phy::PacketMeta;
use taut_path::{DropReason, Frame, Packet, PacketSink};

/// Buffers of one stack, used on one thread and therefore without locks. A buffer is allocated when
/// it is first used, and grows if a stack writes more than the device announced.
pub(crate) struct Frames {
    buffers: Vec<Buffer>,
    free: Vec<Frame>,
    max_frames: u32,
    bytes_each: usize,
}

/// A frame as the stack wrote it, with its metadata.
#[derive(Default)]
pub(crate) struct Buffer {
    space: Vec<u8>,
    length: usize,
    pub(crate) meta: PacketMeta,
}

impl Buffer {
    /// Returns a buffer of `length` bytes, and stores this length.
    pub(crate) fn room(&mut self, length: usize) -> &mut [u8] {
        if self.space.len() < length {
            self.space.resize(length, 0);
        }
        self.length = length;
        &mut self.space[..length]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.space[..self.length]
    }
}

impl Frames {
    pub(crate) fn new(max_frames: u32, bytes_each: usize) -> Self {
        Self {
            buffers: Vec::new(),
            free: Vec::new(),
            max_frames,
            bytes_each,
        }
    }

    pub(crate) fn take(&mut self) -> Option<Frame> {
        self.free.pop().or_else(|| self.add())
    }

    fn add(&mut self) -> Option<Frame> {
        let index = self.buffers.len() as u32;
        (index < self.max_frames).then(|| {
            self.buffers.push(Buffer {
                space: vec![0; self.bytes_each],
                ..Buffer::default()
            });
            Frame::new(index)
        })
    }

    pub(crate) fn release(&mut self, frame: Frame) {
        self.free.push(frame);
    }

    pub(crate) fn buffer_mut(&mut self, frame: &Frame) -> &mut Buffer {
        &mut self.buffers[frame.index() as usize]
    }
}

impl PacketSink for Frames {
    fn freed(&mut self, packet: Packet) {
        self.release(packet.into_frame());
    }

    fn dropped(&mut self, packet: Packet, _: DropReason) {
        self.release(packet.into_frame());
    }
}
