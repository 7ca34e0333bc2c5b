//! The descriptor that travels the path.

mod chunk;
mod mark;

use core::num::{NonZeroU16, NonZeroU32};

pub use chunk::Chunk;
pub(crate) use chunk::MAX_SEGMENTS;
pub(crate) use mark::Mark;

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
    /// Bytes of payload in each segment but the last.
    pub payload_bytes: NonZeroU16,
}

impl Segmentation {
    /// Segments of `payload_bytes` behind `header_bytes` each; `None` without payload, which would
    /// never end.
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

/// What explicit congestion notification says of a packet (RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// The transport would not understand a mark: only a drop tells it of congestion.
    #[default]
    NotCapable,
    /// May be marked instead of dropped.
    Capable,
    /// Congestion was experienced. Whoever writes the bytes into the ring writes the mark, see
    /// [`mark_congestion`](crate::classify::mark_congestion).
    Marked,
}

/// Bit of `Packet::ecn`: the packet is a [`Chunk`], and `charge_bytes` are its position.
const IS_CHUNK: u8 = 1 << 7;

/// A packet on its way to the device: small, moved and never copied.
///
/// What a queue counts it by does not change once it is made: a driver hands back what it was
/// given.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a packet must be handed on or given to a sink, or its frame is lost"]
pub struct Packet {
    /// At least 1; the niche for `Option<Packet>`, where the compiler finds it cheap to look.
    wire_bytes: NonZeroU32,
    frame: Frame,
    charge_bytes: u32,
    /// Hash of the flow's addresses and ports; the same for every packet of a flow.
    pub flow: u32,
    /// How the device cuts it, if it is longer than one segment.
    pub segmentation: Option<Segmentation>,
    /// By which queue, and when, it was sent.
    pub(crate) mark: Mark,
    /// Priority 0..=15, as the kernel derives it from the type of service.
    pub priority: u8,
    /// Not an [`Ecn`], which has a niche of its own; and whether it is a [`Chunk`].
    ecn: u8,
}

// Each place where a packet waits moves it in and out: its size is part of the cost of every packet.
const _: () = assert!(size_of::<Option<Packet>>() == 24);
const _: () = assert!(!core::mem::needs_drop::<Packet>());

impl Packet {
    /// A packet of best effort whose memory is just its bytes; set the other fields as needed.
    /// `wire_bytes` is its length as one object, headers once: what a limit in bytes counts; 0 counts as
    /// 1.
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
            mark: Mark::NEVER,
            priority: 0,
            ecn: Ecn::NotCapable as u8,
        }
    }

    /// The same packet, which holds `charge_bytes` of memory: the charge of its flow's budget, see
    /// [`Charges`](crate::tsq::Charges), and what a discipline counts as memory.
    pub const fn with_charge(mut self, charge_bytes: u32) -> Self {
        self.charge_bytes = charge_bytes;
        self
    }

    /// The frame that holds the bytes.
    #[inline]
    pub const fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Length as one object, headers once, in bytes; at least 1, so that a queue of empty objects
    /// stops too.
    #[inline]
    pub const fn wire_bytes(&self) -> u32 {
        self.wire_bytes.get()
    }

    /// Whether it may be marked, or was.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        match self.ecn & !IS_CHUNK {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable,
            _ => Ecn::Marked,
        }
    }

    /// Says whether it may be marked, or marks it.
    #[inline]
    pub const fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = self.ecn & IS_CHUNK | ecn as u8;
    }

    #[inline]
    pub(crate) const fn is_chunk(&self) -> bool {
        self.ecn & IS_CHUNK != 0
    }

    /// Memory that the packet holds, in bytes; 0 for a chunk, whose super-packet holds it.
    #[inline]
    pub const fn charge_bytes(&self) -> u32 {
        if self.is_chunk() {
            return 0;
        }
        self.charge_bytes
    }

    /// The same of what is not in the device, where the chunks are.
    #[inline]
    pub(crate) const fn memory_bytes(&self) -> u32 {
        self.charge_bytes
    }

    /// For a driver that hands the packet back without knowing whether it was sent, because it gave its
    /// ring up: it counts as [stale](crate::Completed::stale_packets), whether the queue was reset by then
    /// or not. What the queue has in flight is put right by the reset.
    pub fn mark_stale(&mut self) {
        self.mark.leave_epoch();
    }

    /// Ends the packet and returns its frame. Not for a chunk, whose frame others have too: return it to
    /// the queue, which passes the whole packet to its sink.
    #[inline]
    pub const fn into_frame(self) -> Frame {
        self.frame
    }
}

impl Packet {
    /// What stands where no packet is.
    pub(crate) const NOTHING: Self = Self::new(Frame(u32::MAX), 0);
}

/// A packet as plain numbers, which two threads can share without a lock.
pub(crate) type PacketWords = [u32; 6];

impl Packet {
    /// The packet as numbers.
    #[inline]
    pub(crate) fn into_words(self) -> PacketWords {
        // Nothing is cut into payloads of 0, so 0 stands for what is not cut.
        let cut = self.segmentation.map_or(0, |cut| {
            u32::from(cut.header_bytes) << 16 | u32::from(cut.payload_bytes.get())
        });
        let small = [self.priority, self.ecn];
        let [priority, ecn] = small.map(u32::from);
        [
            self.wire_bytes.get(),
            self.frame.0,
            self.charge_bytes,
            self.flow,
            cut,
            u32::from(self.mark.bits()) << 16 | priority << 8 | ecn,
        ]
    }

    /// The packet of which `words` were made.
    #[inline]
    pub(crate) fn from_words(words: PacketWords) -> Self {
        let [wire_bytes, frame, charge_bytes, flow, cut, small] = words;
        Self {
            wire_bytes: NonZeroU32::new(wire_bytes).unwrap_or(NonZeroU32::MIN),
            frame: Frame(frame),
            charge_bytes,
            flow,
            segmentation: Segmentation::new((cut >> 16) as u16, cut as u16),
            mark: Mark::from_bits((small >> 16) as u16),
            priority: (small >> 8) as u8,
            ecn: small as u8,
        }
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
    /// The device does not take this packet: too long, too short, or not of its kind.
    DeviceRefused,
    /// The queue was taken down with packets still in it.
    Flushed,
}

impl DropReason {
    /// Every reason, for tables of counters.
    pub const ALL: [Self; 6] = [
        Self::QueueFull,
        Self::MemoryFull,
        Self::WaitedTooLong,
        Self::Uncountable,
        Self::DeviceRefused,
        Self::Flushed,
    ];

    /// The name used in tables and JSON.
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

/// Where every packet ends: completed by the device, or dropped with a reason.
///
/// Its frame is returned here, exactly once.
pub trait PacketSink {
    /// The device is done with the packet.
    fn freed(&mut self, packet: Packet);
    /// The packet was dropped before the device saw it.
    fn dropped(&mut self, packet: Packet, reason: DropReason);
    /// A discipline marked the packet, which goes on its way. Not an end: nothing comes back.
    fn marked(&mut self, _packet: &Packet) {}
    /// A [chunk](Chunk) of a super-packet came back. Not an end: that comes for the whole packet, when the
    /// last of it came back.
    fn chunk_freed(&mut self, _chunk: &Packet) {}
    /// So many segments of a super-packet were dropped after others of it were sent: what waited, or what the
    /// device refused. Not an end: the whole packet is dropped, too, when its last chunk came back.
    fn segments_dropped(&mut self, _of: &Packet, _reason: DropReason) {}
    /// A driver handed back a packet that this queue never sent: it made it up, perhaps because it
    /// completed one twice, or it is of another queue, whose frames may be of another pool. Nobody
    /// knows whose frame that is, so by default it is not given back: rather one frame lost than
    /// one used twice.
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
