//! The unsafe calls of xsk-rs. Each requires that a frame is not used while the device has it.

use std::num::NonZeroU32;

use xsk_rs::config::{Interface, SocketConfig, UmemConfig};
use xsk_rs::{CompQueue, FillQueue, FrameDesc, Socket, TxQueue, Umem};

/// A socket with its frames. Frames in the device are not accessed: `FrameRing` has their packets.
pub struct Frames {
    pub tx: TxQueue,
    pub completions: CompQueue,
    /// Dropping one queue of a socket closes it.
    _fill: FillQueue,
    umem: Umem,
    frames: Vec<FrameDesc>,
    /// Reused for descriptors of a call.
    batch: Vec<FrameDesc>,
}

impl Frames {
    pub fn open(
        umem_config: UmemConfig,
        config: SocketConfig,
        frames: NonZeroU32,
        device: &Interface,
    ) -> Result<Self, String> {
        let (umem, frames) = Umem::new(umem_config, frames, false).map_err(reason)?;
        // SAFETY: the umem is new, so no socket shares it.
        let (tx, _rx, rings) = unsafe { Socket::new(config, &umem, device, 0) }.map_err(reason)?;
        let (fill, completions) = rings.ok_or("the socket has no completion ring")?;
        let batch = Vec::new();
        Ok(Self {
            tx,
            completions,
            _fill: fill,
            umem,
            frames,
            batch,
        })
    }

    /// Returns the address of the packet in the first frame, and the distance of two frames.
    pub fn layout(&self) -> (usize, usize) {
        let address = |index: usize| self.frames.get(index).map_or(0, FrameDesc::addr);
        (address(0), address(1).saturating_sub(address(0)).max(1))
    }

    /// Sends frames, all or none.
    pub fn produce(&mut self, packets: impl Iterator<Item = (u32, u32)>) -> usize {
        self.batch.clear();
        for (frame, bytes) in packets {
            let mut descriptor = self.frames[frame as usize];
            // SAFETY: the frame is of this umem and not in the device.
            unsafe { self.umem.data_mut(&mut descriptor) }
                .cursor()
                .set_pos(bytes as usize);
            self.batch.push(descriptor);
        }
        // SAFETY: as above. A frame is returned by `consume` before it is sent again.
        unsafe { self.tx.produce(&self.batch) }
    }

    /// Passes the addresses of up to `max` completed frames to `completed`.
    pub fn consume(&mut self, max: usize, mut completed: impl FnMut(usize)) {
        self.batch
            .resize(max.min(self.frames.len()), FrameDesc::default());
        // SAFETY: the completion ring belongs to this umem, and fills the descriptors.
        let count = unsafe { self.completions.consume(&mut self.batch) };
        self.batch[..count]
            .iter()
            .for_each(|descriptor| completed(descriptor.addr()));
    }

    /// Lends the first `bytes` bytes of a frame.
    pub fn with(&mut self, frame: u32, bytes: u32, work: impl FnOnce(&mut [u8])) {
        // SAFETY: the frame is of this umem, and the caller does not use a frame in the device.
        let mut data = unsafe { self.umem.data_mut(&mut self.frames[frame as usize]) };
        data.cursor().set_pos(bytes as usize);
        work(data.contents_mut());
    }
}

/// Returns an error with its cause.
fn reason(error: impl std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
