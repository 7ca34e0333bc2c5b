//! One direction over an AF_PACKET ring, and the reverse direction without a queue.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

use taut_linux::af_packet::PacketReceiver;
use taut_linux::{Tap, WriteOutcome};
use taut_relay::{Direction, Next};

use super::router::{BATCH_PACKETS, Route, RouteOutcome};
use super::tap::TapSource;

/// From a TAP through a taut queue into a ring of the kernel.
///
/// The device stays up until the row ends. A stall is only counted.
impl Route for Direction<TapSource> {
    fn fd(&self) -> BorrowedFd<'_> {
        self.source().tap.as_fd()
    }

    fn service(&mut self, now_ns: u64, readable: bool) -> io::Result<bool> {
        self.reap(now_ns)?;
        if readable {
            self.set_readable();
        }
        self.turn(now_ns)?;
        Ok(self.next() == Next::Now)
    }

    fn next_wakeup_ns(&self) -> Option<u64> {
        match self.next() {
            Next::At(at_ns) if at_ns < u64::MAX => Some(at_ns),
            _ => None,
        }
    }

    fn into_outcome(self: Box<Self>) -> io::Result<RouteOutcome> {
        let lost_packets = self.source().lost_packets()? + self.port().1.malformed_packets();
        let account = self.account();
        let (drops, marks) = (account.all_dropped_packets(), account.marked_packets);
        let mut queue = self.into_queue();
        Ok(RouteOutcome {
            drops: drops + lost_packets,
            marks,
            ..RouteOutcome::of(&mut queue)
        })
    }
}

/// From a kernel device to a TAP, without a queue.
pub struct ReceiveDirection {
    pub from: PacketReceiver,
    pub to: Rc<Tap>,
    pub buffer: Vec<u8>,
    pub rejected_packets: u64,
}

impl Route for ReceiveDirection {
    fn fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }

    fn service(&mut self, _now_ns: u64, readable: bool) -> io::Result<bool> {
        if !readable {
            return Ok(false);
        }
        for _ in 0..BATCH_PACKETS {
            let Some(bytes) = self.from.read(&mut self.buffer)? else {
                return Ok(false);
            };
            match self.to.write(&self.buffer[..bytes])? {
                WriteOutcome::Accepted => {}
                WriteOutcome::Rejected => self.rejected_packets += 1,
            }
        }
        Ok(true)
    }

    fn next_wakeup_ns(&self) -> Option<u64> {
        None
    }

    fn into_outcome(self: Box<Self>) -> io::Result<RouteOutcome> {
        Ok(RouteOutcome {
            drops: self.rejected_packets,
            ..RouteOutcome::default()
        })
    }
}
