//! Sources of frames.

mod capture;
mod feed;
mod generated;
mod pace;
mod received;

use std::io;
use std::os::fd::BorrowedFd;

use taut_linux::Port;
use taut_path::{AnyLimit, AnyQdisc, Packet, PacketSink, Probe, Queue};

use crate::account::{Account, reject};
use crate::packet_ends::PacketEnds;

pub use capture::{Capture, CaptureContents, read_capture};
pub use feed::{Content, Feed, FeedSettings};
pub use generated::{Generated, MIN_BYTES};
pub use pace::Pacing;
pub(crate) use received::BATCH_PACKETS;
pub use received::ReceivedFrames;

/// The source of one direction. It determines the types of the other parts.
pub trait Source: Sized {
    /// The ring of the destination device.
    type Port: Port;
    /// The frames of packets.
    type Frames: PacketSink;
    /// Observes the queue.
    type Probe: Probe;

    /// Moves at most one batch into `inlet`. `readable` is `true` if the descriptor is ready.
    ///
    /// # Errors
    /// Returns an error if receiving failed. Packets received before were moved.
    fn take(&mut self, now_ns: u64, readable: bool, inlet: &mut Inlet<Self>) -> io::Result<More>;

    /// Returns the descriptor to poll; `None` if there is none to wait for.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Sets the MTU of the destination device, in bytes.
    fn set_mtu(&mut self, mtu_bytes: u32);

    /// Sets the name of its interface after it was renamed.
    fn set_device(&mut self, name: &str) {
        let _ = name;
    }

    /// Moves the packets already received, because the interface is reopened or was removed.
    fn take_last(&mut self, inlet: &mut Inlet<Self>) {
        let _ = inlet;
    }

    /// Closes the source of a removed interface until it is replaced.
    fn close(&mut self) {}

    /// Counts packets lost before they were received.
    fn count_missed(&mut self, account: &mut Account) {
        let _ = account;
    }

    /// Reopens the ring of `port`, on the device from which this source receives. If no source
    /// receives from it, this is the source of the same direction.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened now.
    fn reopen(&mut self, renewal: Renewal, port: &mut Self::Port) -> io::Result<()> {
        // By its name, even if another device has that now.
        let _ = renewal;
        port.reopen()
    }

    /// Stops the source.
    fn stop(&mut self);

    /// Returns `true` if the source is exhausted.
    fn is_over(&self) -> bool;

    /// Drops a packet for which the discipline had no room.
    fn flush(&mut self, sink: &mut impl PacketSink) {
        let _ = sink;
    }
}

/// The device on which a ring is reopened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    SameDevice,
    /// Another device has the name.
    AnotherDevice,
}

/// The queue of a direction.
pub type DirectionQueue<S> = Queue<<S as Source>::Port, AnyLimit, AnyQdisc, <S as Source>::Probe>;

/// The start of a direction, which its source fills: passes packets to the discipline while the
/// link is up.
pub struct Inlet<S: Source> {
    pub(crate) queue: DirectionQueue<S>,
    pub(crate) ends: PacketEnds<S::Frames>,
    /// The link is up and the ring is open.
    pub(crate) is_open: bool,
}

impl<S: Source> Inlet<S> {
    /// Passes a packet to the discipline, which can drop it.
    pub fn enqueue(&mut self, packet: Packet) {
        if self.is_open {
            self.queue.enqueue(packet, self.ends.now_ns, &mut self.ends);
        } else {
            let account = &mut self.ends.account;
            account.count_dropped(reject::LINK_DOWN, packet.segments().into());
            self.ends.frames.freed(packet);
        }
    }
}

/// When a source has more packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// Now, after the other directions were served.
    Now,
    /// As soon as the discipline is empty.
    WhenEmpty,
    /// At this time, in ns.
    At(u64),
    /// When a frame is free; never if it is over.
    WhenFreed,
    /// When its descriptor is ready, or the link is up.
    WhenReady,
}
