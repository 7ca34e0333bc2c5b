//! Frames received from an interface.

use std::io;
use std::os::fd::BorrowedFd;

use taut_linux::Frames;

use super::{More, Source};
use crate::account::{Account, RejectReason};
use crate::frame_limit::FrameLimit;
use crate::inlet::Inlet;
use crate::intake;
use crate::receiver::Receiver;

/// Packets received before another direction is served.
pub(crate) const BATCH_PACKETS: u32 = 64;
/// Batches received before a receiver is closed: more small frames than its kernel buffer holds.
const LAST_BATCHES: u32 = 256;

/// Frames received from an interface, segmented for the other one. There is no backpressure to the
/// network: frames that the discipline does not keep are dropped.
#[derive(Debug)]
pub struct ReceivedFrames<R> {
    /// The receiver of the device. [`Parts::reopen`](crate::parts::Parts::reopen) replaces it.
    pub receiver: R,
    /// The longest frame that the other interface carries.
    limit: FrameLimit,
    is_stopped: bool,
}

impl<R: Receiver> ReceivedFrames<R> {
    /// Creates the source of `receiver` for a device with this MTU, which a frame can exceed by
    /// `extra_bytes`.
    pub fn new(receiver: R, mtu_bytes: u32, extra_bytes: fn(&[u8]) -> u32) -> Self {
        Self {
            receiver,
            limit: FrameLimit::new(mtu_bytes, extra_bytes),
            is_stopped: false,
        }
    }

    fn receive(&mut self, inlet: &mut impl Inlet<Frames: Frames>) -> io::Result<bool> {
        let limit = &self.limit;
        self.receiver.receive(BATCH_PACKETS, &mut |received| {
            intake::take(limit, received, inlet);
        })
    }
}

impl<R: Receiver, F: Frames> Source<F> for ReceivedFrames<R> {
    fn take<I: Inlet<Frames = F>>(
        &mut self,
        _now_ns: u64,
        readable: bool,
        inlet: &mut I,
    ) -> io::Result<More> {
        if readable && !self.is_stopped && self.receive(inlet)? {
            return Ok(More::Now);
        }
        Ok(More::WhenReady)
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.receiver.fd()
    }

    fn set_mtu(&mut self, mtu_bytes: u32) {
        self.limit.set_mtu(mtu_bytes);
    }

    fn set_device(&mut self, name: &str) {
        self.receiver.set_device(name);
    }

    fn take_last<I: Inlet<Frames = F>>(&mut self, inlet: &mut I) {
        for _ in 0..LAST_BATCHES {
            // A receiver reports once that its device was removed, before the frames that it still
            // has.
            if matches!(self.receive(inlet), Ok(false)) {
                break;
            }
        }
    }

    fn close(&mut self) {
        self.receiver.close();
    }

    fn count_missed(&mut self, account: &mut Account) {
        let missed = self.receiver.take_missed();
        account.received_packets += missed.buffer_full + missed.too_long;
        account.refuse(RejectReason::RECEIVE_BUFFER_FULL, missed.buffer_full);
        account.refuse(RejectReason::TOO_LONG, missed.too_long);
    }

    fn stop(&mut self) {
        self.is_stopped = true;
        self.receiver.close();
    }

    fn is_over(&self) -> bool {
        self.is_stopped
    }
}
