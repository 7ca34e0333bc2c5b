//! Opening the transmit ring of a packet socket on a device, again and again.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::net::SocketFlags;
use taut_path::driver::EarlyCompletionDetector;
use taut_path::in_flight::{self, InFlightCompleter, InFlightSender};

use super::doorbell::Doorbell;
use super::socket::open_socket;
use crate::error::{failed, invalid};
use crate::link;
use crate::netns::NetNs;
use crate::port::ETHERNET_HEADER_BYTES;
use crate::send_buffer;
use crate::sys;
use crate::sys::packet_ring::{Geometry, SlotWriter};
use crate::vlan;

/// The most slots of a ring; more frames than any hardware ring has.
const SLOTS_LIMIT: u32 = 1 << 16;

/// Settings to open a ring repeatedly.
#[derive(Debug)]
pub(super) struct RingTarget {
    pub(super) ns: NetNs,
    pub(super) device: String,
    /// Maximum number of packets in the ring. The kernel's slots are a power of two, and can be
    /// more.
    pub(super) slots: u32,
}

/// The sending half's part of a ring.
#[derive(Debug)]
pub(super) struct RingTxEnd {
    pub(super) doorbell: Arc<Doorbell>,
    pub(super) in_flight: InFlightSender,
    pub(super) writer: SlotWriter,
    pub(super) frame_limit_bytes: u32,
}

/// The completing half's part of a ring. The packet of each slot is stored under its number.
#[derive(Debug)]
pub(super) struct RingCompletionEnd {
    pub(super) doorbell: Arc<Doorbell>,
    pub(super) in_flight: InFlightCompleter,
}

impl RingTarget {
    /// Opens a ring on the device that now has this name; `detector` keeps its state.
    pub(super) fn open(
        &self,
        detector: EarlyCompletionDetector,
    ) -> io::Result<(RingTxEnd, RingCompletionEnd)> {
        let device = self.device.as_str();
        let at = link::describe(&self.ns, device)?;
        let frame_limit_bytes = at.mtu_bytes.saturating_add(ETHERNET_HEADER_BYTES);
        let geometry = geometry(self.slots, frame_limit_bytes)?;
        let named = |call| move |cause| failed(call, device, cause);
        let fd = open_socket(&self.ns, device, SocketFlags::NONBLOCK)?;
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        for (call, option, value) in [
            ("PACKET_VERSION", libc::PACKET_VERSION, version),
            ("PACKET_LOSS", libc::PACKET_LOSS, 1),
        ] {
            sys::socket::set_option(fd.as_fd(), libc::SOL_PACKET, option, value)
                .map_err(named(call))?;
        }
        send_buffer::widen(&fd, geometry.slots(), geometry.slot_bytes())
            .map_err(|cause| failed("SO_SNDBUF", device, cause))?;
        let (writer, reader) =
            sys::packet_ring::open(fd.as_fd(), geometry).map_err(named("PACKET_TX_RING"))?;
        sys::packet::bind(fd.as_fd(), at.index, 0).map_err(named("bind"))?;
        let doorbell = Arc::new(Doorbell::new(fd, device, reader, detector));
        let (sender, completer) = in_flight::split(geometry.slots() as u32);
        let tx = RingTxEnd {
            doorbell: Arc::clone(&doorbell),
            in_flight: sender,
            writer,
            frame_limit_bytes,
        };
        let completion = RingCompletionEnd {
            doorbell,
            in_flight: completer,
        };
        Ok((tx, completion))
    }
}

fn geometry(ring_slots: u32, frame_limit_bytes: u32) -> io::Result<Geometry> {
    if !(1..=SLOTS_LIMIT).contains(&ring_slots) {
        return Err(invalid(format!(
            "ring_slots is {ring_slots}; allowed: 1 to {SLOTS_LIMIT}"
        )));
    }
    let frame_bytes = frame_limit_bytes.saturating_add(vlan::TAG_BYTES);
    let geometry = Geometry::new(ring_slots, frame_bytes);
    geometry.ok_or_else(|| {
        invalid(format!(
            "ring_slots is {ring_slots}, with frames of {frame_bytes} bytes; allowed: below 4 GiB"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_out_of_range_are_rejected() {
        for slots in [0, SLOTS_LIMIT + 1] {
            assert!(geometry(slots, 1514).is_err(), "{slots}");
        }
        assert!(geometry(SLOTS_LIMIT, 1514).is_ok());
    }
}
