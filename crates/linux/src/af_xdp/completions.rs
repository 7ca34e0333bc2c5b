//! The completion half, which also makes the socket anew.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use taut_path::driver::Truth;
use taut_path::in_flight::InFlightCompleter;
use taut_path::{Completions, InRing, Packet};

use super::line::{Common, CompletionEnd, Kernel, TxEnd, TxGiver, XdpCounters};
use super::socket::XdpSocket;
use super::umem::UmemFrames;
use crate::frames::Frames;

/// Both ends of a new socket.
pub type SocketEnds<K> = (TxEnd<K>, CompletionEnd<K>);

/// Makes sockets, and knows who else has their rings.
pub trait Opener<K: Kernel>: Send {
    /// Whether the socket is bound to the device of now, and not to one that is gone.
    fn is_current(&self) -> bool;

    /// The present socket is to be gone: lets go of it, or asks whoever has a part of it.
    fn ask(&mut self);

    /// Whether they have.
    fn has_left(&mut self) -> bool;

    /// Makes a socket with its rings. What fails names the call and the device.
    fn open(&mut self) -> io::Result<SocketEnds<K>>;
}

/// What becomes of the frames of packets that are given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    FramesAreOurs,
    KernelHasFrames,
}

/// How a ring is begun anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewal {
    NewSocket,
    SameSocket,
}

/// The completion half of an AF_XDP socket. May be on another thread than the
/// [sending half](super::AfXdpTx).
pub struct AfXdpCompletions<K: Kernel = XdpSocket> {
    common: Arc<Common>,
    frames: UmemFrames,
    in_flight: InFlightCompleter,
    capacity_slots: u32,
    is_zero_copy: bool,
    /// `None` after the socket was given up, until there is a new one.
    end: Option<CompletionEnd<K>>,
    giver: TxGiver<K>,
    opener: Box<dyn Opener<K>>,
    /// What was asked for, and is done as soon as the other half has let go.
    renewal: Option<Renewal>,
    /// Packets that were given up, or finished just before, and not handed back yet.
    given_up: VecDeque<Packet>,
    /// For each frame whether the kernel still has it though its packet was given up.
    lost: Box<[bool]>,
}

impl<K: Kernel> AfXdpCompletions<K> {
    pub(super) fn new(
        common: Arc<Common>,
        frames: UmemFrames,
        in_flight: InFlightCompleter,
        capacity_slots: u32,
        (end, giver): (CompletionEnd<K>, TxGiver<K>),
        opener: Box<dyn Opener<K>>,
    ) -> Self {
        let lost = vec![false; frames.frames() as usize].into();
        Self {
            common,
            frames,
            lost,
            in_flight,
            capacity_slots,
            is_zero_copy: end.line.kernel.is_zero_copy(),
            end: Some(end),
            giver,
            opener,
            renewal: None,
            given_up: VecDeque::new(),
        }
    }

    /// The device's name.
    pub fn device(&self) -> &str {
        &self.common.device
    }

    /// What did not go the plain way.
    pub fn counters(&self) -> XdpCounters {
        self.common.counters.read()
    }

    /// What completions mean, as far as the packets so far have shown.
    pub fn completion_status(&self) -> Truth {
        self.common.completion_status()
    }

    /// How frames get to the device: `copy` or `zero-copy`.
    pub fn mode(&self) -> &'static str {
        if self.is_zero_copy {
            "zero-copy"
        } else {
            "copy"
        }
    }

    /// Asks for a new ring, in a queue whose halves are on two threads: ask the queue for a reset
    /// ([`request_reset`](taut_path::queue::Monitor::request_reset)), which wakes the sending half,
    /// so that it releases the old one. A later [`reap`](Completions::reap) opens the new one and
    /// returns what was in flight as [stale](taut_path::Completed::stale_packets). If opening
    /// fails, `reap` returns that error: request again after a moment. Request once for a stall,
    /// which every batch reports until the reset has begun. The caller must wake a sending half
    /// that sleeps elsewhere than in [`must_wait`](taut_path::queue::Sender::must_wait).
    ///
    /// The socket stays open while the kernel holds copies of its packets, because the queue cannot
    /// be bound before. Their frames are used again when the kernel releases them.
    pub fn request_reopen(&mut self) {
        self.giver.ask();
        if self.must_keep_socket() {
            self.renewal = Some(Renewal::SameSocket);
        } else {
            self.renewal = Some(Renewal::NewSocket);
            self.opener.ask();
        }
    }

    fn must_keep_socket(&self) -> bool {
        let holds = |end: &CompletionEnd<K>| !end.line.kernel.is_zero_copy() && end.line.held() > 0;
        self.end.as_ref().is_some_and(holds) && self.opener.is_current()
    }

    /// Makes the ring anew if that was asked for and the other half has let go.
    pub(super) fn renew(&mut self) -> io::Result<()> {
        let Some(renewal) = self.renewal else {
            return Ok(());
        };
        if !self.giver.has_left() {
            return Ok(());
        }
        match renewal {
            Renewal::SameSocket => self.begin_again(),
            Renewal::NewSocket if !self.opener.has_left() => return Ok(()),
            Renewal::NewSocket => {
                // Whatever comes of it: it must be asked for again.
                self.renewal = None;
                self.give_up();
                let ends = self.opener.open()?;
                self.begin(ends);
            }
        }
        self.renewal = None;
        Ok(())
    }

    /// Goes on with the old socket: what the kernel has of it is given up.
    fn begin_again(&mut self) {
        let Some(line) = self.end.as_ref().map(|end| end.line.clone()) else {
            return;
        };
        self.take_all(Loss::KernelHasFrames);
        let reopened = &self.common.counters.reopened;
        reopened.fetch_add(1, Ordering::Relaxed);
        self.giver.give(line.tx_end());
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn kernel(&self) -> Option<&K> {
        self.end.as_ref().map(|end| &end.line.kernel)
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn close_for_good(&mut self) {
        self.give_up();
    }

    /// Goes on with a new socket.
    pub(super) fn begin(&mut self, (tx, completion): SocketEnds<K>) {
        let reopened = &self.common.counters.reopened;
        reopened.fetch_add(1, Ordering::Relaxed);
        self.is_zero_copy = completion.line.kernel.is_zero_copy();
        self.end = Some(completion);
        self.giver.give(tx);
    }

    /// Takes everything out of the socket and lets go of it.
    fn give_up(&mut self) {
        self.take_all(Loss::FramesAreOurs);
        // The last end of it: with this the kernel takes the socket down.
        self.end = None;
        for (index, lost) in (0..).zip(&mut self.lost) {
            if std::mem::take(lost) {
                self.frames.find(index);
            }
        }
    }

    /// Has everything in flight handed back, first what is complete; the rest is given up.
    fn take_all(&mut self, loss: Loss) {
        let mut found = std::mem::take(&mut self.given_up);
        while let Some(packet) = self.next_completed() {
            found.push_back(packet);
        }
        let seen = found.len();
        let (umem, lost) = (self.frames.umem(), &mut self.lost);
        self.in_flight.take_all(&mut |mut packet| {
            let index = packet.frame().index();
            match loss {
                Loss::FramesAreOurs => {
                    umem.reclaim(index);
                }
                Loss::KernelHasFrames => lost[index as usize] = umem.lose(index),
            }
            packet.give_up();
            found.push_back(packet);
        });
        let given_up = (found.len() - seen) as u64;
        let counter = &self.common.counters.lost_packets;
        counter.fetch_add(given_up, Ordering::Relaxed);
        self.given_up = found;
    }

    /// The next packet that the kernel is done with.
    #[inline]
    fn next_completed(&mut self) -> Option<Packet> {
        let end = self.end.as_mut()?;
        while let Some(address) = end.completion.pop() {
            let index = self.frames.index_of(address);
            if let Some(packet) = self.in_flight.take(index) {
                self.frames.umem().reclaim(index);
                return Some(packet);
            }
            let counters = &self.common.counters;
            let lost = self.lost.get_mut(index as usize);
            let counter = if lost.is_some_and(std::mem::take) && self.frames.find(index) {
                &counters.recovered_frames
            } else {
                &counters.unknown_completions
            };
            counter.fetch_add(1, Ordering::Relaxed);
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
        let mut left = budget_packets;
        while left > 0 {
            // What is given up goes first: it is older.
            let Some(packet) = self.given_up.pop_front().or_else(|| self.next_completed()) else {
                break;
            };
            freed(packet);
            left -= 1;
        }
        let Some(end) = &mut self.end else {
            return renewed.map(|()| !self.given_up.is_empty());
        };
        end.completion.release();
        let more = end.completion.waiting() > 0 || !self.given_up.is_empty();
        renewed?;
        if end.line.needs_doorbell() {
            end.line.ring(&self.common)?;
        }
        Ok(more)
    }

    fn in_ring(&self) -> Option<InRing> {
        Some(self.in_flight.in_ring())
    }

    fn completions_are_true(&self) -> bool {
        self.common.completion_status().holds()
    }
}

impl<K: Kernel + AsFd> AfXdpCompletions<K> {
    /// The socket; `None` after it was given up, until there is a new one.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_ref().map(|end| end.line.kernel.as_fd())
    }
}

impl<K: Kernel> std::fmt::Debug for AfXdpCompletions<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AfXdpCompletions")
            .field("device", &self.common.device)
            .field("in_flight", &self.in_flight)
            .field("given_up", &self.given_up.len())
            .finish_non_exhaustive()
    }
}
