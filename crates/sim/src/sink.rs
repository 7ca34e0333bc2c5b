//! The packet sink of a testbed.

use taut_path::{DropReason, Packet, PacketSink};

/// Counts the packets that a device sent. Frames are only numbers, so nothing is released.
#[derive(Default)]
pub(crate) struct Sink {
    pub(crate) freed: u64,
}

impl PacketSink for Sink {
    fn freed(&mut self, packet: Packet) {
        let _ = packet.into_frame();
        self.freed += 1;
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        let _ = packet.into_frame();
    }
}
