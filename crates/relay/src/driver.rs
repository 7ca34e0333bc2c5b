//! The drivers of a device's transmit queue, by name.

/// The driver of a device's transmit queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "clap", value(rename_all = "snake_case"))]
pub enum Driver {
    /// AF_PACKET transmit ring; frames pass the device's qdisc
    AfPacket,
    /// AF_XDP socket; frames bypass the device's qdisc and enter one device queue
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
