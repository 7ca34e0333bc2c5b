//! The packet descriptor.

mod chunk;
mod tag;

use core::num::{NonZeroU16, NonZeroU32};

pub use chunk::Chunk;
pub(crate) use chunk::MAX_SEGMENTS;
pub(crate) use tag::Tag;

/// The location of a packet's bytes: an index into the pool of the device that owns them.
///
/// Neither `Copy` nor `Clone`: the owner of the value owns the bytes, and returning it twice does
/// not compile.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a frame that is not released to its pool is lost"]
pub struct Frame(u32);

impl Frame {
    /// A frame at `index` of its pool. Only the pool should call this.
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// Returns the index within the pool.
    pub const fn index(&self) -> u32 {
        self.0
    }
}

/// How a GSO packet is segmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmentation {
    /// Bytes of the headers (link, network and transport) of each segment.
    pub header_bytes: u16,
    /// Payload bytes of each segment except the last.
    pub payload_bytes: NonZeroU16,
}

impl Segmentation {
    /// Segments of `payload_bytes` with `header_bytes` of headers each; `None` for a payload of 0,
    /// with which segmentation would not end.
    pub const fn new(header_bytes: u16, payload_bytes: u16) -> Option<Self> {
        match NonZeroU16::new(payload_bytes) {
            Some(payload_bytes) => Some(Self {
                header_bytes,
                payload_bytes,
            }),
            None => None,
        }
    }
}

/// The ECN field of a packet (RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// The transport does not support ECN: only a drop signals congestion.
    #[default]
    NotCapable,
    /// The packet can be marked instead of dropped.
    Capable,
    /// CE: congestion was experienced. The code that writes the bytes into the ring writes the
    /// mark, see [`mark_congestion`](crate::classify::mark_congestion).
    Marked,
}

/// Bit of `Packet::ecn`: the packet is a [`Chunk`], and `charge_bytes` stores its position.
const IS_CHUNK: u8 = 1 << 7;

/// A packet on its way to the device: small, moved and never copied.
///
/// The size and the frame never change after creation: a driver must return the packet that was
/// submitted.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a packet must be handed on or given to a sink, or its frame is lost"]
pub struct Packet {
    /// At least 1; also the niche of `Option<Packet>`, in the field that is read first.
    wire_bytes: NonZeroU32,
    frame: Frame,
    charge_bytes: u32,
    /// Hash of the flow's addresses and ports; equal for all packets of a flow.
    pub flow: u32,
    /// How the packet is segmented, if it is longer than one segment.
    pub segmentation: Option<Segmentation>,
    /// The queue, the epoch and the generation in which it was sent.
    pub(crate) tag: Tag,
    /// Priority 0..=15, as the kernel derives it from the type of service.
    pub priority: u8,
    /// An [`Ecn`] as a number, so that the niche stays in `wire_bytes`; and the bit of a [`Chunk`].
    ecn: u8,
}

// Every place where a packet waits moves it in and out, so its size is part of the cost per packet.
const _: () = assert!(size_of::<Option<Packet>>() == 24);
const _: () = assert!(!core::mem::needs_drop::<Packet>());

impl Packet {
    /// A best-effort packet whose charge equals its size; set the other fields as needed.
    /// `wire_bytes` is its length as one object, which a limit in bytes counts. For a GSO packet,
    /// this includes the headers once, although each segment has them on the wire. A length of 0
    /// counts as 1.
    #[inline]
    pub const fn new(frame: Frame, wire_bytes: u32) -> Self {
        Self {
            wire_bytes: match NonZeroU32::new(wire_bytes) {
                Some(wire_bytes) => wire_bytes,
                None => NonZeroU32::MIN,
            },
            frame,
            charge_bytes: wire_bytes,
            flow: 0,
            segmentation: None,
            tag: Tag::NEVER,
            priority: 0,
            ecn: Ecn::NotCapable as u8,
        }
    }

    /// Sets the charge to `charge_bytes` of memory: the charge on its flow's budget, see
    /// [`Charges`](crate::tsq::Charges), and the memory that a discipline counts.
    pub const fn with_charge(mut self, charge_bytes: u32) -> Self {
        self.charge_bytes = charge_bytes;
        self
    }

    /// Returns the frame with the bytes.
    #[inline]
    pub const fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Returns the length as one object, in bytes. For a GSO packet, this includes the headers
    /// once, although each segment has them on the wire. It is at least 1, so that a queue of empty
    /// objects stops too.
    #[inline]
    pub const fn wire_bytes(&self) -> u32 {
        self.wire_bytes.get()
    }

    /// Returns the ECN state.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        match self.ecn & !IS_CHUNK {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable,
            _ => Ecn::Marked,
        }
    }

    /// Sets the ECN state.
    #[inline]
    pub const fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = self.ecn & IS_CHUNK | ecn as u8;
    }

    #[inline]
    pub(crate) const fn is_chunk(&self) -> bool {
        self.ecn & IS_CHUNK != 0
    }

    /// Returns the memory of the packet, in bytes; 0 for a chunk, because its GSO packet holds it.
    #[inline]
    pub const fn charge_bytes(&self) -> u32 {
        if self.is_chunk() {
            return 0;
        }
        self.charge_bytes
    }

    /// Returns the charge of a packet that is not in the device, which is never a chunk.
    #[inline]
    pub(crate) const fn memory_bytes(&self) -> u32 {
        self.charge_bytes
    }

    /// For a driver that closed its ring and returns the packet without knowing whether it was
    /// sent: its completion counts as [stale](crate::Completed::stale_packets), whether the queue
    /// was reset by then or not. The reset corrects the bytes in flight.
    pub fn mark_stale(&mut self) {
        self.tag.leave_epoch();
    }

    /// Consumes the packet and returns its frame. Not for a chunk, which shares its frame: return
    /// it to the queue, which passes the whole packet to its sink.
    #[inline]
    pub const fn into_frame(self) -> Frame {
        self.frame
    }
}

impl Packet {
    /// A placeholder for an empty slot.
    pub(crate) const NOTHING: Self = Self::new(Frame(u32::MAX), 0);
}

/// Packets as plain numbers, which two threads can share without a lock.
pub(crate) type PacketWords = [u32; 6];

impl Packet {
    /// Returns the packet as numbers.
    #[inline]
    pub(crate) fn into_words(self) -> PacketWords {
        // No segmentation has a payload of 0, so 0 stands for `None`.
        let segmentation = self.segmentation.map_or(0, |segmentation| {
            u32::from(segmentation.header_bytes) << 16 | u32::from(segmentation.payload_bytes.get())
        });
        let small = [self.priority, self.ecn];
        let [priority, ecn] = small.map(u32::from);
        [
            self.wire_bytes.get(),
            self.frame.0,
            self.charge_bytes,
            self.flow,
            segmentation,
            u32::from(self.tag.bits()) << 16 | priority << 8 | ecn,
        ]
    }

    /// Returns the packet from its numbers.
    #[inline]
    pub(crate) fn from_words(words: PacketWords) -> Self {
        let [wire_bytes, frame, charge_bytes, flow, segmentation, small] = words;
        Self {
            wire_bytes: NonZeroU32::new(wire_bytes).unwrap_or(NonZeroU32::MIN),
            frame: Frame(frame),
            charge_bytes,
            flow,
            segmentation: Segmentation::new((segmentation >> 16) as u16, segmentation as u16),
            tag: Tag::from_bits((small >> 16) as u16),
            priority: (small >> 8) as u8,
            ecn: small as u8,
        }
    }
}

/// The reason why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The discipline was at its packet limit.
    QueueFull,
    /// The discipline was at its memory limit.
    MemoryFull,
    /// The packet waited too long, and the drop signals congestion (CoDel).
    WaitedTooLong,
    /// The packet is larger than a limit can count ([`MAX_OBJECT`](taut_dql::MAX_OBJECT) units), or
    /// too much is in flight.
    Uncountable,
    /// The device refused the packet: it is too long, too short, or of an unsupported kind.
    DeviceRefused,
    /// The queue was flushed or closed with the packet in its discipline.
    Flushed,
}

impl DropReason {
    /// All reasons, in the order of the variants: a table of counters has an entry for each.
    pub const ALL: [Self; 6] = [
        Self::QueueFull,
        Self::MemoryFull,
        Self::WaitedTooLong,
        Self::Uncountable,
        Self::DeviceRefused,
        Self::Flushed,
    ];

    /// Returns the name used in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::MemoryFull => "memory_full",
            Self::WaitedTooLong => "waited_too_long",
            Self::Uncountable => "uncountable",
            Self::DeviceRefused => "device_refused",
            Self::Flushed => "flushed",
        }
    }
}

/// Receives every packet at its end: completed by the device, or dropped with a reason.
///
/// Each packet ends here once, except after a panic of the driver
/// ([`TxRing::submit`](crate::TxRing::submit)). By default, the frame of an unknown completion is
/// not released.
pub trait PacketSink {
    /// The device completed the packet.
    fn freed(&mut self, packet: Packet);
    /// The packet was dropped. The device did not see it, except for earlier chunks of a GSO
    /// packet.
    fn dropped(&mut self, packet: Packet, reason: DropReason);
    /// A discipline marked the packet, which stays queued. Not an end: the frame is not returned.
    fn marked(&mut self, _packet: &Packet) {}
    /// A [chunk](Chunk) of a GSO packet completed. Not an end: the whole packet is returned after
    /// its last chunk.
    fn chunk_freed(&mut self, _chunk: &Packet) {}
    /// The remaining segments of a GSO packet were dropped after others were sent: those that
    /// waited, or those that the device refused. Not an end: the whole packet is dropped after its
    /// last chunk completed.
    fn segments_dropped(&mut self, _of: &Packet, _reason: DropReason) {}
    /// The driver returned a packet that this queue never sent. It was forged, perhaps because of a
    /// duplicate completion, or it belongs to another queue, whose frames might be of another pool.
    /// The owner of its frame is unknown, so by default the frame is not released: losing a frame
    /// is better than using it twice.
    fn unknown_completion(&mut self, packet: Packet) {
        let _ = packet;
    }
}

impl<S: PacketSink + ?Sized> PacketSink for &mut S {
    fn freed(&mut self, packet: Packet) {
        (**self).freed(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        (**self).dropped(packet, reason);
    }

    fn marked(&mut self, packet: &Packet) {
        (**self).marked(packet);
    }

    fn chunk_freed(&mut self, chunk: &Packet) {
        (**self).chunk_freed(chunk);
    }

    fn segments_dropped(&mut self, of: &Packet, reason: DropReason) {
        (**self).segments_dropped(of, reason);
    }

    fn unknown_completion(&mut self, packet: Packet) {
        (**self).unknown_completion(packet);
    }
}
