//! The completion half of a packet ring.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use taut_path::{Completions, InRing, Packet};

use super::doorbell::By;
use super::ring::Shared;

/// The kernel has the slot while one of these is set.
const IN_USE: u32 = libc::TP_STATUS_SEND_REQUEST | libc::TP_STATUS_SENDING;

/// The completion half. May be on another thread than the [sending half](super::AfPacketTx).
///
/// Packets come back in the order in which they were submitted. A discipline that sends them in
/// another order holds back those behind the oldest.
#[derive(Debug)]
pub struct AfPacketCompletions {
    shared: Arc<Shared>,
    /// The number of the next packet.
    next: u64,
    malformed_packets: u64,
    /// What was in a ring that was given up, oldest first: handed back before all others.
    given_up: VecDeque<Packet>,
}

impl AfPacketCompletions {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            next: 0,
            malformed_packets: 0,
            given_up: VecDeque::new(),
        }
    }

    /// Gives the ring up: what is in it is handed back at the next reaps, done or not.
    pub(super) fn give_up(&mut self) {
        self.shared.give_up();
        while self.next < self.shared.submitted() {
            self.given_up.extend(self.shared.pick_up(self.next));
            self.next += 1;
        }
        self.shared.free(self.next);
    }

    /// Goes on with a new ring.
    pub(super) fn go_on_with(&mut self, shared: Arc<Shared>) {
        self.shared = shared;
        self.next = 0;
    }

    /// Packets that the kernel marked as malformed. They came back as completed.
    pub fn malformed_packets(&self) -> u64 {
        self.malformed_packets
    }

    /// Packets that the device is not done with.
    pub fn packets_in_ring(&self) -> u32 {
        self.shared.packets_in_ring()
    }

    /// The device's name.
    pub fn device(&self) -> &str {
        self.shared.doorbell.device()
    }

    /// Whether the device is done with the next packet.
    fn next_is_done(&self) -> bool {
        self.next < self.shared.submitted()
            && self.shared.reader.status(self.shared.slot(self.next)) & IN_USE == 0
    }

    fn take_next(&mut self) -> Option<Packet> {
        let slot = self.shared.slot(self.next);
        if self.shared.reader.status(slot) & libc::TP_STATUS_WRONG_FORMAT != 0 {
            self.malformed_packets += 1;
            self.shared.reader.recover(slot);
        }
        let packet = self.shared.pick_up(self.next);
        self.next += 1;
        self.shared.free(self.next);
        packet
    }
}

impl Completions for AfPacketCompletions {
    type Error = io::Error;

    fn slots_free(&self) -> u32 {
        self.shared.slots_free()
    }

    /// The bytes are those that the queue counted. Exact while nobody submits.
    fn in_ring(&self) -> Option<InRing> {
        Some(self.shared.in_ring())
    }

    /// Also rings again for packets that the kernel did not take before.
    ///
    /// # Errors
    /// As for the doorbell of the [sending half](super::AfPacketTx), after all packets were
    /// handed out.
    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> io::Result<bool> {
        for _ in 0..budget_packets {
            if let Some(packet) = self.given_up.pop_front() {
                freed(packet);
                continue;
            }
            if !self.next_is_done() {
                break;
            }
            if let Some(packet) = self.take_next() {
                freed(packet);
            }
        }
        if self.shared.doorbell.left_something() && !self.shared.is_given_up() {
            self.shared.doorbell.ring(&self.shared, By::Completer)?;
        }
        Ok(!self.given_up.is_empty() || self.next_is_done())
    }

    fn completions_are_true(&self) -> bool {
        !self.shared.doorbell.is_doubted()
    }
}

impl AsFd for AfPacketCompletions {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.doorbell.fd().as_fd()
    }
}
