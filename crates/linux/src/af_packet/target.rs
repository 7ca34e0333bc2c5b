//! Opening the transmit ring of a packet socket on a device, again and again.

use std::io;
use std::sync::Arc;

use rustix::net::SocketFlags;
use taut_path::driver::EarlyCompletionDetector;
use taut_path::in_flight::{self, InFlightCompleter, InFlightSender};

use super::doorbell::Doorbell;
use super::socket::open_socket;
use crate::error::{Context, check_range, invalid};
use crate::link;
use crate::netns::NetNs;
use crate::port::ETHERNET_HEADER_BYTES;
use crate::send_buffer;
use crate::sys;
use crate::sys::packet_ring::{Geometry, PacketRing, SlotWriter};
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

/// The sending half's part of a ring. The packet of each slot is stored under its number.
#[derive(Debug)]
pub(super) struct RingTxEnd {
    pub(super) doorbell: Arc<Doorbell>,
    pub(super) in_flight: InFlightSender,
    pub(super) writer: SlotWriter,
    pub(super) frame_limit_bytes: u32,
}

impl RingTarget {
    /// Opens a ring on the device that now has this name; `detector` keeps its state. Returns the
    /// sending half's part, and the packets in flight for the other half.
    pub(super) fn open(
        &self,
        detector: EarlyCompletionDetector,
    ) -> io::Result<(RingTxEnd, InFlightCompleter)> {
        let device = self.device.as_str();
        let at = link::describe(&self.ns, device)?;
        let frame_limit_bytes = at.mtu_bytes.saturating_add(ETHERNET_HEADER_BYTES);
        let geometry = geometry(self.slots, frame_limit_bytes)?;
        let fd = open_socket(&self.ns, device, SocketFlags::NONBLOCK)?;
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        for (call, option, value) in [
            ("PACKET_VERSION", libc::PACKET_VERSION, version),
            ("PACKET_LOSS", libc::PACKET_LOSS, 1),
        ] {
            sys::socket::set_option(&fd, libc::SOL_PACKET, option, value).context(call, device)?;
        }
        send_buffer::widen(&fd, geometry.slots, geometry.slot_bytes)
            .context("SO_SNDBUF", device)?;
        let (writer, ring) = PacketRing::open(&fd, geometry).context("PACKET_TX_RING", device)?;
        sys::socket::bind_packet(&fd, at.index, 0).context("bind", device)?;
        let (in_flight, completer) = in_flight::split(geometry.slots as u32);
        let tx = RingTxEnd {
            doorbell: Arc::new(Doorbell::new(fd, device, ring, detector)),
            in_flight,
            writer,
            frame_limit_bytes,
        };
        Ok((tx, completer))
    }
}

fn geometry(ring_slots: u32, frame_limit_bytes: u32) -> io::Result<Geometry> {
    check_range("ring_slots", ring_slots, 1..=SLOTS_LIMIT)?;
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
