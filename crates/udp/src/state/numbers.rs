//! The numbers that the kernel gives to zero-copy sends, where somebody counted before us.

use std::io;
use std::net::UdpSocket;

use super::State;
use super::failures::RETRY_NS;
use crate::account::Source;

/// The kernel's numbers begin with the socket and not with its wrapper.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    /// The kernel's, less ours.
    ahead: u32,
    known: bool,
}

impl Numbers {
    /// `known` where nobody can have sent zero-copy through the socket before: they are the same then.
    pub(crate) fn new(known: bool) -> Self {
        Self { ahead: 0, known }
    }

    /// The kernel's for one of ours, if that is known.
    pub(super) fn kernels(self, ours: u32) -> Option<u32> {
        self.known.then(|| ours.wrapping_add(self.ahead))
    }
}

impl State {
    /// While the kernel's numbers are not known only one object is in flight: its notification tells
    /// them.
    pub(super) fn must_learn_numbers(
        &mut self,
        socket: &UdpSocket,
        now_ns: u64,
    ) -> io::Result<bool> {
        if self.numbers.known || self.account.source() != Source::ZeroCopy {
            return Ok(false);
        }
        // What is there before the first send is somebody else's.
        self.complete(socket)?;
        let waits = !self.numbers.known && self.account.in_flight() > 0;
        if waits {
            self.full_until_ns = Some(now_ns + RETRY_NS);
        }
        Ok(waits)
    }

    /// A range of the kernel's numbers in ours. One beyond what we ever gave says that somebody else
    /// sent as well: what we sent last has at least that number.
    pub(super) fn our_numbers(&mut self, first: u32, last: u32) -> (u32, u32) {
        let newest = self.account.newest_id();
        let beyond = last.wrapping_sub(self.numbers.ahead).wrapping_sub(newest);
        let is_beyond = beyond != 0 && beyond <= i32::MAX as u32;
        if is_beyond || !self.numbers.known {
            if self.numbers.known {
                self.account.count_unknown();
            }
            self.numbers.ahead = last.wrapping_sub(newest);
            self.numbers.known |= self.account.in_flight() > 0;
        }
        let ahead = self.numbers.ahead;
        (first.wrapping_sub(ahead), last.wrapping_sub(ahead))
    }
}
