//! The drivers of a device's transmit queue, by name.

use std::io;

use taut_linux::af_packet::{AfPacket, PacketConfig};
use taut_linux::af_xdp::{AfXdp, XdpConfig, XdpMode};
use taut_linux::{Frames, NetNs, Port, link};

use crate::interface::LINK_HEADER_BYTES;

/// The driver of a device's transmit queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Driver {
    /// AF_PACKET transmit ring; frames pass the device's qdisc
    #[cfg_attr(feature = "clap", value(name = "af_packet"))]
    AfPacket,
    /// AF_XDP socket; frames bypass the device's qdisc and enter one device queue
    #[cfg_attr(feature = "clap", value(name = "af_xdp"))]
    AfXdp,
}

impl Driver {
    pub const fn name(self) -> &'static str {
        match self {
            Self::AfPacket => "af_packet",
            Self::AfXdp => "af_xdp",
        }
    }
}

/// Settings of a driver's ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    /// Maximum number of packets.
    pub slots: u32,
    /// Number of frames.
    pub frames: u32,
    /// The device's queue, if the driver can select it.
    pub queue: u32,
    /// Never zero-copy.
    pub copy: bool,
}

/// Work with an open device, independent of its driver.
pub trait WithPort {
    type Output;

    fn run<P: Port, F: Frames>(self, port: P, frames: F) -> Self::Output;
}

/// Opens `device` and runs `work` with it. A new driver is a line here.
///
/// # Errors
/// Returns an error if it cannot be opened; `work` has not run then.
pub fn open<W: WithPort>(
    driver: Driver,
    ns: &NetNs,
    device: &str,
    ring: &Ring,
    work: W,
) -> io::Result<W::Output> {
    match driver {
        Driver::AfPacket => {
            let config = PacketConfig {
                slots: ring.slots,
                frames: ring.frames,
            };
            let (tx, completions, frames) = AfPacket::open(ns, device, &config)?;
            Ok(work.run((tx, completions), frames))
        }
        Driver::AfXdp => {
            let mtu_bytes = link::describe(ns, device)?.mtu_bytes;
            let longest_bytes = mtu_bytes.saturating_add(LINK_HEADER_BYTES);
            let config = XdpConfig {
                queue: ring.queue,
                slots: ring.slots,
                frames: ring.frames,
                // Frames of a umem are 2 or 4 KB.
                frame_bytes: if longest_bytes > 2_048 { 4_096 } else { 2_048 },
                budget_packets: ring.slots.max(32),
                mode: match ring.copy {
                    true => XdpMode::Copy,
                    false => XdpMode::Auto,
                },
                ..XdpConfig::default()
            };
            let (tx, completions, frames) = AfXdp::open(ns, device, &config)?;
            Ok(work.run((tx, completions), frames))
        }
    }
}
