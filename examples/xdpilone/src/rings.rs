//! The rings of xdpilone as those of a taut driver.

use std::convert::Infallible;
use std::ffi::CString;
use std::num::NonZeroU32;

use memmap2::MmapMut;
use taut_linux::frame_ring::{RawRings, TxFrame};
use xdpilone::xdp::XdpDesc;
use xdpilone::{DeviceQueue, IfInfo, RingTx, Socket, SocketConfig, UmemConfig};
use xsk_bench::{Shape, Xsk};

use crate::sys::Memory;

/// Bytes of a frame.
const FRAME_BYTES: u32 = 2048;

/// A socket that sends.
pub struct Rings {
    tx: RingTx,
    device: DeviceQueue,
    memory: Memory,
}

fn descriptor(frame: &TxFrame) -> XdpDesc {
    let addr = u64::from(frame.frame) * u64::from(FRAME_BYTES);
    let (len, options) = (frame.bytes, 0);
    XdpDesc { addr, len, options }
}

impl RawRings for Rings {
    /// `wake` of xdpilone returns no error. The stall detector finds a doorbell without effect.
    type Error = Infallible;

    fn push(&mut self, frames: &[TxFrame]) -> usize {
        let mut writer = self.tx.transmit(frames.len() as u32);
        let pushed = writer.insert(frames.iter().map(descriptor));
        writer.commit();
        pushed as usize
    }

    fn wake(&mut self) -> Result<(), Infallible> {
        if self.tx.needs_wakeup() {
            self.tx.wake();
        }
        Ok(())
    }

    fn untaken(&mut self) -> u32 {
        self.tx.pending()
    }

    fn unread(&mut self) -> u32 {
        self.device.available()
    }

    fn read(&mut self, max: u32, mut completed: impl FnMut(u32)) {
        let mut reader = self.device.complete(max);
        while let Some(address) = reader.read() {
            completed((address / u64::from(FRAME_BYTES)) as u32);
        }
        reader.release();
    }

    fn with_bytes(&mut self, frame: u32, bytes: u32, work: impl FnOnce(&mut [u8])) {
        let start = (frame * FRAME_BYTES) as usize;
        work(&mut self.memory.bytes[start..][..bytes as usize]);
    }
}

impl Xsk for Rings {
    const NAME: &'static str = "xdpilone";

    fn open(device: &str, shape: Shape) -> Result<Self, String> {
        let failed = |call| move |cause| format!("{call} on {device}: {cause}");
        let name = CString::new(device).map_err(|cause| cause.to_string())?;
        let bytes = shape.frames as usize * FRAME_BYTES as usize;
        let bytes = MmapMut::map_anon(bytes).map_err(|cause| format!("mmap: {cause}"))?;
        let config = UmemConfig {
            fill_size: shape.slots,
            complete_size: shape.slots,
            frame_size: FRAME_BYTES,
            ..UmemConfig::default()
        };
        let memory = Memory::register(bytes, config).map_err(failed("umem"))?;
        let mut info = IfInfo::invalid();
        info.from_name(&name).map_err(failed("index"))?;
        let socket = Socket::with_shared(&info, &memory.umem).map_err(failed("socket"))?;
        let device = memory.umem.fq_cq(&socket).map_err(failed("rings"))?;
        let config = SocketConfig {
            rx_size: None,
            tx_size: NonZeroU32::new(shape.slots),
            bind_flags: SocketConfig::XDP_BIND_NEED_WAKEUP,
        };
        let user = memory
            .umem
            .rx_tx(&socket, &config)
            .map_err(failed("rings"))?;
        let tx = user.map_tx().map_err(failed("mmap"))?;
        memory.umem.bind(&user).map_err(failed("bind"))?;
        Ok(Self { tx, device, memory })
    }
}
