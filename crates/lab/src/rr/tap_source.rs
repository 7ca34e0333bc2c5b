//! The source of a direction: a TAP that is drained into a transmit queue.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

use taut_linux::{NetNs, Tap, link};
use taut_path::Packet;
use taut_relay::source::More;
use taut_relay::{Inlet, Source};

use super::frames::{Arrival, Frames};
use super::router::BATCH_PACKETS;

/// A TAP that is read immediately, because it has no back-pressure and drops without a report.
pub struct TapSource {
    ns: NetNs,
    tap: Rc<Tap>,
    pub frames: Frames,
    no_frame_packets: u64,
}

impl TapSource {
    /// Reads `tap`, a device in `ns`.
    pub fn new(ns: NetNs, tap: Rc<Tap>) -> Self {
        let frames = Frames::for_tap(&tap);
        Self {
            ns,
            tap,
            frames,
            no_frame_packets: 0,
        }
    }

    /// The descriptor to poll.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.tap.as_fd()
    }

    /// Reads at most [`BATCH_PACKETS`] packets. Returns `true` if more can be waiting.
    pub fn read(&mut self, mut on_packet: impl FnMut(Packet)) -> io::Result<bool> {
        for _ in 0..BATCH_PACKETS {
            match self.frames.read(&self.tap)? {
                Arrival::Packet(packet) => on_packet(packet),
                Arrival::NoFrame => self.no_frame_packets += 1,
                Arrival::Nothing => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns the packets lost before the queue: in the TAP, or without a free frame.
    pub fn lost_packets(&self) -> io::Result<u64> {
        let by_tap = link::statistics(&self.ns, self.tap.name())?.tx_dropped;
        Ok(by_tap + self.no_frame_packets)
    }
}

/// The TAP stays up until the row ends, and the row does not wait for its packets.
impl Source<Frames> for TapSource {
    fn take<I: Inlet<Frames = Frames>>(
        &mut self,
        _now_ns: u64,
        readable: bool,
        inlet: &mut I,
    ) -> io::Result<More> {
        let has_more = readable && self.read(|packet| inlet.enqueue(packet))?;
        Ok(if has_more { More::Now } else { More::WhenReady })
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.tap.as_fd())
    }

    fn set_mtu(&mut self, _mtu_bytes: u32) {}

    fn stop(&mut self) {}

    fn is_over(&self) -> bool {
        false
    }
}
