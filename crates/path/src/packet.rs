//! The descriptor that travels the path.

use crate::tsq::Charge;

/// Where a packet's bytes are: an index into the pool of the device that owns them.
///
/// Neither `Copy` nor `Clone`: whoever holds it owns the bytes, and handing it back twice does not
/// compile.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a frame that is not given back to its pool is lost"]
pub struct Frame(u32);

impl Frame {
    /// The frame at `index` of its pool. Only the pool should call this.
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The index within the pool.
    pub const fn index(&self) -> u32 {
        self.0
    }
}

/// How a super-packet is cut into segments on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmentation {
    /// Bytes of headers (link, network and transport) that each segment carries again.
    pub header_bytes: u16,
    /// Bytes of payload in each segment but the last. At least 1.
    pub payload_bytes: u16,
}

/// What explicit congestion notification says of a packet (RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// The transport would not understand a mark: only a drop tells it of congestion.
    #[default]
    NotCapable,
    /// May be marked instead of dropped.
    Capable,
    /// Congestion was experienced. The driver writes the mark into the bytes.
    Marked,
}

/// A packet on its way to the device: small, moved and never copied.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a packet must be handed on or given to a sink, or its frame is lost"]
pub struct Packet {
    frame: Frame,
    /// Length as one object, headers once: what a limit in bytes counts.
    pub wire_bytes: u32,
    /// Memory that the packet holds: what its flow's budget is charged, see [`Flow`](crate::tsq::Flow).
    pub charge_bytes: u32,
    /// How the device cuts it, if it is longer than one segment.
    pub segmentation: Option<Segmentation>,
    /// Priority 0..=15, as the kernel derives it from the type of service.
    pub priority: u8,
    /// Hash of the flow's addresses and ports; the same for every packet of a flow.
    pub flow: u32,
    /// Whether it may be marked, or was.
    pub ecn: Ecn,
    /// The reset epoch in which the transmit queue sent it.
    pub(crate) epoch: u32,
    /// What it took from its flow's budget, if its flow has one; given back when the packet ends.
    pub(crate) charge: Option<Charge>,
    /// It had a charge when the transmit queue sent it.
    pub(crate) was_charged: bool,
}

impl Packet {
    /// A packet of best effort whose memory is just its bytes; set the other fields as needed.
    pub const fn new(frame: Frame, wire_bytes: u32) -> Self {
        Self {
            frame,
            wire_bytes,
            charge_bytes: wire_bytes,
            segmentation: None,
            priority: 0,
            flow: 0,
            ecn: Ecn::NotCapable,
            epoch: 0,
            charge: None,
            was_charged: false,
        }
    }

    /// The frame that holds the bytes.
    pub const fn frame(&self) -> &Frame {
        &self.frame
    }

    /// What it took from its flow's budget.
    pub const fn charge(&self) -> Option<&Charge> {
        self.charge.as_ref()
    }

    /// Parts the packet from its flow: dropping the charge gives the budget back before the packet
    /// ends. What a driver that orphans its packets does, see [`Orphaning`](crate::tsq::Orphaning).
    pub fn take_charge(&mut self) -> Option<Charge> {
        self.charge.take()
    }

    /// Ends the packet: gives back its frame and, to its flow, its charge.
    #[inline]
    pub fn into_frame(self) -> Frame {
        self.frame
    }
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The discipline held as many packets as it may.
    QueueFull,
    /// The discipline held packets of as much memory as it may.
    MemoryFull,
    /// The packet waited too long, and a drop tells its sender (CoDel).
    WaitedTooLong,
    /// The packet is larger than a limit can count
    /// ([`MAX_OBJECT`](taut_dql::MAX_OBJECT) units), or too much is in flight already.
    Uncountable,
    /// The queue was taken down with packets still in it.
    Flushed,
}

impl DropReason {
    /// Every reason, for tables of counters.
    pub const ALL: [Self; 5] = [
        Self::QueueFull,
        Self::MemoryFull,
        Self::WaitedTooLong,
        Self::Uncountable,
        Self::Flushed,
    ];

    /// The name used in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::MemoryFull => "memory_full",
            Self::WaitedTooLong => "waited_too_long",
            Self::Uncountable => "uncountable",
            Self::Flushed => "flushed",
        }
    }
}

/// Where every packet ends: with the device done with it, or dropped with a reason.
///
/// Its frame and its budget come back here, exactly once.
pub trait PacketSink {
    /// The device is done with the packet.
    fn freed(&mut self, packet: Packet);
    /// The packet was dropped before the device saw it.
    fn dropped(&mut self, packet: Packet, reason: DropReason);
    /// A discipline marked the packet, which goes on its way. Not an end: nothing comes back.
    fn marked(&mut self, _packet: &Packet) {}
}
