//! Where frames come from.

mod capture;
mod feed;
mod generated;
mod received;

use std::io;
use std::os::fd::BorrowedFd;

use taut_path::PacketSink;

use crate::account::Account;
use crate::inlet::Inlet;

pub use capture::{Capture, CaptureContents, read_capture};
pub use feed::{Content, Feed, FeedSettings};
pub use generated::{Generated, MIN_BYTES};
pub(crate) use received::BATCH_PACKETS;
pub use received::ReceivedFrames;

/// Where the frames of one direction come from. `F` is where their bytes are.
pub trait Source<F> {
    /// Moves at most one batch into `inlet`. `readable` tells that the descriptor is ready.
    ///
    /// # Errors
    /// If receiving failed. What came before was moved.
    fn take<I: Inlet<Frames = F>>(
        &mut self,
        now_ns: u64,
        readable: bool,
        inlet: &mut I,
    ) -> io::Result<More>;

    /// What to poll; `None` while there is nothing to wait for.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The MTU of the device that frames go to, in bytes.
    fn set_mtu(&mut self, mtu_bytes: u32);

    /// Takes what has come in already: the interface is about to be opened again, or was removed.
    fn take_last<I: Inlet<Frames = F>>(&mut self, now_ns: u64, inlet: &mut I) {
        let _ = (now_ns, inlet);
    }

    /// The interface was removed: nothing comes in until it is replaced.
    fn close(&mut self) {}

    /// Counts what was lost before it came in.
    fn count_missed(&mut self, account: &mut Account) {
        let _ = account;
    }

    /// Takes nothing more.
    fn stop(&mut self);

    /// Whether nothing comes any more.
    fn is_over(&self) -> bool;

    /// Gives up a packet for which the discipline had no room.
    fn flush(&mut self, sink: &mut impl PacketSink) {
        let _ = sink;
    }
}

/// When a source has more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// At once: other directions have their turn before.
    Now,
    /// As soon as the discipline is empty.
    WhenEmpty,
    /// At this time, in ns.
    At(u64),
    /// When its descriptor is ready, the link is up, or frames are free.
    WhenReady,
    /// Never.
    Never,
}
