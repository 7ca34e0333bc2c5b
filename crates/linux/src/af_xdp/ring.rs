//! The sending side of a socket.

use std::collections::VecDeque;
use std::io;

use taut_path::classify::mark_congestion;
use taut_path::driver::EarlyCompletionDetector;
use taut_path::in_flight::{self, InFlightCompleter, InFlightSender};
use taut_path::{Completions, Ecn, InRing, Packet, TxRing};

use super::line::{Kernel, Line, Opener};
use super::socket::SocketOpener;
use super::umem::UmemFrames;
use crate::frames::Frames;
use crate::port::ETHERNET_HEADER_BYTES;
use crate::sys::umem::Umem;
use crate::sys::xdp_ring::Descriptor;
use crate::vlan;

/// An AF_XDP socket that sends: a device for a [`Queue`](taut_path::Queue) on one thread. Frames
/// are those of the umem and are not copied here.
#[derive(Debug)]
pub struct AfXdp<O: Opener = SocketOpener> {
    pub(super) opener: O,
    /// `None` without a socket, after a failed `reopen` or `reopen_both`.
    pub(super) line: Option<Line<O::Kernel>>,
    frames: UmemFrames,
    sender: InFlightSender,
    completer: InFlightCompleter,
    capacity_slots: u32,
    is_zero_copy: bool,
    /// Position of the kernel after the last doorbell of [`kick`](TxRing::kick).
    taken: u32,
    /// Packets that were abandoned, or completed just before, and not returned yet.
    abandoned: VecDeque<Packet>,
    pub(super) detector: EarlyCompletionDetector,
    unknown_completions: u64,
}

impl<O: Opener> AfXdp<O> {
    /// Opens the first socket of `opener`.
    pub(super) fn open_with(
        mut opener: O,
        frames: &UmemFrames,
        capacity_slots: u32,
    ) -> io::Result<Self> {
        let line = opener.open()?;
        let (sender, completer) = in_flight::split(frames.frames());
        let mut ring = Self {
            opener,
            line: None,
            frames: frames.clone(),
            sender,
            completer,
            capacity_slots,
            is_zero_copy: false,
            taken: 0,
            abandoned: VecDeque::new(),
            detector: EarlyCompletionDetector::new(),
            unknown_completions: 0,
        };
        ring.continue_with(line);
        Ok(ring)
    }

    /// Returns the completions of frames that were not in the device (driver bug): completed twice,
    /// or never sent.
    pub fn unknown_completions(&self) -> u64 {
        self.unknown_completions
    }

    /// Returns how frames reach the device: `copy` or `zero-copy`.
    pub(super) fn mode(&self) -> &'static str {
        if self.is_zero_copy {
            "zero-copy"
        } else {
            "copy"
        }
    }

    /// Restarts the ring. The socket stays open while the kernel holds copies of its packets,
    /// because the queue cannot be bound before. Their frames are used again when the kernel
    /// releases them. Otherwise opens a new socket: `release` must release all other parts of the
    /// old one. If it does not, fails with `ResourceBusy` and changes nothing.
    pub(super) fn restart(&mut self, release: impl FnOnce()) -> io::Result<()> {
        if let Some(line) = &mut self.line
            && !line.kernel.is_zero_copy()
            && line.held() > 0
            && self.opener.is_current()
        {
            // So that the kernel releases the frames of all submitted packets.
            line.tx.publish();
            self.taken = line.tx.consumed();
            self.take_all(Umem::abandon);
        } else {
            release();
            self.opener.release_receive_end();
            if (self.line.as_ref()).is_some_and(|line| line.kernel.is_shared()) {
                let device = self.opener.device();
                let message = format!("{device}: the receiver uses the socket: call reopen_both");
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, message));
            }
            self.close();
            let line = self.opener.open()?;
            self.continue_with(line);
        }
        Ok(())
    }

    fn continue_with(&mut self, line: Line<O::Kernel>) {
        self.is_zero_copy = line.kernel.is_zero_copy();
        self.taken = line.tx.consumed();
        self.line = Some(line);
    }

    /// Takes all packets out of the socket and closes it.
    pub(super) fn close(&mut self) {
        self.take_all(Umem::reclaim);
        // No other part exists: the kernel closes the socket here, and so releases all frames.
        self.line = None;
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
        let umem = self.frames.umem();
        self.completer.take_all(&mut |mut packet| {
            abandon(umem, packet.frame().index());
            packet.mark_stale();
            found.push_back(packet);
        });
        self.abandoned = found;
    }

    /// Returns the next completed packet.
    #[inline]
    fn next_completed(&mut self) -> Option<Packet> {
        let line = self.line.as_mut()?;
        while let Some([address]) = line.completion.pop() {
            let index = self.frames.index_of(address);
            if let Some(packet) = self.completer.take(index) {
                self.frames.umem().reclaim(index);
                return Some(packet);
            }
            if !self.frames.umem().recover(index) {
                self.unknown_completions += 1;
            }
        }
        None
    }

    fn accepts(&self, packet: &Packet, frame_limit_bytes: u32) -> bool {
        let (frame, bytes) = (packet.frame(), packet.wire_bytes());
        let tag_bytes = || self.frames.with(frame, |bytes| vlan::tag_bytes(bytes));
        let fits = bytes <= frame_limit_bytes
            || bytes <= frame_limit_bytes.saturating_add(tag_bytes().unwrap_or(0));
        let end = self.frames.start(frame.index()).saturating_add(bytes);
        bytes >= ETHERNET_HEADER_BYTES && fits && end <= self.frames.frame_bytes()
    }
}

impl<O: Opener> TxRing for AfXdp<O> {
    type Error = io::Error;

    fn capacity_slots(&self) -> u32 {
        self.capacity_slots
    }

    /// 0 without a socket.
    #[inline]
    fn slots_free(&self) -> u32 {
        let Some(line) = &self.line else {
            return 0;
        };
        let free = self.capacity_slots.saturating_sub(self.sender.packets());
        // Abandoned packets might still be in the ring.
        line.tx.room(free)
    }

    /// # Errors
    /// Returns a packet that is shorter than an Ethernet header, or too long. The maximum is that
    /// of the device when its socket was opened, and a VLAN tag does not count. Also returns a
    /// packet whose frame is not taken from this umem.
    #[inline]
    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        let Some(line) = &self.line else {
            return Err(packet);
        };
        if line.tx.room(1) == 0 || !self.accepts(&packet, line.frame_limit_bytes) {
            return Err(packet);
        }
        if packet.ecn() == Ecn::Marked {
            let length = packet.wire_bytes() as usize;
            let _ = (self.frames).with(packet.frame(), |bytes| {
                mark_congestion(&mut bytes[..length])
            });
        }
        let index = packet.frame().index();
        let descriptor = Descriptor {
            address: self.frames.place(index),
            length_bytes: packet.wire_bytes(),
        };
        if !self.frames.umem().to_device(index) {
            return Err(packet);
        }
        // Recorded before the kernel sees the packet, because the kernel might complete it at once.
        if let Err(packet) = self.sender.put(index, packet) {
            self.frames.umem().reclaim(index);
            return Err(packet);
        }
        if let Some(line) = &mut self.line {
            line.tx.push(descriptor.to_words());
        }
        Ok(())
    }

    /// Packets that the kernel does not take now stay in the ring. Reasons are a full send buffer
    /// or completion ring, a busy device, or no memory.
    ///
    /// # Errors
    /// The error of `sendto` on the device, for instance `NetworkDown`, or `ENXIO` if it was
    /// removed.
    #[inline]
    fn kick(&mut self, _now_ns: u64) -> io::Result<()> {
        let Some(line) = &mut self.line else {
            return Ok(());
        };
        line.tx.publish();
        let result = line.ring(self.opener.device());
        let taken = line.tx.consumed();
        let burst = taken.wrapping_sub(std::mem::replace(&mut self.taken, taken));
        self.detector.after_doorbell(burst, line.held());
        result
    }
}

impl<O: Opener> Completions for AfXdp<O> {
    type Error = io::Error;

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(self)
    }

    /// Also rings the doorbell again for packets that the kernel did not accept.
    ///
    /// # Errors
    /// Those of [`kick`](TxRing::kick), after packets were returned.
    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> io::Result<bool> {
        for _ in 0..budget_packets {
            // Abandoned packets first, because they are older.
            let Some(packet) = self.abandoned.pop_front().or_else(|| self.next_completed()) else {
                break;
            };
            freed(packet);
        }
        let has_abandoned = !self.abandoned.is_empty();
        let Some(line) = &mut self.line else {
            return Ok(has_abandoned);
        };
        line.completion.release();
        let more = line.completion.waiting() > 0 || has_abandoned;
        if line.needs_doorbell() {
            line.ring(self.opener.device())?;
        }
        Ok(more)
    }

    fn in_ring(&self) -> Option<InRing> {
        Some(self.completer.in_ring())
    }

    fn completions_valid(&self) -> bool {
        self.detector.status().limit_applies()
    }
}
