//! Where the packets of a testbed end.

use taut_path::{DropReason, Packet, PacketSink};

/// Gives frames back to nobody, for they are numbers, and counts those that a device sent.
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
