//! Buffers of packets.

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
pub(crate) struct Buffer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) meta: PacketMeta,
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
                bytes: Vec::with_capacity(self.bytes_each),
                meta: PacketMeta::default(),
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
