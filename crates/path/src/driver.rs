//! The seam to a device: two halves, so that two threads can own them.

use crate::packet::Packet;

/// The sending half of a device's ring.
pub trait TxRing {
    /// What the doorbell can fail with; names the system call, the device and the reason.
    type Error;

    /// Slots that can be filled now. The completion half may raise it at any time.
    fn slots_free(&self) -> u32;

    /// Slots that the largest packet can take. The queue stops while fewer are free, so nobody is
    /// left with a packet in hand.
    fn slots_of_largest(&self) -> u32;

    /// Puts one packet into the ring. Called only while at least
    /// [`slots_of_largest`](Self::slots_of_largest) slots are free, so it cannot fail. The device
    /// need not see the packet before the next [`kick`](Self::kick).
    fn submit(&mut self, packet: Packet, now_ns: u64);

    /// Rings the doorbell: everything submitted so far may go.
    ///
    /// # Errors
    /// What was submitted stays in the ring; the next kick tries again.
    fn kick(&mut self, now_ns: u64) -> Result<(), Self::Error>;
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
    /// # Errors
    /// Packets handed out before the error stay handed out.
    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Self::Error>;

    /// Whether a completion means that the packet left the device. Where it does not, a limit on
    /// what is in flight means nothing, and whoever shows the queue must say so.
    fn completions_are_true(&self) -> bool {
        true
    }
}

/// Two halves that live on one thread are a device.
impl<R: TxRing, C> TxRing for (R, C) {
    type Error = R::Error;

    fn slots_free(&self) -> u32 {
        self.0.slots_free()
    }

    fn slots_of_largest(&self) -> u32 {
        self.0.slots_of_largest()
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) {
        self.0.submit(packet, now_ns);
    }

    fn kick(&mut self, now_ns: u64) -> Result<(), Self::Error> {
        self.0.kick(now_ns)
    }
}

impl<R, C: Completions> Completions for (R, C) {
    type Error = C::Error;

    fn slots_free(&self) -> u32 {
        self.1.slots_free()
    }

    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Self::Error> {
        self.1.reap(now_ns, budget_packets, freed)
    }

    fn completions_are_true(&self) -> bool {
        self.1.completions_are_true()
    }
}
