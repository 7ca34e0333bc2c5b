//! The completing half, which also reopens the socket.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use taut_path::driver::CompletionStatus;
use taut_path::in_flight::InFlightCompleter;
use taut_path::{Completions, InRing, Packet};

use super::line::{Common, CompletionEnd, Kernel, Line, Opener, TxEnd, XdpCounters};
use super::socket::XdpSocket;
use super::umem::UmemFrames;
use crate::frames::Frames;
use crate::handover::Giver;
use crate::sys::umem::Umem;

/// How a ring is restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewal {
    NewSocket,
    SameSocket,
}

/// The completing half of an AF_XDP socket. Can run on another thread than the [sending
/// half](super::AfXdpTx).
#[derive(Debug)]
pub struct AfXdpCompletions<K: Kernel = XdpSocket> {
    common: Arc<Common>,
    frames: UmemFrames,
    in_flight: InFlightCompleter,
    capacity_slots: u32,
    is_zero_copy: bool,
    /// `None` between closing the socket and opening the next one.
    pub(super) end: Option<CompletionEnd<K>>,
    giver: Giver<TxEnd<K>>,
    pub(super) opener: Box<dyn Opener<K>>,
    /// The requested restart, executed when the other half has released the ring.
    renewal: Option<Renewal>,
    /// Packets that were abandoned, or completed just before, and not returned yet.
    abandoned: VecDeque<Packet>,
}

impl<K: Kernel> AfXdpCompletions<K> {
    /// Opens the first socket, and passes the other half's end of it to `giver`.
    pub(super) fn open(
        common: Arc<Common>,
        frames: UmemFrames,
        in_flight: InFlightCompleter,
        capacity_slots: u32,
        giver: Giver<TxEnd<K>>,
        mut opener: Box<dyn Opener<K>>,
    ) -> io::Result<Self> {
        let line = opener.open()?;
        giver.give(line.tx_end());
        Ok(Self {
            common,
            frames,
            in_flight,
            capacity_slots,
            is_zero_copy: line.kernel.is_zero_copy(),
            end: Some(line.completion_end()),
            giver,
            opener,
            renewal: None,
            abandoned: VecDeque::new(),
        })
    }

    /// Returns the device's name.
    pub fn device(&self) -> &str {
        self.opener.device()
    }

    /// Returns the counters of exceptions.
    pub fn counters(&self) -> XdpCounters {
        self.common.counters()
    }

    /// Returns the current status of completions.
    pub fn completion_status(&self) -> CompletionStatus {
        self.common.completion_status()
    }

    /// Returns how frames reach the device: `copy` or `zero-copy`.
    pub fn mode(&self) -> &'static str {
        if self.is_zero_copy {
            "zero-copy"
        } else {
            "copy"
        }
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
    /// The socket stays open while the kernel holds copies of its packets, because the queue cannot
    /// be bound before. Their frames are used again when the kernel releases them.
    pub fn request_reopen(&mut self) {
        self.giver.request_release();
        if self.must_keep_socket() {
            self.renewal = Some(Renewal::SameSocket);
        } else {
            self.renewal = Some(Renewal::NewSocket);
            self.opener.request_release();
        }
    }

    fn must_keep_socket(&self) -> bool {
        let holds = |end: &CompletionEnd<K>| !end.line.kernel.is_zero_copy() && end.line.held() > 0;
        self.end.as_ref().is_some_and(holds) && self.opener.is_current()
    }

    /// Restarts the ring if that was requested and the other half has released it.
    pub(super) fn renew(&mut self) -> io::Result<()> {
        let Some(renewal) = self.renewal else {
            return Ok(());
        };
        let is_new = renewal == Renewal::NewSocket;
        if !self.giver.has_released() || is_new && !self.opener.has_released() {
            return Ok(());
        }
        // Cleared even if opening fails: the caller must request again.
        self.renewal = None;
        match renewal {
            Renewal::SameSocket => self.restart(),
            Renewal::NewSocket => {
                self.close();
                let line = self.opener.open()?;
                self.continue_with(&line);
            }
        }
        Ok(())
    }

    /// Continues with the old socket. Packets that the kernel still holds are abandoned.
    fn restart(&mut self) {
        let Some(line) = self.end.as_ref().map(|end| end.line.clone()) else {
            return;
        };
        self.take_all(Umem::abandon);
        self.common.count(|it| it.reopened += 1);
        self.giver.give(line.tx_end());
    }

    /// Continues with a new socket.
    pub(super) fn continue_with(&mut self, line: &Arc<Line<K>>) {
        self.common.count(|it| it.reopened += 1);
        self.is_zero_copy = line.kernel.is_zero_copy();
        self.end = Some(line.completion_end());
        self.giver.give(line.tx_end());
    }

    /// Takes all packets out of the socket and closes it.
    pub(super) fn close(&mut self) {
        self.take_all(Umem::reclaim);
        // The last reference: the kernel now closes the socket, and so releases all frames.
        self.end = None;
        for index in 0..self.frames.frames() {
            self.frames.umem().recover(index);
        }
    }

    /// Returns all packets in flight: first those complete, then the abandoned ones, for each of
    /// which it calls `abandon` with its frame.
    fn take_all(&mut self, abandon: fn(&Umem, u32) -> bool) {
        let mut found = std::mem::take(&mut self.abandoned);
        while let Some(packet) = self.next_completed() {
            found.push_back(packet);
        }
        let seen = found.len();
        let umem = self.frames.umem();
        self.in_flight.take_all(&mut |mut packet| {
            abandon(umem, packet.frame().index());
            packet.mark_stale();
            found.push_back(packet);
        });
        let abandoned = (found.len() - seen) as u64;
        self.common.count(|it| it.lost_packets += abandoned);
        self.abandoned = found;
    }

    /// Returns the next completed packet.
    #[inline]
    fn next_completed(&mut self) -> Option<Packet> {
        let end = self.end.as_mut()?;
        while let Some([address]) = end.completion.pop() {
            let index = self.frames.index_of(address);
            if let Some(packet) = self.in_flight.take(index) {
                self.frames.umem().reclaim(index);
                return Some(packet);
            }
            match self.frames.umem().recover(index) {
                true => self.common.count(|it| it.recovered_frames += 1),
                false => self.common.count(|it| it.unknown_completions += 1),
            }
        }
        None
    }
}

impl<K: Kernel> Completions for AfXdpCompletions<K> {
    type Error = io::Error;

    fn slots_free(&self) -> u32 {
        let held = self.in_flight.keys() - self.in_flight.free();
        let room = self.end.as_ref().map_or(0, |end| end.line.room());
        self.capacity_slots.saturating_sub(held).min(room)
    }

    /// Also rings the doorbell again for packets that the kernel did not accept, and opens a new
    /// socket if one was [requested](Self::request_reopen).
    ///
    /// # Errors
    /// Those of the doorbell of the [sending half](super::AfXdpTx), or of opening, after packets
    /// were returned.
    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> io::Result<bool> {
        let renewed = self.renew();
        for _ in 0..budget_packets {
            // Abandoned packets first, because they are older.
            let Some(packet) = self.abandoned.pop_front().or_else(|| self.next_completed()) else {
                break;
            };
            freed(packet);
        }
        let Some(end) = &mut self.end else {
            return renewed.map(|()| !self.abandoned.is_empty());
        };
        end.completion.release();
        let more = end.completion.waiting() > 0 || !self.abandoned.is_empty();
        renewed?;
        if end.line.needs_doorbell() {
            end.line.ring(&self.common)?;
        }
        Ok(more)
    }

    fn in_ring(&self) -> Option<InRing> {
        Some(self.in_flight.in_ring())
    }

    fn completions_valid(&self) -> bool {
        self.common.completion_status().limit_applies()
    }
}

impl<K: Kernel + AsFd> AfXdpCompletions<K> {
    /// Returns the socket; `None` between closing it and opening the next one.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_ref().map(|end| end.line.kernel.as_fd())
    }
}
