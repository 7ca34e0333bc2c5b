//! The rings of xsk-rs as those of a taut driver.

use std::io;
use std::num::NonZeroU32;

use taut_linux::frame_ring::{RawRings, TxFrame};
use xsk_bench::{Shape, Xsk};
use xsk_rs::config::{BindFlags, LibxdpFlags, QueueSize, SocketConfig, UmemConfig};

use crate::sys::Frames;

/// A socket that sends.
pub struct Rings {
    frames: Frames,
    slots: u32,
    /// Of the packet in the first frame, in bytes.
    first_address: usize,
    frame_bytes: usize,
}

impl RawRings for Rings {
    type Error = io::Error;

    fn push(&mut self, frames: &[TxFrame]) -> usize {
        self.frames
            .produce(frames.iter().map(|it| (it.frame, it.bytes)))
    }

    fn wake(&mut self) -> io::Result<()> {
        match self.frames.tx.needs_wakeup() {
            true => self.frames.tx.wakeup(),
            false => Ok(()),
        }
    }

    fn untaken(&mut self) -> u32 {
        self.slots - self.frames.tx.nb_free_exact()
    }

    fn unread(&mut self) -> u32 {
        self.frames.completions.nb_avail_exact()
    }

    fn read(&mut self, max: u32, mut completed: impl FnMut(u32)) {
        let (first, frame_bytes) = (self.first_address, self.frame_bytes);
        self.frames.consume(max as usize, |address| {
            completed(((address - first) / frame_bytes) as u32);
        });
    }

    fn with_bytes(&mut self, frame: u32, bytes: u32, work: impl FnOnce(&mut [u8])) {
        self.frames.with(frame, bytes, work);
    }
}

impl Xsk for Rings {
    const NAME: &'static str = "xsk-rs";

    fn open(device: &str, shape: Shape) -> Result<Self, String> {
        let text = |error: &dyn std::error::Error| format!("{device}: {error}");
        let slots = QueueSize::new(shape.slots).map_err(|error| text(&error))?;
        let mut umem_config = UmemConfig::builder();
        umem_config.comp_queue_size(slots).fill_queue_size(slots);
        let umem_config = umem_config.build().map_err(|error| text(&error))?;
        let mut config = SocketConfig::builder();
        config
            .tx_queue_size(slots)
            .rx_queue_size(slots)
            // A program is needed only for receiving.
            .libxdp_flags(LibxdpFlags::XSK_LIBXDP_FLAGS_INHIBIT_PROG_LOAD)
            .bind_flags(BindFlags::XDP_USE_NEED_WAKEUP);
        let count = NonZeroU32::new(shape.frames).ok_or("no frames")?;
        let device = device.parse().map_err(|error| text(&error))?;
        let frames = Frames::open(umem_config, config.build(), count, &device)?;
        let (first_address, frame_bytes) = frames.layout();
        Ok(Self {
            frames,
            slots: shape.slots,
            first_address,
            frame_bytes,
        })
    }
}
