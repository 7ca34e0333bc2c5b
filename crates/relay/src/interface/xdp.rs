//! One AF_XDP socket for both directions, and the program that redirects received packets to it.

use std::io;
use std::os::fd::BorrowedFd;

use taut_linux::af_packet::Promiscuous;
use taut_linux::af_xdp::{
    AfXdp, AfXdpReceiver, ReceiveCounters, Redirect, UmemFrames, XdpConfig, raise_locked_memory,
};
use taut_linux::segment::complete_partial_checksum;
use taut_linux::{CapabilitySet, Frames, NetNs, VirtioNetHeader, effective_capabilities, link};

use super::{Interface, InterfaceConfig, MissedPackets};
use crate::source::Renewal;

/// Frames that the kernel can fill between two polls: 25 ms at 1 Gbit/s. A packet socket has room
/// for about 1,800.
const RECEIVE_FRAMES: u32 = 2_048;
/// Headroom that the kernel reserves in a received frame.
const HEADROOM_BYTES: u32 = 256;
/// The largest frame of a umem, so that the MTU can be raised while the bridge runs.
const FRAME_BYTES: u32 = 4_096;

/// An interface with an AF_XDP socket on its only queue. The kernel's stack does not see the
/// received packets.
///
/// Two sockets of one queue would have to share their umem and its rings, so sender and receiver
/// are parts of one socket.
pub struct XdpInterface {
    ns: NetNs,
    device: String,
    receiver: AfXdpReceiver,
    frames: UmemFrames,
    /// `None` while it is closed.
    promiscuous: Option<Promiscuous>,
    /// Counters of the socket at the last update.
    counted: ReceiveCounters,
    /// Lost packets not reported yet.
    missed: MissedPackets,
}

impl XdpInterface {
    /// Counts the packets that the kernel lost since the last call.
    fn count(&mut self) {
        let Ok(now) = self.receiver.counters() else {
            return;
        };
        let before = std::mem::replace(&mut self.counted, now);
        let lost = now.lost_packets.saturating_sub(before.lost_packets);
        let too_long = now.too_long_packets.saturating_sub(before.too_long_packets);
        self.missed.too_long += too_long.min(lost);
        self.missed.buffer_full += lost.saturating_sub(too_long);
    }
}

impl Interface for XdpInterface {
    const MAX_FRAME_BYTES: u32 = FRAME_BYTES - HEADROOM_BYTES;

    type Port = AfXdp;
    type Frames = UmemFrames;

    fn open(config: &InterfaceConfig<'_>) -> io::Result<(AfXdp, UmemFrames, Self)> {
        let (ns, device) = (config.ns, config.device);
        has_one_queue(ns, device)?;
        check_length(device, config.frame_bytes)?;
        let config = XdpConfig {
            slots: config.ring_slots,
            frames: config.frames.saturating_add(RECEIVE_FRAMES),
            frame_bytes: FRAME_BYTES,
            fill_frames: RECEIVE_FRAMES,
            ..XdpConfig::default()
        };
        let (ring, receiver, frames) = AfXdp::open_both(ns, device, &config, Redirect::Auto)?;
        let interface = Self {
            ns: ns.clone(),
            device: device.to_owned(),
            receiver,
            frames: frames.clone(),
            promiscuous: Some(Promiscuous::open(ns, device)?),
            counted: ReceiveCounters::default(),
            missed: MissedPackets::default(),
        };
        Ok((ring, frames, interface))
    }

    /// A new socket registers its umem again, which is locked memory. The descriptors of the
    /// program and its map stay open, so they need no capability.
    fn kept() -> io::Result<CapabilitySet> {
        let mut kept = CapabilitySet::NET_RAW;
        if raise_locked_memory().is_err() {
            kept |= effective_capabilities()? & CapabilitySet::IPC_LOCK;
        }
        Ok(kept)
    }

    fn reopen(&mut self, renewal: Renewal, port: &mut AfXdp) -> io::Result<()> {
        if renewal == Renewal::AnotherDevice {
            has_one_queue(&self.ns, &self.device)?;
        }
        self.count();
        let reopened = port.reopen_both(&mut self.receiver);
        // A new socket counts from 0; a kept one continues.
        self.counted = self.receiver.counters().unwrap_or_default();
        reopened?;
        if renewal == Renewal::AnotherDevice {
            self.promiscuous = Some(Promiscuous::open(&self.ns, &self.device)?);
        }
        Ok(())
    }

    fn receive(
        &mut self,
        budget_packets: u32,
        take: &mut dyn FnMut(VirtioNetHeader, &mut [u8]),
    ) -> io::Result<bool> {
        if self.promiscuous.is_none() {
            return Ok(false);
        }
        let (frames, missed) = (&self.frames, &mut self.missed);
        let taken = self.receiver.receive(budget_packets, &mut |packet| {
            let bytes = packet.wire_bytes() as usize;
            let lent = frames.with(packet.frame(), |space| match space.get_mut(..bytes) {
                Some(frame) => {
                    // The checksum has no flag, and the peer of a veth leaves it partial.
                    complete_partial_checksum(frame);
                    take(VirtioNetHeader::default(), frame);
                }
                None => missed.too_long += 1,
            });
            // The frame is taken, so it can be lent and released.
            debug_assert!(lent.is_ok(), "{lent:?}");
            let _ = frames.release(packet.into_frame());
        })?;
        Ok(taken == budget_packets)
    }

    fn take_missed(&mut self) -> MissedPackets {
        self.count();
        std::mem::take(&mut self.missed)
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.promiscuous.as_ref().and(self.receiver.fd())
    }

    fn set_device(&mut self, name: &str) {
        name.clone_into(&mut self.device);
    }

    fn close(&mut self) {
        self.promiscuous = None;
    }

    fn remark(&self) -> Option<String> {
        let device = &self.device;
        let (mode, lost) = match self.receiver.redirect()? {
            Redirect::Native => ("native mode", ""),
            _ => (
                "generic mode, because the driver supports no XDP program or not with this MTU",
                ". GSO packets from this host are lost: ethtool -K PEER tso off gso off",
            ),
        };
        Some(format!(
            "{device}: an XDP program redirects all received frames in {mode}. Local sockets \
             receive none of them{lost}"
        ))
    }
}

/// Packets on another queue would reach the kernel instead of the other interface.
fn has_one_queue(ns: &NetNs, device: &str) -> io::Result<()> {
    match link::receive_queues(ns, device)? {
        0 | 1 => Ok(()),
        queues => Err(unsupported(format!(
            "{device} receives on {queues} queues, but af_xdp supports one: `ethtool -L {device} \
             combined 1`, or --driver af_packet"
        ))),
    }
}

fn check_length(device: &str, longest_bytes: u32) -> io::Result<()> {
    let max_bytes = XdpInterface::MAX_FRAME_BYTES;
    if longest_bytes <= max_bytes {
        return Ok(());
    }
    let [mtu_bytes, max_bytes] = [longest_bytes, max_bytes].map(|it| it - super::LINK_HEADER_BYTES);
    Err(unsupported(format!(
        "{device}: MTU is {mtu_bytes} bytes; allowed with af_xdp: at most {max_bytes}; use \
         --driver af_packet"
    )))
}

fn unsupported(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_has_room_for_headroom() {
        check_length("a", 3_840).expect("fits");
        let error = check_length("a", 3_841).expect_err("too long");
        assert!(error.to_string().contains("at most 3818"), "{error}");
    }
}
