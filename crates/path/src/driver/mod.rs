//! The seam to a device: two halves, so that two threads can own them; and drivers that wrap any
//! driver.
//!
//! Whoever writes a driver finds the rest here too: [`in_flight`](crate::in_flight) keeps packets
//! between `submit` and `reap` (with a whole driver as its example), [`pool`](crate::pool) keeps
//! frames and is the sink; `testing` (feature `testing`) has a device
//! that a test plays itself, and drivers that make mistakes by plan, take the device down and show
//! every call.

mod early_completion;
#[cfg(feature = "testing")]
pub mod testing;

use alloc::boxed::Box;

use crate::packet::Packet;

pub use early_completion::{CompletionStatus, EarlyCompletionDetector};

/// Which chunks of super-packets a driver sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChunkSupport {
    /// None: super-packets go whole.
    #[default]
    None,
    /// Each segment alone: what the device carries is one finished frame. Super-packets cannot go whole.
    SingleSegment,
    /// Any number of segments.
    Any,
}

/// The sending half of a device's ring.
pub trait TxRing {
    /// What the doorbell can fail with; names the system call, the device and the reason. Whoever
    /// shows it wants it to be `Debug` and `Display`.
    type Error;

    /// All slots of the ring, at least [`slots_of_largest`](Self::slots_of_largest) and no more than
    /// the device itself takes. It does not change.
    fn capacity_slots(&self) -> u32;

    /// Slots that can be filled now. The completion half may raise it at any time.
    fn slots_free(&self) -> u32;

    /// Slots that the largest packet can take. The queue stops while fewer are free, so nobody is
    /// left with a packet in hand. It does not change.
    fn slots_of_largest(&self) -> u32 {
        1
    }

    /// Which [chunks](crate::Chunk) of a super-packet it can send: some of its segments, with headers of
    /// their own, written anywhere but into the frame. It is never given others. It does not change.
    #[inline]
    fn chunk_support(&self) -> ChunkSupport {
        ChunkSupport::None
    }

    /// Puts one packet into the ring. Called only while at least
    /// [`slots_of_largest`](Self::slots_of_largest) slots are free. The device need not see the
    /// packet before the next [`kick`](Self::kick).
    ///
    /// # Errors
    /// Gives back a packet that this device can never send, which is then dropped
    /// ([`DeviceRefused`](crate::DropReason::DeviceRefused)). What it cannot send just now it keeps,
    /// and sends at a later [`kick`](Self::kick).
    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet>;

    /// Rings the doorbell: everything submitted so far may go.
    ///
    /// # Errors
    /// What was submitted stays in the ring; the next kick tries again.
    fn kick(&mut self, now_ns: u64) -> Result<(), Self::Error>;
}

/// What a ring holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InRing {
    /// Packets submitted and not handed back.
    pub packets: u32,
    /// Their bytes, as [`Packet::wire_bytes`].
    pub bytes: u32,
}

/// The completion half of a device's ring.
pub trait Completions {
    /// What reaping can fail with; names the system call, the device and the reason.
    type Error;

    /// Slots that can be filled now, as far as this half knows.
    fn slots_free(&self) -> u32;

    /// Takes up to `budget_packets` packets that the device is done with, oldest first, and hands
    /// each to `freed`; its slots are free at once. Returns whether the budget ended the round
    /// while more packets were finished.
    ///
    /// Hand back the [`Packet`] that `submit` was given: one that is made anew was never sent, and
    /// is refused.
    ///
    /// # Errors
    /// Packets handed out before the error stay handed out.
    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Self::Error>;

    /// What the ring holds now, if the driver knows. A queue whose ledger went wrong is
    /// [repaired](crate::Queue::repair) from this.
    fn in_ring(&self) -> Option<InRing> {
        None
    }

    /// Whether a completion means that the packet left the device. Asked in each round, after the
    /// reap: the answer may change ([`EarlyCompletionDetector`] finds it out). While it is no, a limit on what is in
    /// flight means nothing: the queue holds to none, and whoever shows it must say so.
    fn completions_valid(&self) -> bool {
        true
    }
}

/// The methods of a ring, each handed on to the ring that `$ring` is.
macro_rules! forward_tx_ring {
    ($this:ident => $ring:expr) => {
        fn capacity_slots(&self) -> u32 {
            let $this = self;
            $ring.capacity_slots()
        }

        #[inline]
        fn slots_free(&self) -> u32 {
            let $this = self;
            $ring.slots_free()
        }

        #[inline]
        fn slots_of_largest(&self) -> u32 {
            let $this = self;
            $ring.slots_of_largest()
        }

        #[inline]
        fn chunk_support(&self) -> ChunkSupport {
            let $this = self;
            $ring.chunk_support()
        }

        #[inline]
        fn submit(&mut self, packet: $crate::Packet, now_ns: u64) -> Result<(), $crate::Packet> {
            let $this = self;
            $ring.submit(packet, now_ns)
        }

        #[inline]
        fn kick(&mut self, now_ns: u64) -> Result<(), Self::Error> {
            let $this = self;
            $ring.kick(now_ns)
        }
    };
}

/// The methods of a completion half, each handed on to the one that `$completions` is.
macro_rules! forward_completions {
    ($this:ident => $completions:expr) => {
        #[inline]
        fn slots_free(&self) -> u32 {
            let $this = self;
            $completions.slots_free()
        }

        #[inline]
        fn reap(
            &mut self,
            now_ns: u64,
            budget_packets: u32,
            freed: &mut dyn FnMut($crate::Packet),
        ) -> Result<bool, Self::Error> {
            let $this = self;
            $completions.reap(now_ns, budget_packets, freed)
        }

        fn in_ring(&self) -> Option<$crate::driver::InRing> {
            let $this = self;
            $completions.in_ring()
        }

        fn completions_valid(&self) -> bool {
            let $this = self;
            $completions.completions_valid()
        }
    };
}

/// Two halves that live on one thread are a device.
impl<R: TxRing, C> TxRing for (R, C) {
    type Error = R::Error;

    forward_tx_ring!(this => this.0);
}

impl<R, C: Completions> Completions for (R, C) {
    type Error = C::Error;

    forward_completions!(this => this.1);
}

macro_rules! behind_a_pointer {
    ($($pointer:ty),*) => {$(
        impl<D: TxRing + ?Sized> TxRing for $pointer {
            type Error = D::Error;

            forward_tx_ring!(this => (**this));
        }

        impl<D: Completions + ?Sized> Completions for $pointer {
            type Error = D::Error;

            forward_completions!(this => (**this));
        }
    )*};
}

behind_a_pointer!(Box<D>, &mut D);
