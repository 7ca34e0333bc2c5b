//! Drives a kernel device over a packet ring, and receives its frames on a packet socket.
//!
//! Behaviour of the ring, measured on Linux 6.18:
//! - A slot is available again when its frame has left the device's queueing discipline: behind a
//!   token bucket at 100 Mbit/s, one every 120.1 us. A slot also becomes available if the
//!   discipline drops the frame later, because the device goes down or because the discipline drops
//!   from its head.
//! - A frame that the discipline rejects at its limit (`ENOBUFS`) stays in the ring, and the next
//!   doorbell offers it again. The same is true of a full send buffer (`EAGAIN`) and of a device
//!   that is down (`ENETDOWN`). The sender might have nothing more to send, so the completing half
//!   rings again for the remaining frames.
//! - A frame that the device cannot carry stops the ring for good unless `PACKET_LOSS` is set, as
//!   it is here. A frame that became too long because the MTU was lowered is skipped, and its slot
//!   is available again. Other such frames are rejected before they are in the ring.
//! - `POLLOUT` reports that the *send buffer* is less than half full, and nothing about slots. It
//!   is always set while the byte limit is lower than that. Use a timer with the coalescing
//!   interval.

mod completions;
mod doorbell;
mod ring;
mod socket;
mod target;
mod tx;

pub use completions::AfPacketCompletions;
pub use ring::{AfPacket, PacketConfig};
pub use socket::{PacketReceiver, PacketSender, Promiscuous};
pub use tx::AfPacketTx;
