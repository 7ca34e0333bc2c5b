//! The ring, the device below it, and the frames: all held by descriptors of this process, so that
//! nothing is left however it ends.

use taut_linux::af_packet::{AfPacket, AfPacketCompletions, AfPacketTx};
use taut_linux::{NetNs, link};
use taut_path::Packet;
use taut_path::pool::FramePool;

use super::super::world::{SERVER_DEVICE, SHAPED_DEVICE, veth_to};
use super::options::TwoThreads;

/// Each packet is a full frame.
pub const PACKET_BYTES: u32 = 1_514;

/// Space for a frame.
const FRAME_BYTES: u32 = 2_048;

/// To the far end, from ours, and an EtherType that nobody answers (local experiments).
const HEADER: [u8; 14] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];

/// The frames, for every thread.
#[derive(Clone)]
pub struct Frames(FramePool);

/// Both halves of the ring, and what must live as long as they.
pub struct Carrier {
    pub tx: AfPacketTx,
    pub completions: AfPacketCompletions,
    pub frames: Frames,
    pub namespaces: [NetNs; 2],
}

impl Carrier {
    /// Makes the device of `options`, with frames for `packets` beyond those of the ring.
    pub fn new(options: &TwoThreads, packets: u32) -> anyhow::Result<Self> {
        let far = NetNs::new()?;
        let near = veth_to(&far, options.rate.0.map(|rate| rate.0))?;
        link::set_up(&far, SERVER_DEVICE)?;
        // A slot is free a moment before its frame is.
        let frames = Frames::new(2 * options.ring + packets, options.seed);
        let (tx, completions) =
            AfPacket::open_with(&near, SHAPED_DEVICE, options.ring, frames.0.clone())?;
        Ok(Self {
            tx,
            completions,
            frames,
            namespaces: [near, far],
        })
    }
}

impl Frames {
    /// So many frames, filled from `seed`: a frame taken again still has its bytes.
    fn new(frames: u32, seed: u64) -> Self {
        let pool = FramePool::new(frames, FRAME_BYTES);
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let taken: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        for frame in taken {
            let fill = |space: &mut [u8]| {
                let bytes = &mut space[..PACKET_BYTES as usize];
                bytes.fill_with(|| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    state as u8
                });
                bytes[..HEADER.len()].copy_from_slice(&HEADER);
            };
            // Each is out, once, and of this pool.
            let _ = pool.with(&frame, fill);
            let _ = pool.give_back(frame);
        }
        Self(pool)
    }

    /// A packet in a free frame, if there is one.
    pub fn packet(&self) -> Option<Packet> {
        let frame = self.0.take()?;
        Some(Packet::new(frame, PACKET_BYTES))
    }

    /// The end of a packet.
    pub fn give_back(&self, packet: Packet) {
        // One that is refused is counted as out for ever, and told of in the end.
        let _ = self.0.give_back(packet.into_frame());
    }

    /// Frames that are somewhere on the path.
    pub fn in_use(&self) -> u64 {
        u64::from(self.0.frames() - self.0.free_frames())
    }
}
