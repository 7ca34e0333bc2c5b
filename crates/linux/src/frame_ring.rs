//! A driver over the rings of another AF_XDP library, or of any device whose ring takes frame
//! numbers and returns them in any order.
//!
//! The library opens the socket and moves descriptors. [`FrameRing`] is the rest of a driver: it
//! stores packets in flight, rings the doorbell again for frames that the kernel did not take,
//! detects early completions, and returns every packet when the rings are closed.
//!
//! ```
//! use std::convert::Infallible;
//! use taut_linux::frame_ring::{TxFrame, FrameRing, RawRings};
//! use taut_path::{AnyLimit, Frame, Packet, Queue, pool::FramePool};
//!
//! /// A device that sends a frame when it is polled.
//! #[derive(Default)]
//! struct Rings(Vec<u32>);
//!
//! impl RawRings for Rings {
//!     type Error = Infallible;
//!     fn push(&mut self, frames: &[TxFrame]) -> usize {
//!         self.0.extend(frames.iter().map(|it| it.frame));
//!         frames.len()
//!     }
//!     fn wake(&mut self) -> Result<(), Infallible> { Ok(()) }
//!     fn untaken(&mut self) -> u32 { 0 }
//!     fn unread(&mut self) -> u32 { 0 }
//!     fn read(&mut self, max: u32, mut completed: impl FnMut(u32)) {
//!         let count = self.0.len().min(max as usize);
//!         self.0.drain(..count).for_each(|frame| completed(frame));
//!     }
//!     fn with_bytes(&mut self, _: u32, bytes: u32, work: impl FnOnce(&mut [u8])) {
//!         work(&mut vec![0; bytes as usize]);
//!     }
//! }
//!
//! let mut pool = FramePool::new(64, 0); // frame numbers only: the bytes are in the rings' memory
//! let ring = FrameRing::new(Rings::default(), 64, 32, 14..=1514);
//! let mut queue = Queue::builder_for(ring).limit(AnyLimit::packets(8)).build(0)?;
//! let frame = pool.take().expect("64 are free");
//! queue.enqueue(Packet::new(frame, 60), 0, &mut pool);
//! let _ = queue.run(0, &mut pool);
//! assert_eq!(queue.complete(1_000, &mut pool)?.counts.packets, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use taut_path::classify::mark_congestion;
use taut_path::driver::{CompletionStatus, EarlyCompletionDetector};
use taut_path::in_flight::{self, InFlightCompleter, InFlightSender};
use taut_path::{Completions, Ecn, InRing, Packet, TxRing};

/// A frame to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TxFrame {
    /// The number of the frame in the memory of the rings.
    pub frame: u32,
    /// The length of the packet at its start, in bytes.
    pub bytes: u32,
}

/// The rings of a socket, as a library offers them.
pub trait RawRings {
    /// The error of the doorbell.
    type Error;

    /// Writes `frames` into the transmit ring, oldest first, and publishes them. Returns how many
    /// there was room for.
    fn push(&mut self, frames: &[TxFrame]) -> usize;

    /// Rings the doorbell, if the device needs it.
    ///
    /// # Errors
    /// The error of the system call, unless it only means that nothing can be taken now.
    fn wake(&mut self) -> Result<(), Self::Error>;

    /// Returns the published frames that the device has not taken.
    fn untaken(&mut self) -> u32;

    /// Returns the completed frames that [`read`](Self::read) has not returned.
    fn unread(&mut self) -> u32;

    /// Passes the numbers of up to `max` completed frames to `completed`.
    fn read(&mut self, max: u32, completed: impl FnMut(u32));

    /// Lends the first `bytes` bytes of a frame that is not in the device: the packet.
    fn with_bytes(&mut self, frame: u32, bytes: u32, work: impl FnOnce(&mut [u8]));
}

/// A device for a [`Queue`](taut_path::Queue) on one thread.
#[derive(Debug)]
pub struct FrameRing<R> {
    /// `None` between closing the rings and opening the next ones.
    rings: Option<R>,
    capacity_slots: u32,
    lengths: RangeInclusive<u32>,
    sender: InFlightSender,
    completer: InFlightCompleter,
    /// Submitted and not yet in the transmit ring: one doorbell publishes them together.
    staged: Vec<TxFrame>,
    /// Packets of closed rings, not yet returned.
    returned: VecDeque<Packet>,
    detector: EarlyCompletionDetector,
    unknown_completions: u64,
}

impl<R: RawRings> FrameRing<R> {
    /// A device that holds up to `slots` packets in `frames` frames. Both rings must have at least
    /// `slots` entries. `lengths` are the packets that it can send, in bytes.
    pub fn new(rings: R, frames: u32, slots: u32, lengths: RangeInclusive<u32>) -> Self {
        let (sender, completer) = in_flight::split(frames);
        Self {
            rings: Some(rings),
            capacity_slots: slots.min(sender.keys()),
            lengths,
            sender,
            completer,
            staged: Vec::with_capacity(slots as usize),
            returned: VecDeque::new(),
            detector: EarlyCompletionDetector::new(),
            unknown_completions: 0,
        }
    }

    /// Returns the rings; `None` after [`close`](Self::close).
    pub fn rings_mut(&mut self) -> Option<&mut R> {
        self.rings.as_mut()
    }

    /// Returns the meaning of completions.
    pub fn completion_status(&self) -> CompletionStatus {
        self.detector.status()
    }

    /// Returns the completions of frames that were not in the device.
    pub fn unknown_completions(&self) -> u64 {
        self.unknown_completions
    }

    /// Returns the frames that the device took and has not completed. While it holds some, keep
    /// the rings after a stall and only reset the queue: the kernel still reads these frames, and
    /// does not let a new socket bind to the device.
    pub fn held(&mut self) -> u32 {
        let in_flight = self.sender.packets();
        let staged = self.staged.len() as u32;
        self.rings.as_mut().map_or(0, |rings| {
            // In this order: a frame that completes between the reads counts as held.
            let unread = rings.unread();
            in_flight.saturating_sub(staged + unread + rings.untaken())
        })
    }

    /// Takes the rings, to be dropped before the next socket is opened. Packets in flight return
    /// from the next reaps. Those without a completion are
    /// [stale](taut_path::Completed::stale_packets): it is unknown whether they were sent. Then
    /// reset the queue.
    pub fn close(&mut self) -> Option<R> {
        let mut rings = self.rings.take()?;
        self.staged.clear();
        let (completer, returned) = (&mut self.completer, &mut self.returned);
        rings.read(u32::MAX, |frame| returned.extend(completer.take(frame)));
        completer.take_all(&mut |mut packet| {
            packet.mark_stale();
            returned.push_back(packet);
        });
        Some(rings)
    }

    /// Continues with new rings of the same size, after [`close`](Self::close).
    pub fn open(&mut self, rings: R) {
        self.rings = Some(rings);
    }

    /// Publishes staged frames, and rings until the device took all or takes no more now.
    fn ring(&mut self) -> Result<u32, R::Error> {
        let Some(rings) = &mut self.rings else {
            return Ok(0);
        };
        if !self.staged.is_empty() {
            let pushed = rings.push(&self.staged).min(self.staged.len());
            self.staged.drain(..pushed);
        }
        let first = rings.untaken();
        let mut before = first;
        while before > 0 {
            rings.wake()?;
            let after = rings.untaken();
            if after == before {
                break;
            }
            before = after;
        }
        Ok(first.saturating_sub(before))
    }
}

impl<R: RawRings> TxRing for FrameRing<R> {
    type Error = R::Error;

    fn capacity_slots(&self) -> u32 {
        self.capacity_slots
    }

    /// 0 while the rings are closed.
    #[inline]
    fn slots_free(&self) -> u32 {
        match self.rings {
            Some(_) => self.capacity_slots.saturating_sub(self.sender.packets()),
            None => 0,
        }
    }

    /// # Errors
    /// Returns a packet of another length than the device can send, and one whose frame is in
    /// flight already.
    #[inline]
    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        let (frame, bytes) = (packet.frame().index(), packet.wire_bytes());
        let Some(rings) = &mut self.rings else {
            return Err(packet);
        };
        if !self.lengths.contains(&bytes) {
            return Err(packet);
        }
        let is_marked = packet.ecn() == Ecn::Marked;
        self.sender.put(frame, packet)?;
        if is_marked {
            rings.with_bytes(frame, bytes, |packet| {
                mark_congestion(packet);
            });
        }
        self.staged.push(TxFrame { frame, bytes });
        Ok(())
    }

    #[inline]
    fn kick(&mut self, _now_ns: u64) -> Result<(), R::Error> {
        let taken = self.ring()?;
        let held = self.held();
        self.detector.after_doorbell(taken, held);
        Ok(())
    }
}

impl<R: RawRings> Completions for FrameRing<R> {
    type Error = R::Error;

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(self)
    }

    /// Also rings the doorbell again for packets that the device did not take.
    #[inline]
    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, R::Error> {
        let returned = self.returned.len().min(budget_packets as usize);
        self.returned.drain(..returned).for_each(&mut *freed);
        let left = budget_packets - returned as u32;
        let Some(rings) = &mut self.rings else {
            return Ok(!self.returned.is_empty());
        };
        let (completer, unknown) = (&mut self.completer, &mut self.unknown_completions);
        rings.read(left, |frame| match completer.take(frame) {
            Some(packet) => freed(packet),
            None => *unknown += 1,
        });
        let more = !self.returned.is_empty() || (left < u32::MAX && rings.unread() > 0);
        if rings.untaken() > 0 || !self.staged.is_empty() {
            self.ring()?;
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
