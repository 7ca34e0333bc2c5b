//! Frames received from an interface.

use std::io;
use std::os::fd::BorrowedFd;

use taut_linux::Port;

use super::{Inlet, More, Renewal, Source};
use crate::account::{Account, reject};
use crate::frame_limit::FrameLimit;
use crate::intake;
use crate::interface::Interface;

/// Packets received before another direction is served.
pub(crate) const BATCH_PACKETS: u32 = 64;
/// Batches received before a receiver is closed: more small frames than its kernel buffer holds.
const LAST_BATCHES: u32 = 256;

/// Frames received from an interface, segmented for the other one. There is no backpressure to the
/// network: frames that the discipline does not keep are dropped.
#[derive(Debug)]
pub struct ReceivedFrames<I> {
    pub(crate) interface: I,
    /// The longest frame that the other interface carries.
    limit: FrameLimit,
    is_stopped: bool,
}

impl<I: Interface> ReceivedFrames<I> {
    /// Creates the source of `interface` for a device with this MTU.
    pub fn new(interface: I, mtu_bytes: u32) -> Self {
        Self {
            interface,
            limit: FrameLimit::new(mtu_bytes, I::Port::extra_bytes),
            is_stopped: false,
        }
    }

    fn receive(&mut self, inlet: &mut Inlet<Self>) -> io::Result<bool> {
        let limit = &self.limit;
        self.interface.receive(BATCH_PACKETS, &mut |header, frame| {
            intake::take(limit, header, frame, inlet);
        })
    }
}

impl<I: Interface> Source for ReceivedFrames<I> {
    type Port = I::Port;
    type Frames = I::Frames;
    type Probe = ();

    fn take(&mut self, _now_ns: u64, readable: bool, inlet: &mut Inlet<Self>) -> io::Result<More> {
        if readable && !self.is_stopped && self.receive(inlet)? {
            return Ok(More::Now);
        }
        Ok(More::WhenReady)
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.interface.fd()
    }

    fn set_mtu(&mut self, mtu_bytes: u32) {
        self.limit.set_mtu(mtu_bytes);
    }

    fn set_device(&mut self, name: &str) {
        self.interface.set_device(name);
    }

    fn take_last(&mut self, inlet: &mut Inlet<Self>) {
        for _ in 0..LAST_BATCHES {
            // A receiver reports once that its device was removed, before the frames that it still
            // has.
            if matches!(self.receive(inlet), Ok(false)) {
                break;
            }
        }
    }

    fn close(&mut self) {
        self.interface.close();
    }

    fn count_missed(&mut self, account: &mut Account) {
        let missed = self.interface.take_missed();
        account.received_packets += missed.buffer_full + missed.too_long;
        account.count_dropped(reject::RECEIVE_BUFFER_FULL, missed.buffer_full);
        account.count_dropped(reject::TOO_LONG, missed.too_long);
    }

    fn reopen(&mut self, renewal: Renewal, port: &mut I::Port) -> io::Result<()> {
        self.interface.reopen(renewal, port)
    }

    fn stop(&mut self) {
        self.is_stopped = true;
        self.interface.close();
    }

    fn is_over(&self) -> bool {
        self.is_stopped
    }
}
