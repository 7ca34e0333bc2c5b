//! The completion half of a packet ring.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use taut_path::driver::EarlyCompletionDetector;
use taut_path::in_flight::InFlightCompleter;
use taut_path::{Completions, InRing, Packet};

use super::doorbell::Doorbell;
use super::target::{RingTarget, RingTxEnd};
use crate::handover::Giver;

/// The kernel owns the slot while one of these bits is set.
const IN_USE: u32 = libc::TP_STATUS_SEND_REQUEST | libc::TP_STATUS_SENDING;

/// The completing half. Can run on another thread than the [sending half](super::AfPacketTx).
///
/// Packets are returned in the order in which they were submitted. If a discipline sends them in
/// another order, packets behind the oldest are returned later.
#[derive(Debug)]
pub struct AfPacketCompletions {
    pub(super) doorbell: Arc<Doorbell>,
    in_flight: InFlightCompleter,
    /// The number of the next packet.
    next: u64,
    malformed_packets: u64,
    /// The ring was closed, and a new one could not be opened yet.
    is_closed: bool,
    /// Packets of a closed ring, oldest first. They are returned before all others.
    abandoned: VecDeque<Packet>,
    pub(super) place: RingTarget,
    giver: Giver<RingTxEnd>,
    /// A new ring was requested. It is opened when the sending half has released the old one.
    is_requested: bool,
    reopened: u64,
}

impl AfPacketCompletions {
    /// Opens the first ring, and passes the other half's part of it to `giver`.
    pub(super) fn open(place: RingTarget, giver: Giver<RingTxEnd>) -> io::Result<Self> {
        let (tx, in_flight) = place.open(EarlyCompletionDetector::new())?;
        let doorbell = Arc::clone(&tx.doorbell);
        giver.give(tx);
        Ok(Self {
            doorbell,
            in_flight,
            next: 0,
            malformed_packets: 0,
            is_closed: false,
            abandoned: VecDeque::new(),
            place,
            giver,
            is_requested: false,
            reopened: 0,
        })
    }

    /// Requests a new ring, in a queue whose halves are on two threads.
    ///
    /// First request a reset of the queue
    /// ([`request_reset`](taut_path::queue::Monitor::request_reset)), which wakes the sending half,
    /// so that it releases the old ring. A later [`reap`](Completions::reap) opens the new one and
    /// returns the packets in flight as [stale](taut_path::Completed::stale_packets). If opening
    /// fails, `reap` returns that error: request again after a moment. Request once for a stall,
    /// which every batch reports until the reset has begun. The caller must wake a sending half
    /// that sleeps elsewhere than in [`must_wait`](taut_path::queue::Sender::must_wait).
    ///
    /// Packets that the kernel took from the old ring might still be sent.
    pub fn request_reopen(&mut self) {
        self.giver.request_release();
        self.is_requested = true;
    }

    /// Reopens the ring if that was requested and the other half has released it.
    pub(super) fn renew(&mut self) -> io::Result<()> {
        if !self.is_requested || !self.giver.has_released() {
            return Ok(());
        }
        // Cleared even if opening fails: the caller must request again.
        self.is_requested = false;
        self.close();
        let (tx, in_flight) = self.place.open(self.doorbell.detector())?;
        self.doorbell = Arc::clone(&tx.doorbell);
        self.in_flight = in_flight;
        self.next = 0;
        self.is_closed = false;
        self.reopened += 1;
        self.giver.give(tx);
        Ok(())
    }

    /// Closes the ring. The next reaps return its packets; those not complete never count as
    /// completed.
    fn close(&mut self) {
        self.is_closed = true;
        while self.next < self.doorbell.submitted() {
            let is_done = self.next_is_done();
            if let Some(mut packet) = self.take_next() {
                if !is_done {
                    packet.mark_stale();
                }
                self.abandoned.push_back(packet);
            }
        }
    }

    /// Returns how often the ring was reopened.
    pub fn reopened(&self) -> u64 {
        self.reopened
    }

    /// Returns the number of packets that the kernel marked as malformed. They were returned as
    /// completed.
    pub fn malformed_packets(&self) -> u64 {
        self.malformed_packets
    }

    /// Returns the device's name.
    pub fn device(&self) -> &str {
        &self.place.device
    }

    /// Returns `true` if the next packet is complete.
    fn next_is_done(&self) -> bool {
        let is_submitted = self.next < self.doorbell.submitted();
        is_submitted && self.doorbell.slots.status(self.next) & IN_USE == 0
    }

    fn take_next(&mut self) -> Option<Packet> {
        let slots = &self.doorbell.slots;
        if slots.status(self.next) & libc::TP_STATUS_WRONG_FORMAT != 0 {
            self.malformed_packets += 1;
            slots.recover(self.next);
        }
        let packet = self.in_flight.take(slots.slot(self.next));
        self.next += 1;
        packet
    }
}

impl Completions for AfPacketCompletions {
    type Error = io::Error;

    fn slots_free(&self) -> u32 {
        if self.is_closed {
            return 0;
        }
        self.place.slots.saturating_sub(self.in_flight.packets())
    }

    /// The bytes are those that the queue counted. Exact while no packet is submitted.
    fn in_ring(&self) -> Option<InRing> {
        Some(self.in_flight.in_ring())
    }

    /// Also rings the doorbell again for packets that the kernel did not take before, and opens a
    /// new ring if one was [requested](Self::request_reopen).
    ///
    /// # Errors
    /// Those of the doorbell of the [sending half](super::AfPacketTx), or of opening, after packets
    /// were returned.
    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> io::Result<bool> {
        let renewed = self.renew();
        for _ in 0..budget_packets {
            if let Some(packet) = self.abandoned.pop_front() {
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
        renewed?;
        if self.doorbell.has_remaining() && !self.is_closed {
            self.doorbell.ring()?;
        }
        Ok(!self.abandoned.is_empty() || self.next_is_done())
    }

    fn completions_valid(&self) -> bool {
        !self.doorbell.is_early()
    }
}

impl AsFd for AfPacketCompletions {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.doorbell.fd.as_fd()
    }
}
