//! Sources of frames.

mod capture;
mod feed;
mod generated;
mod pace;
mod received;

use std::io;
use std::os::fd::BorrowedFd;

use taut_path::PacketSink;

use crate::account::Account;
use crate::inlet::Inlet;

pub use capture::{Capture, CaptureContents, read_capture};
pub use feed::{Content, Feed, FeedSettings};
pub use generated::{Generated, MIN_BYTES};
pub use pace::Pacing;
pub(crate) use received::BATCH_PACKETS;
pub use received::ReceivedFrames;

/// The source of one direction. `F` are the frames.
pub trait Source<F> {
    /// Moves at most one batch into `inlet`. `readable` is `true` if the descriptor is ready.
    ///
    /// # Errors
    /// Returns an error if receiving failed. Packets received before were moved.
    fn take<I: Inlet<Frames = F>>(
        &mut self,
        now_ns: u64,
        readable: bool,
        inlet: &mut I,
    ) -> io::Result<More>;

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
    fn take_last<I: Inlet<Frames = F>>(&mut self, inlet: &mut I) {
        let _ = inlet;
    }

    /// Closes the source of a removed interface until it is replaced.
    fn close(&mut self) {}

    /// Counts packets lost before they were received.
    fn count_missed(&mut self, account: &mut Account) {
        let _ = account;
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

/// When a source has more packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// Now, after the other directions were served.
    Now,
    /// As soon as the discipline is empty.
    WhenEmpty,
    /// At this time, in ns.
    At(u64),
    /// When its descriptor is ready, the link is up, or frames are free; never if it is over.
    WhenReady,
}
