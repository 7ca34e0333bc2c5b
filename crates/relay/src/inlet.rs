//! The seam between where frames come from and the discipline.

use taut_path::Packet;
use taut_path::queue::NoRoom;

use crate::account::Account;

/// The begin of a direction, which sources fill.
pub trait Inlet {
    type Frames;

    fn frames(&self) -> &Self::Frames;

    /// The frames, and the account of the direction.
    fn parts(&mut self) -> (&Self::Frames, &mut Account);

    fn account(&mut self) -> &mut Account {
        self.parts().1
    }

    /// Hands a packet to the discipline, which may drop it.
    fn enqueue(&mut self, packet: Packet);

    /// Hands a packet to the discipline, if that has room.
    ///
    /// # Errors
    /// [`NoRoom`] returns the packet.
    fn offer(&mut self, packet: Packet) -> Result<(), NoRoom> {
        self.enqueue(packet);
        Ok(())
    }

    /// Packets that wait in the discipline.
    fn waiting_packets(&self) -> u64 {
        0
    }

    /// Whether the link of the device that frames go to is up.
    fn is_open(&self) -> bool {
        true
    }
}
