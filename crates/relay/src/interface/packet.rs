//! A packet socket for receiving, and a packet ring for sending.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use taut_linux::af_packet::{AfPacket, AfPacketCompletions, AfPacketTx, PacketReceiver};
use taut_linux::segment::remove_jumbo_option;
use taut_linux::{GsoFrames, NetNs, Port, VirtioNetHeader};

use super::{Interface, InterfaceConfig, MissedPackets};
use crate::source::Renewal;

/// An interface with packet sockets.
pub struct PacketInterface {
    ns: NetNs,
    device: String,
    receiver: Option<PacketReceiver>,
    /// The received frame.
    buffer: Vec<u8>,
    /// Packets longer than the buffer, not reported yet.
    too_long_packets: u64,
}

impl PacketInterface {
    /// Binds to the device that now has the name.
    fn listen(&mut self) -> io::Result<()> {
        let receiver = PacketReceiver::open(&self.ns, &self.device)?;
        receiver.set_promiscuous()?;
        self.receiver = Some(receiver);
        Ok(())
    }
}

impl Interface for PacketInterface {
    const MAX_FRAME_BYTES: u32 = u32::MAX;
    const REMARK: Option<&'static str> = Some(
        "af_packet carries frames that exceed the MTU by one 0x8100 tag, but not by an 0x88a8 tag \
         or two tags (too_long_tagged): raise the MTU by 8, or use --driver af_xdp",
    );

    type Port = (AfPacketTx<GsoFrames>, AfPacketCompletions);
    type Frames = GsoFrames;

    fn open(config: &InterfaceConfig<'_>) -> io::Result<(Self::Port, GsoFrames, Self)> {
        let frames = GsoFrames::new(config.frames, config.frame_bytes, config.gso_packets);
        let (ns, device) = (config.ns, config.device);
        let port = AfPacket::open_with(ns, device, config.ring_slots, frames.clone())?;
        let mut interface = Self {
            ns: ns.clone(),
            device: device.to_owned(),
            receiver: None,
            buffer: vec![0; PacketReceiver::READ_LIMIT_BYTES],
            too_long_packets: 0,
        };
        interface.listen()?;
        Ok((port, frames, interface))
    }

    /// On the same device, the receiver stays open.
    fn reopen(&mut self, renewal: Renewal, port: &mut Self::Port) -> io::Result<()> {
        if renewal == Renewal::AnotherDevice {
            self.listen()?;
        }
        port.reopen()
    }

    fn receive(
        &mut self,
        budget_packets: u32,
        take: &mut dyn FnMut(VirtioNetHeader, &mut [u8]),
    ) -> io::Result<bool> {
        let Some(receiver) = &self.receiver else {
            return Ok(false);
        };
        for _ in 0..budget_packets {
            let bytes = match receiver.read(&mut self.buffer) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    self.too_long_packets += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let bytes = &mut self.buffer[..bytes];
            // It has a header, because the receiver requested one.
            let header = VirtioNetHeader::split(bytes).map(|(header, _)| header);
            let frame = &mut bytes[VirtioNetHeader::BYTES..];
            let (header, skipped) = remove_jumbo_option(header.unwrap_or_default(), frame);
            take(header, &mut frame[skipped..]);
        }
        Ok(true)
    }

    fn take_missed(&mut self) -> MissedPackets {
        let missed = self.receiver.as_ref().map(PacketReceiver::take_dropped);
        MissedPackets {
            buffer_full: missed.and_then(Result::ok).unwrap_or(0).into(),
            too_long: std::mem::take(&mut self.too_long_packets),
        }
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.receiver.as_ref().map(AsFd::as_fd)
    }

    fn set_device(&mut self, name: &str) {
        name.clone_into(&mut self.device);
    }

    fn close(&mut self) {
        self.receiver = None;
    }
}
