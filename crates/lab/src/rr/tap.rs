//! The frames of one TAP, and the source of a direction: a TAP that is drained into a queue.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

use taut_linux::af_packet::{AfPacketCompletions, AfPacketTx};
use taut_linux::segment::Segmenter;
use taut_linux::{FrameSource, NetNs, Tap, VirtioNetHeader, WriteOutcome, link};
use taut_path::classify::{classify, mark_congestion};
use taut_path::pool::FramePool;
use taut_path::{Chunk, DropReason, Ecn, Frame, Packet, PacketSink};
use taut_relay::source::More;
use taut_relay::{Inlet, Source};

use super::router::{BATCH_PACKETS, Watcher};

/// Frames for a discipline and a ring. A long discipline can need more; then packets of the TAP are
/// dropped here and counted.
const FRAMES: u32 = 16_384;

/// Memory charge of a packet beyond its bytes: the overhead of a queued packet in the kernel, so
/// that budgets are comparable (a 1,514-byte packet charges 2,304).
const BOOKKEEPING_BYTES: u32 = 790;

/// Room for the headers of a chunk: Ethernet, two tags, and IP and TCP with all options.
const HEADERS_BYTES: usize = 256;

/// The frames read from one TAP, shared by its reader, its queue and its driver.
#[derive(Clone)]
pub struct Frames {
    pool: FramePool,
    /// Free frames that were in use before. The last one released is the next one used, so that
    /// only the memory of concurrently used frames is touched. All frames of 64 KB would be a
    /// gigabyte.
    used: Rc<RefCell<Vec<Frame>>>,
}

impl Frames {
    fn take(&self) -> Option<Frame> {
        let used = self.used.borrow_mut().pop();
        used.or_else(|| self.pool.take())
    }

    fn release(&self, frame: Frame) {
        self.used.borrow_mut().push(frame);
    }

    /// Lends the virtio-net header and the frame of `packet`, as read.
    fn with<R>(&self, packet: &Packet, work: impl FnOnce(&mut [u8]) -> R) -> io::Result<R> {
        let length = VirtioNetHeader::BYTES + packet.wire_bytes() as usize;
        let lent = self.pool.with(packet.frame(), |space| {
            let length = length.min(space.len());
            work(&mut space[..length])
        });
        lent.map_err(io::Error::other)
    }

    /// Writes `packet` to `tap`, with its congestion mark if it has one. Segmentation of a GSO
    /// packet copies its header, and a partial TCP checksum does not cover these bits.
    pub fn write(&self, packet: &Packet, tap: &Tap) -> io::Result<WriteOutcome> {
        if let Some(piece) = packet.chunk() {
            return self.write_piece(packet, piece, tap);
        }
        self.with(packet, |bytes| {
            let frame = bytes.get_mut(VirtioNetHeader::BYTES..);
            if let Some(frame) = frame.filter(|_| packet.ecn() == Ecn::Marked) {
                mark_congestion(frame);
            }
            tap.write(bytes)
        })?
    }

    /// Writes some segments of a GSO packet to `tap`, with separate headers. The frame is not
    /// changed.
    fn write_piece(&self, packet: &Packet, piece: Chunk, tap: &Tap) -> io::Result<WriteOutcome> {
        let lent = self.pool.with(packet.frame(), |space| {
            let (header, frame) = VirtioNetHeader::split(space).unwrap_or_default();
            let mut headers = [0; HEADERS_BYTES];
            let parts = Segmenter::within(header, frame).ok().and_then(|cut| {
                cut.piece(frame, piece.first_segment, packet.segments(), &mut headers)
            });
            let Some(parts) = parts else {
                return Ok(WriteOutcome::Rejected);
            };
            let headers = &mut headers[..parts.header_bytes];
            if packet.ecn() == Ecn::Marked {
                mark_congestion(headers);
            }
            tap.write_parts(&[
                IoSlice::new(&parts.header.to_bytes()),
                IoSlice::new(headers),
                IoSlice::new(&frame[parts.payload]),
            ])
        });
        lent.map_err(io::Error::other)?
    }
}

/// Parses the headers of a frame into its descriptor.
fn packet_of(header_and_frame: &[u8]) -> impl FnOnce(Frame) -> Packet + use<> {
    let (header, bytes) = VirtioNetHeader::split(header_and_frame).unwrap_or_default();
    let class = classify(bytes);
    let wire_bytes = bytes.len() as u32;
    // A tunnelled GSO packet is sent whole, as one long frame: it cannot be segmented.
    let segmentation = Segmenter::of(header, bytes)
        .ok()
        .and_then(|cut| cut.segmentation())
        .filter(|cut| usize::from(cut.header_bytes) <= HEADERS_BYTES);
    move |frame| {
        let memory_bytes = wire_bytes + BOOKKEEPING_BYTES;
        let mut packet = Packet::new(frame, wire_bytes).with_charge(memory_bytes);
        packet.segmentation = segmentation;
        packet.priority = class.priority;
        packet.flow = class.flow;
        packet.set_ecn(class.ecn);
        packet
    }
}

impl PacketSink for Frames {
    fn freed(&mut self, packet: Packet) {
        self.release(packet.into_frame());
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.release(packet.into_frame());
    }
}

/// A packet socket requires frames without the virtio-net header.
impl FrameSource for Frames {
    fn copy_to(&self, packet: &Packet, out: &mut [u8]) -> usize {
        let copy = |bytes: &mut [u8]| {
            let bytes = bytes.get(VirtioNetHeader::BYTES..).unwrap_or_default();
            let fits = bytes.len().min(out.len());
            out[..fits].copy_from_slice(&bytes[..fits]);
            bytes.len()
        };
        // An unknown frame has no bytes: too few for any device.
        self.with(packet, copy).unwrap_or(0)
    }
}

/// A TAP that is read immediately, because it has no back-pressure and drops without a report.
pub struct TapSource {
    ns: NetNs,
    pub tap: Rc<Tap>,
    pub frames: Frames,
    /// Packets dropped because every frame was in use.
    no_frame_packets: u64,
}

impl TapSource {
    /// Reads `tap`, a device in `ns`.
    pub fn new(ns: NetNs, tap: Rc<Tap>) -> Self {
        let frames = Frames {
            pool: FramePool::new(FRAMES, tap.read_limit_bytes() as u32),
            used: Rc::default(),
        };
        Self {
            ns,
            tap,
            frames,
            no_frame_packets: 0,
        }
    }

    /// Reads at most [`BATCH_PACKETS`] packets. Returns `true` if more can be waiting.
    pub fn read(&mut self, mut on_packet: impl FnMut(Packet)) -> io::Result<bool> {
        for _ in 0..BATCH_PACKETS {
            let Some(frame) = self.frames.take() else {
                let mut lost = vec![0; self.tap.read_limit_bytes()];
                if self.tap.read(&mut lost)?.is_none() {
                    return Ok(false);
                }
                self.no_frame_packets += 1;
                continue;
            };
            let read = self.frames.pool.with(&frame, |space| {
                let bytes = self.tap.read(space)?;
                Ok(bytes.map(|bytes| packet_of(&space[..bytes])))
            });
            match read.map_err(io::Error::other).and_then(|read| read) {
                Ok(Some(packet)) => on_packet(packet(frame)),
                nothing_or_error => {
                    self.frames.release(frame);
                    return nothing_or_error.map(|_| false);
                }
            }
        }
        Ok(true)
    }

    /// Returns the packets lost before the queue: in the TAP, or without a free frame.
    pub fn lost_packets(&self) -> io::Result<u64> {
        let by_tap = link::statistics(&self.ns, self.tap.name())?.tx_dropped;
        Ok(by_tap + self.no_frame_packets)
    }
}

/// The TAP stays up until the row ends, and the row does not wait for its packets.
impl Source for TapSource {
    type Port = (AfPacketTx<Frames>, AfPacketCompletions);
    type Frames = Frames;
    type Probe = Watcher;

    fn take(&mut self, _now_ns: u64, readable: bool, inlet: &mut Inlet<Self>) -> io::Result<More> {
        let has_more = readable && self.read(|packet| inlet.enqueue(packet))?;
        Ok(if has_more { More::Now } else { More::WhenReady })
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.tap.as_fd())
    }

    fn set_mtu(&mut self, _mtu_bytes: u32) {}

    fn stop(&mut self) {}

    fn is_over(&self) -> bool {
        false
    }
}
