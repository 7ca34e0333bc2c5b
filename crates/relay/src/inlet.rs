//! The interface between sources and the discipline.

use taut_path::Packet;
use taut_path::classify::FrameClass;
use taut_path::queue::NoRoom;

use crate::account::Account;

/// The start of a direction, which sources fill.
pub trait Inlet {
    type Frames;

    fn frames(&self) -> &Self::Frames;

    /// Returns the frames, and the account of the direction.
    fn parts(&mut self) -> (&Self::Frames, &mut Account);

    fn account(&mut self) -> &mut Account {
        self.parts().1
    }

    /// Passes a packet to the discipline, which can drop it.
    fn enqueue(&mut self, packet: Packet);

    /// Passes a packet to the discipline, if that has room.
    ///
    /// # Errors
    /// [`NoRoom`] returns the packet.
    fn offer(&mut self, packet: Packet) -> Result<(), NoRoom> {
        self.enqueue(packet);
        Ok(())
    }

    /// Returns the backlog of the discipline in packets.
    fn waiting_packets(&self) -> u64 {
        0
    }

    /// Returns `true` if the link of the destination device is up.
    fn is_open(&self) -> bool {
        true
    }
}

/// Returns the packet with the fields of its headers.
pub(crate) fn classed(mut packet: Packet, class: FrameClass) -> Packet {
    packet.priority = class.priority;
    packet.flow = class.flow;
    packet.set_ecn(class.ecn);
    packet
}
