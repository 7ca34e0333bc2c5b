//! The sending half.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;

use taut_path::classify::mark_congestion;
use taut_path::driver::EarlyCompletionDetector;
use taut_path::in_flight::InFlightSender;
use taut_path::{Ecn, Packet, TxRing};

use super::line::{Common, Kernel, TxEnd};
use super::socket::XdpSocket;
use super::umem::UmemFrames;
use crate::frames::Frames;
use crate::handover::Taker;
use crate::port::ETHERNET_HEADER_BYTES;
use crate::sys::xdp_ring::Descriptor;
use crate::vlan;

/// The sending half of an AF_XDP socket. Frames are those of the umem and are not copied here. Can
/// run on another thread than the [completing half](super::AfXdpCompletions).
#[derive(Debug)]
pub struct AfXdpTx<K: Kernel = XdpSocket> {
    common: Arc<Common>,
    frames: UmemFrames,
    in_flight: InFlightSender,
    capacity_slots: u32,
    end: RefCell<Taker<TxEnd<K>>>,
    judge: EarlyCompletionDetector,
}

/// Publishes the submitted packets: if the ring stays, the kernel owns them.
fn leave<K: Kernel>(mut end: TxEnd<K>) {
    end.tx.publish();
}

impl<K: Kernel> AfXdpTx<K> {
    pub(super) fn new(
        common: Arc<Common>,
        frames: UmemFrames,
        in_flight: InFlightSender,
        capacity_slots: u32,
        mut end: Taker<TxEnd<K>>,
    ) -> Self {
        // The first end.
        end.update(leave);
        Self {
            common,
            frames,
            in_flight,
            capacity_slots,
            end: RefCell::new(end),
            judge: EarlyCompletionDetector::new(),
        }
    }

    fn takes(&self, packet: &Packet, frame_limit_bytes: u32) -> bool {
        let (frame, bytes) = (packet.frame(), packet.wire_bytes());
        let tag_bytes = || self.frames.with(frame, |bytes| vlan::tag_bytes(bytes));
        let fits = bytes <= frame_limit_bytes
            || bytes <= frame_limit_bytes.saturating_add(tag_bytes().unwrap_or(0));
        let end = self.frames.start(frame.index()).saturating_add(bytes);
        bytes >= ETHERNET_HEADER_BYTES && fits && end <= self.frames.frame_bytes()
    }
}

impl<K: Kernel> TxRing for AfXdpTx<K> {
    type Error = io::Error;

    fn capacity_slots(&self) -> u32 {
        self.capacity_slots
    }

    /// 0 while the socket is being renewed.
    #[inline]
    fn slots_free(&self) -> u32 {
        let mut taker = self.end.borrow_mut();
        taker.update(leave);
        let Some(end) = &mut taker.end else {
            return 0;
        };
        let held = self.in_flight.keys() - self.in_flight.free();
        // Abandoned packets might still be in the ring.
        end.tx.room(self.capacity_slots.saturating_sub(held))
    }

    /// # Errors
    /// Returns a packet that is shorter than an Ethernet header, or longer than the device could
    /// carry when its socket was opened (a VLAN tag does not count). Also returns a packet whose
    /// frame is not taken from this umem.
    #[inline]
    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        let Some(end) = &mut self.end.get_mut().end else {
            return Err(packet);
        };
        if end.tx.room(1) == 0 {
            return Err(packet);
        }
        let frame_limit_bytes = end.line.frame_limit_bytes;
        if !self.takes(&packet, frame_limit_bytes) {
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
        if let Err(packet) = self.in_flight.put(index, packet) {
            self.frames.umem().reclaim(index);
            return Err(packet);
        }
        if let Some(end) = &mut self.end.get_mut().end {
            end.tx.push(descriptor.to_words());
        }
        Ok(())
    }

    /// Packets that the kernel does not take now stay in the ring: see
    /// [`XdpCounters`](super::XdpCounters).
    ///
    /// # Errors
    /// The error of `sendto` on the device, for instance `NetworkDown`, or `ENXIO` if it was
    /// removed.
    #[inline]
    fn kick(&mut self, _now_ns: u64) -> io::Result<()> {
        let taker = self.end.get_mut();
        taker.update(leave);
        let Some(end) = &mut taker.end else {
            return Ok(());
        };
        end.tx.publish();
        let result = end.line.ring(&self.common);
        let taken = end.line.taken();
        let burst = taken.wrapping_sub(std::mem::replace(&mut end.taken, taken));
        let status = self.judge.after_doorbell(burst, end.line.held());
        self.common.set_completion_status(status);
        result
    }
}
