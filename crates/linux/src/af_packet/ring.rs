//! Opening a transmit ring, and what its two halves share.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use taut_path::driver::TruthJudge;
use taut_path::pool::FramePool;
use taut_path::{InRing, Packet};

use super::completions::AfPacketCompletions;
use super::doorbell::Doorbell;
use super::tx::AfPacketTx;
use super::{ETHERNET_HEADER_BYTES, open_socket};
use crate::error::{failed, invalid};
use crate::frame_source::FrameSource;
use crate::handover::handover;
use crate::link;
use crate::netns::NetNs;
use crate::sys;
use crate::sys::packet_ring::{FRAME_OFFSET, Geometry, SlotReader, SlotWriter};
use crate::vlan;

/// The most slots of a ring; more frames than any hardware ring has.
const SLOTS_LIMIT: u32 = 1 << 16;
/// What the kernel charges the send buffer for a frame beyond its bytes, with room to spare
/// (measured: 790 for 1514 bytes).
const CHARGE_OVERHEAD_BYTES: usize = 1024;

/// The transmit ring of a packet socket.
#[derive(Debug)]
pub struct AfPacket;

/// How a ring is made that brings its own frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketConfig {
    /// Packets that the ring holds, 1 to 65,536. Default 1,024.
    pub slots: u32,
    /// Frames in all, for what is in the ring, what waits for it, and what was handed back and not
    /// filled again. Default 4,096.
    pub frames: u32,
}

impl Default for PacketConfig {
    fn default() -> Self {
        Self {
            slots: 1_024,
            frames: 4_096,
        }
    }
}

impl AfPacket {
    /// Opens a ring on `device`, and makes frames for it: each as long as the device's MTU now, its
    /// Ethernet header and a VLAN tag.
    ///
    /// # Errors
    /// `NotFound` if there is no such device; `PermissionDenied` without CAP_NET_RAW;
    /// `InvalidInput` for a number of slots out of range, or a ring of 4 GiB and more;
    /// `OutOfMemory`.
    pub fn open(
        ns: &NetNs,
        device: &str,
        config: &PacketConfig,
    ) -> io::Result<(AfPacketTx, AfPacketCompletions, FramePool)> {
        let place = Place::new(ns, device, config.slots);
        let opened = place.open(TruthJudge::new())?;
        let frame_bytes = opened.frame_limit_bytes.saturating_add(vlan::TAG_BYTES);
        let frames = FramePool::new(config.frames, frame_bytes);
        let (tx, completions) = halves(place, opened, frames.clone());
        Ok((tx, completions, frames))
    }

    /// Opens a ring of `ring_slots` packets (1..=65536) on `device`, whose frames are in `source`.
    ///
    /// The frames may be as long as the device's MTU now, and its Ethernet header.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_with<F: FrameSource>(
        ns: &NetNs,
        device: &str,
        ring_slots: u32,
        source: F,
    ) -> io::Result<(AfPacketTx<F>, AfPacketCompletions)> {
        let place = Place::new(ns, device, ring_slots);
        let opened = place.open(TruthJudge::new())?;
        Ok(halves(place, opened, source))
    }
}

fn halves<F: FrameSource>(
    place: Place,
    opened: Opened,
    source: F,
) -> (AfPacketTx<F>, AfPacketCompletions) {
    let shared = Arc::clone(&opened.shared);
    let (giver, taker) = handover();
    let tx = AfPacketTx::new(&place.device, place.slots, source, (opened, taker));
    (tx, AfPacketCompletions::new(shared, place, giver))
}

/// Where a ring is opened, again and again.
#[derive(Debug)]
pub(super) struct Place {
    ns: NetNs,
    pub(super) device: String,
    slots: u32,
}

/// What an opening gave.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) shared: Arc<Shared>,
    pub(super) writer: SlotWriter,
    pub(super) frame_limit_bytes: u32,
    pub(super) send_buffer_suffices: bool,
}

impl Place {
    fn new(ns: &NetNs, device: &str, slots: u32) -> Self {
        Self {
            ns: ns.clone(),
            device: device.to_owned(),
            slots,
        }
    }

    /// Opens a ring on the device that has the name now; `judge` goes on from what it knows.
    pub(super) fn open(&self, judge: TruthJudge) -> io::Result<Opened> {
        let device = self.device.as_str();
        let at = link::read_link(&self.ns, device)?;
        let frame_limit_bytes = at.mtu_bytes.saturating_add(ETHERNET_HEADER_BYTES);
        let geometry = geometry(self.slots, frame_limit_bytes)?;
        let named = |call| move |cause| failed(call, device, cause);
        let fd = open_socket(&self.ns, device, libc::SOCK_NONBLOCK)?;
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        for (call, option, value) in [
            ("PACKET_VERSION", libc::PACKET_VERSION, version),
            ("PACKET_LOSS", libc::PACKET_LOSS, 1),
        ] {
            sys::socket::set_option(fd.as_fd(), libc::SOL_PACKET, option, value)
                .map_err(named(call))?;
        }
        let send_buffer_suffices = widen_send_buffer(&fd, geometry).map_err(named("SO_SNDBUF"))?;
        let (writer, reader) =
            sys::packet_ring::open(fd.as_fd(), geometry).map_err(named("PACKET_TX_RING"))?;
        sys::packet::bind(fd.as_fd(), at.index, 0).map_err(named("bind"))?;
        let slots = (0..geometry.slots).map(|_| Mutex::new(None)).collect();
        let shared = Arc::new(Shared {
            doorbell: Doorbell::new(fd, device, reader.clone(), judge),
            reader,
            slots,
            capacity: self.slots,
            submitted: AtomicU64::new(0),
            submitted_bytes: AtomicU32::new(0),
            reaped: AtomicU64::new(0),
            reaped_bytes: AtomicU32::new(0),
        });
        Ok(Opened {
            shared,
            writer,
            frame_limit_bytes,
            send_buffer_suffices,
        })
    }
}

/// What the two halves share. Packets are numbered from 0 as they are submitted; number `n` is in
/// slot `n` modulo the ring.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) doorbell: Doorbell,
    pub(super) reader: SlotReader,
    /// The packet of each slot that is not free. A slot is one half's at a time, so that no lock
    /// is ever waited for.
    slots: Box<[Mutex<Option<Packet>>]>,
    /// Packets in the ring at most: the kernel's slots are a power of two, and may be more.
    capacity: u32,
    /// Packets submitted, and their bytes, wrapping; written by the sending half.
    submitted: AtomicU64,
    submitted_bytes: AtomicU32,
    /// Packets reaped, and their bytes, wrapping; written by the completion half.
    reaped: AtomicU64,
    reaped_bytes: AtomicU32,
}

impl Shared {
    pub(super) fn slots_free(&self) -> u32 {
        self.capacity.saturating_sub(self.packets_in_ring())
    }

    pub(super) fn packets_in_ring(&self) -> u32 {
        let reaped = self.reaped.load(Ordering::Acquire);
        // Submitted is read last, so the difference is never negative.
        (self.submitted() - reaped) as u32
    }

    /// What was submitted and not reaped. Exact for the completion half while nobody submits.
    pub(super) fn in_ring(&self) -> InRing {
        let packets = self.packets_in_ring();
        let submitted = self.submitted_bytes.load(Ordering::Relaxed);
        let reaped = self.reaped_bytes.load(Ordering::Relaxed);
        InRing {
            packets,
            bytes: submitted.wrapping_sub(reaped),
        }
    }

    /// Packets submitted. The slots of all of them are filled.
    pub(super) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    /// Puts down the packet of the next number and makes it known to the other half. Its slot
    /// must be filled already.
    pub(super) fn put(&self, number: u64, packet: Packet) {
        add(&self.submitted_bytes, packet.wire_bytes());
        let slot = &self.slots[self.slot(number) as usize];
        *slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(packet);
        self.submitted.store(number + 1, Ordering::Release);
    }

    /// Picks up the packet of `number`; its slot is free once [`free`](Self::free) was called.
    pub(super) fn pick_up(&self, number: u64) -> Option<Packet> {
        let slot = &self.slots[self.slot(number) as usize];
        let packet = slot
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .take()?;
        add(&self.reaped_bytes, packet.wire_bytes());
        Some(packet)
    }

    /// Frees the slots of all packets below `reaped`.
    pub(super) fn free(&self, reaped: u64) {
        self.reaped.store(reaped, Ordering::Release);
    }

    /// The slot of a packet.
    pub(super) fn slot(&self, number: u64) -> u32 {
        (number % self.slots.len() as u64) as u32
    }
}

/// Adds to a sum that only the calling half writes.
fn add(sum: &AtomicU32, bytes: u32) {
    let before = sum.load(Ordering::Relaxed);
    sum.store(before.wrapping_add(bytes), Ordering::Relaxed);
}

fn geometry(ring_slots: u32, frame_limit_bytes: u32) -> io::Result<Geometry> {
    if !(1..=SLOTS_LIMIT).contains(&ring_slots) {
        return Err(invalid(format!(
            "ring of {ring_slots} slots: 1 to {SLOTS_LIMIT}"
        )));
    }
    let frame_bytes = frame_limit_bytes as usize + vlan::TAG_BYTES as usize;
    let slot_bytes = (FRAME_OFFSET + frame_bytes).next_power_of_two();
    let block_bytes = slot_bytes.max(sys::packet_ring::page_bytes());
    // Whole blocks, of which all sizes are powers of two.
    let slots = (ring_slots as usize)
        .next_power_of_two()
        .max(block_bytes / slot_bytes);
    Ok(Geometry {
        slot_bytes,
        slots,
        block_bytes,
    })
}

/// Makes the send buffer as large as a full ring is charged, as far as allowed, and says whether
/// it is.
///
/// The default (212,992 bytes) takes 93 frames of 1514 bytes. With one that is too small nothing is
/// lost, but what lies beyond it waits in the ring, where the device does not see it.
fn widen_send_buffer(fd: &OwnedFd, ring: Geometry) -> io::Result<bool> {
    let needed = ring.slots * (ring.slot_bytes + CHARGE_OVERHEAD_BYTES);
    let asked = libc::c_int::try_from(needed).unwrap_or(libc::c_int::MAX);
    let set = |option| sys::socket::set_option(fd.as_fd(), libc::SOL_SOCKET, option, asked);
    // The first goes beyond `net.core.wmem_max`, but not from within a user namespace.
    set(libc::SO_SNDBUFFORCE).or_else(|_| set(libc::SO_SNDBUF))?;
    // The kernel doubles what is asked for and shows the double.
    let [has] = sys::socket::option::<1>(fd.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF)?;
    Ok(has as usize >= needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_whole_blocks_of_powers_of_two() {
        let page = sys::packet_ring::page_bytes();
        let ring = geometry(1000, 1514).expect("fits");
        assert_eq!((ring.slot_bytes, ring.slots), (2048, 1024));
        assert_eq!(ring.block_bytes, page.max(2048));
        let small = geometry(1, 82).expect("fits");
        assert_eq!((small.slot_bytes, small.slots), (128, page / 128));
        let jumbo = geometry(3, 65_550).expect("fits");
        assert_eq!((jumbo.slot_bytes, jumbo.slots), (131_072, 4));
        assert!(geometry(0, 1514).is_err());
        assert!(geometry(SLOTS_LIMIT + 1, 1514).is_err());
    }
}
