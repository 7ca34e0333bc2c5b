//! The drivers of a NIC: that of its only ring is the NIC itself, and several rings have one each.

use core::cell::RefCell;
use core::convert::Infallible;
use std::rc::Rc;

use taut_path::driver::ChunkSupport;
use taut_path::{Completions, Packet, TxRing};

use super::WireWatch;
use super::config::NicConfig;
use super::descriptors::NicConfigError;
use super::emulated::{EmulatedNic, SharedNic};
use super::ring::Ring;

/// One ring of a shared [`SharedNic`]: the driver of one queue. A clone is a handle to the same
/// ring, so that one handle can transmit and the other can complete. The callback of `reap` must
/// not use the NIC.
pub struct RingOf<W = ()> {
    nic: Rc<RefCell<SharedNic<W>>>,
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
type WithRings<W> = (Rc<RefCell<SharedNic<W>>>, Vec<RingOf<W>>);

impl<W: WireWatch> SharedNic<W> {
    /// Creates an idle NIC with `rings` rings of the same settings, with or without interrupts, and
    /// the drivers of its rings.
    ///
    /// # Errors
    /// As for a NIC with one ring.
    pub fn shared(
        config: &NicConfig,
        rings: usize,
        watch: W,
        interrupts: bool,
    ) -> Result<WithRings<W>, NicConfigError> {
        let ring = |number: u64| -> Result<Ring, NicConfigError> {
            let mut ring = Ring::new(config, config.seed.wrapping_add(number))?;
            ring.quiet_until_ns = config.interrupt.period_ns / rings as u64 * number;
            Ok(ring)
        };
        let all = (0..rings as u64).map(ring).collect::<Result<_, _>>()?;
        let nic = Rc::new(RefCell::new(Self::idle(config, all, watch, interrupts)?));
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
        ask(&mut self.nic.borrow_mut().rings[self.ring])
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
        self.nic.borrow_mut().submit_to(self.ring, packet, now_ns);
        Ok(())
    }

    fn kick(&mut self, now_ns: u64) -> Result<(), Infallible> {
        self.nic.borrow_mut().kick_ring(self.ring, now_ns);
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
        let mut nic = self.nic.borrow_mut();
        if nic.silent {
            return Ok(false);
        }
        let mut bytes = 0;
        let more = nic.rings[self.ring].reap(budget_packets, &mut |packet| {
            bytes += u64::from(packet.wire_bytes());
            freed(packet);
        });
        nic.watch.reported(bytes, now_ns);
        Ok(more)
    }
}

impl TxRing for EmulatedNic {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.rings[0].descriptors.slots()
    }

    #[inline]
    fn slots_free(&self) -> u32 {
        self.rings[0].descriptors.slots_free()
    }

    #[inline]
    fn slots_of_largest(&self) -> u32 {
        self.rings[0].descriptors.slots_of_largest()
    }

    #[inline]
    fn chunk_support(&self) -> ChunkSupport {
        ChunkSupport::Any
    }

    // Inlined so that a packet is written to its slot once.
    #[inline(always)]
    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        self.submit_to(0, packet, now_ns);
        Ok(())
    }

    #[inline]
    fn kick(&mut self, now_ns: u64) -> Result<(), Infallible> {
        self.kick_ring(0, now_ns);
        Ok(())
    }
}

impl Completions for EmulatedNic {
    type Error = Infallible;

    #[inline]
    fn slots_free(&self) -> u32 {
        TxRing::slots_free(self)
    }

    #[inline]
    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        Ok(self.rings[0].reap(budget_packets, freed))
    }
}
