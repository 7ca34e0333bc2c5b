//! The interface to a device: two halves, so that two threads can own them, and drivers that wrap
//! any driver.
//!
//! Related modules: [`in_flight`](crate::in_flight) stores packets between `submit` and `reap`
//! (with a complete driver as its example). [`pool`](crate::pool) stores frames and is a sink.
//! `testing` (feature `testing`) has a device that a test controls, and wrappers that inject
//! faults, take the device down and trace every call.

mod early_completion;
#[cfg(feature = "testing")]
pub mod testing;

use alloc::boxed::Box;

use crate::packet::Packet;

pub use early_completion::{CompletionStatus, EarlyCompletionDetector};

/// The chunks of a GSO packet that a driver can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChunkSupport {
    /// None: GSO packets are sent whole.
    #[default]
    None,
    /// Single segments only: the device sends finished frames, so the driver must refuse a whole
    /// GSO packet.
    SingleSegment,
    /// Any number of segments.
    Any,
}

/// The sending half of a device's ring.
pub trait TxRing {
    /// The error of a doorbell, which should name the system call, the device and the reason. Users
    /// that display it require `Debug` and `Display`.
    type Error;

    /// Returns the number of slots of the ring: at least
    /// [`slots_of_largest`](Self::slots_of_largest), at most the capacity of the device. It never
    /// changes.
    fn capacity_slots(&self) -> u32;

    /// Returns the free slots. The completion half can raise the number at any time.
    fn slots_free(&self) -> u32;

    /// Returns the maximum number of slots of a packet. The queue stops while fewer are free, so
    /// `submit` always has room. It never changes.
    fn slots_of_largest(&self) -> u32 {
        1
    }

    /// Returns the [chunks](crate::Chunk) of a GSO packet that it can send. The driver receives no
    /// other chunks. It never changes.
    ///
    /// For each chunk, the driver copies the headers at the start of the frame to its own memory,
    /// and adjusts lengths, sequence number and checksums there. The frame is shared with other
    /// chunks and must stay unchanged.
    #[inline]
    fn chunk_support(&self) -> ChunkSupport {
        ChunkSupport::None
    }

    /// Puts one packet into the ring. Called only while at least
    /// [`slots_of_largest`](Self::slots_of_largest) slots are free. The device need not see the
    /// packet before the next [`kick`](Self::kick).
    ///
    /// # Errors
    /// Returns a packet that this device can never send. The queue drops it
    /// ([`DeviceRefused`](crate::DropReason::DeviceRefused)). A packet that it cannot send at the
    /// moment is stored and sent at a later [`kick`](Self::kick).
    ///
    /// # Panics
    /// It must not panic. If it does and the panic is caught, the packet must not be in the ring.
    /// The queue releases its units and counts it as
    /// [`DeviceRefused`](crate::DropReason::DeviceRefused), but no sink receives it. A panic with a
    /// [chunk](crate::Chunk) also loses the remainder of its GSO packet, and its units stay in
    /// flight until a [`reset`](crate::Queue::reset).
    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet>;

    /// Rings the doorbell for all packets submitted so far.
    ///
    /// # Errors
    /// Submitted packets stay in the ring; the next kick tries again.
    fn kick(&mut self, now_ns: u64) -> Result<(), Self::Error>;
}

/// The contents of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InRing {
    /// Packets submitted and not yet reaped.
    pub packets: u32,
    /// Their bytes, as [`Packet::wire_bytes`].
    pub bytes: u32,
}

/// The completion half of a device's ring.
pub trait Completions {
    /// The error of a reap, which should name the system call, the device and the reason.
    type Error;

    /// Returns the free slots, as seen by this half.
    fn slots_free(&self) -> u32;

    /// Passes up to `budget_packets` completed packets to `freed`, in the order in which the device
    /// completed them. Their slots are free immediately. Returns `true` if the budget ended the
    /// reap with completions pending.
    ///
    /// Return the same [`Packet`] that was submitted. A recreated one was never sent and is an
    /// unknown completion.
    ///
    /// # Errors
    /// Packets that were passed to `freed` before the error stay freed.
    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Self::Error>;

    /// Returns the current contents of the ring, if the driver has them. A queue uses them to
    /// [repair](crate::Queue::repair) its ledger.
    fn in_ring(&self) -> Option<InRing> {
        None
    }

    /// Returns `true` if a completion means that the packet left the device. Called after every
    /// reap; the value can change (see [`EarlyCompletionDetector`]). While it is `false`, the queue
    /// applies no limit, and user interfaces must show that.
    fn completions_valid(&self) -> bool {
        true
    }
}

/// Implements the methods of a ring by those of `$ring`.
macro_rules! forward_tx_ring {
    ($self:ident => $ring:expr) => {
        fn capacity_slots(&$self) -> u32 {
            $ring.capacity_slots()
        }

        #[inline]
        fn slots_free(&$self) -> u32 {
            $ring.slots_free()
        }

        #[inline]
        fn slots_of_largest(&$self) -> u32 {
            $ring.slots_of_largest()
        }

        #[inline]
        fn chunk_support(&$self) -> ChunkSupport {
            $ring.chunk_support()
        }

        #[inline]
        fn submit(&mut $self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
            $ring.submit(packet, now_ns)
        }

        #[inline]
        fn kick(&mut $self, now_ns: u64) -> Result<(), Self::Error> {
            $ring.kick(now_ns)
        }
    };
}

/// Implements the methods of a completion half by those of `$completions`.
macro_rules! forward_completions {
    ($self:ident => $completions:expr) => {
        #[inline]
        fn slots_free(&$self) -> u32 {
            $completions.slots_free()
        }

        #[inline]
        fn reap(
            &mut $self,
            now_ns: u64,
            budget_packets: u32,
            freed: &mut dyn FnMut(Packet),
        ) -> Result<bool, Self::Error> {
            $completions.reap(now_ns, budget_packets, freed)
        }

        fn in_ring(&$self) -> Option<InRing> {
            $completions.in_ring()
        }

        fn completions_valid(&$self) -> bool {
            $completions.completions_valid()
        }
    };
}

/// A pair of halves on one thread is a device.
impl<R: TxRing, C> TxRing for (R, C) {
    type Error = R::Error;

    forward_tx_ring!(self => self.0);
}

impl<R, C: Completions> Completions for (R, C) {
    type Error = C::Error;

    forward_completions!(self => self.1);
}

macro_rules! behind_a_pointer {
    ($($pointer:ty),*) => {$(
        impl<D: TxRing + ?Sized> TxRing for $pointer {
            type Error = D::Error;

            forward_tx_ring!(self => (**self));
        }

        impl<D: Completions + ?Sized> Completions for $pointer {
            type Error = D::Error;

            forward_completions!(self => (**self));
        }
    )*};
}

behind_a_pointer!(Box<D>, &mut D);
