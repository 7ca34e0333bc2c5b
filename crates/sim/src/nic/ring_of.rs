//! The driver of one ring of a NIC with several rings. A NIC is created with the drivers of all its
//! rings.

use core::cell::RefCell;
use core::convert::Infallible;
use std::rc::Rc;

use taut_path::{Completions, InRing, Packet, TxRing};

use super::config::{NicConfig, NicConfigError};
use super::multi::{MultiNic, WireWatch};
use super::ring::Ring;

/// One ring of a [`MultiNic`]: the driver of one queue. A clone is a handle to the same ring, so
/// that one handle can transmit and the other can complete.
pub struct RingOf<W = ()> {
    nic: Rc<RefCell<MultiNic<W>>>,
    ring: usize,
}

// Implemented manually because `W` need not be `Clone`.
impl<W> Clone for RingOf<W> {
    fn clone(&self) -> Self {
        Self {
            nic: self.nic.clone(),
            ring: self.ring,
        }
    }
}

/// A NIC, and the driver of each of its rings.
type WithRings<W> = (Rc<RefCell<MultiNic<W>>>, Vec<RingOf<W>>);

impl MultiNic {
    /// Creates an idle NIC with `rings` rings of the same settings, and their drivers.
    ///
    /// # Errors
    /// As for a NIC with one ring.
    pub fn new(
        config: &NicConfig,
        rings: usize,
    ) -> Result<(Rc<RefCell<Self>>, Vec<RingOf>), NicConfigError> {
        Self::watched(config, rings, (), true)
    }
}

impl<W: WireWatch> MultiNic<W> {
    /// Creates a NIC with a watch, with or without interrupts.
    pub(crate) fn watched(
        config: &NicConfig,
        rings: usize,
        watch: W,
        interrupts: bool,
    ) -> Result<WithRings<W>, NicConfigError> {
        let nic = MultiNic::idle(config, rings, watch, interrupts)?;
        let nic = Rc::new(RefCell::new(nic));
        let driver = |ring| RingOf {
            nic: nic.clone(),
            ring,
        };
        let drivers = (0..rings).map(driver).collect();
        Ok((nic, drivers))
    }
}

impl<W: WireWatch> RingOf<W> {
    #[inline(always)]
    fn with<T>(&self, ask: impl FnOnce(&mut Ring) -> T) -> T {
        ask(self.nic.borrow_mut().ring(self.ring))
    }
}

impl<W: WireWatch> TxRing for RingOf<W> {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.with(|ring| ring.descriptors.slots())
    }

    #[inline]
    fn slots_free(&self) -> u32 {
        self.with(|ring| ring.descriptors.slots_free())
    }

    #[inline]
    fn slots_of_largest(&self) -> u32 {
        self.with(|ring| ring.descriptors.slots_of_largest())
    }

    #[inline(always)]
    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        self.nic.borrow_mut().submit(self.ring, packet, now_ns);
        Ok(())
    }

    fn kick(&mut self, now_ns: u64) -> Result<(), Infallible> {
        self.nic.borrow_mut().kick(self.ring, now_ns);
        Ok(())
    }
}

impl<W: WireWatch> Completions for RingOf<W> {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(self)
    }

    #[inline]
    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        if self.nic.borrow().silent {
            return Ok(false);
        }
        let sent = self.with(|ring| ring.sent);
        let mut bytes = 0;
        for _ in 0..sent.min(budget_packets as usize) {
            // The NIC is not borrowed during the callback.
            let Some(packet) = self.with(Ring::take_first) else {
                break;
            };
            bytes += u64::from(packet.wire_bytes());
            freed(packet);
        }
        let mut nic = self.nic.borrow_mut();
        nic.watch.reported(bytes, now_ns);
        let ring = nic.ring(self.ring);
        ring.reaped();
        Ok(ring.sent > 0)
    }

    fn in_ring(&self) -> Option<InRing> {
        Some(self.with(|ring| ring.in_ring()))
    }
}
