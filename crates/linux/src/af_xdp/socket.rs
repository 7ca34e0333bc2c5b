//! Opening an AF_XDP socket: its umem, its four rings, its queue.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread;

use rustix::net::sockopt::{
    set_xdp_rx_ring_size, set_xdp_tx_ring_size, set_xdp_umem_completion_ring_size,
    set_xdp_umem_fill_ring_size, set_xdp_umem_reg, xdp_mmap_offsets, xdp_options,
};
use rustix::net::xdp::{
    SocketAddrXdp, XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING, XDP_UMEM_PGOFF_COMPLETION_RING,
    XDP_UMEM_PGOFF_FILL_RING, XdpMmapOffsets, XdpOptionsFlags, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send};

use super::bind::bind;
use super::config::{Redirect, XdpConfig};
use super::line::{Kernel, Line, Opener};
use super::program::Program;
use super::raise_locked_memory;
use super::umem::UmemFrames;
use crate::error::{Context, XDP_UMEM_REG, failed_with};
use crate::frames::Frames;
use crate::link;
use crate::netns::NetNs;
use crate::port::ETHERNET_HEADER_BYTES;
use crate::send_buffer;
use crate::shared_ring::{Consumer, Producer};
use crate::sys;
use crate::sys::xdp_ring::MappedRing;

/// Maximum number of frames that one send moves (`XDP_MAX_TX_SKB_BUDGET`, Linux 6.18; not in libc).
const MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// A bound socket.
#[derive(Debug)]
pub struct XdpSocket {
    /// Shared with the receiver.
    fd: Arc<OwnedFd>,
    is_zero_copy: bool,
}

impl Kernel for XdpSocket {
    type Tx = MappedRing<2>;
    type Completion = MappedRing<1>;

    fn wake(&self) -> io::Result<()> {
        send(&self.fd, &[], SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?;
        Ok(())
    }

    fn is_zero_copy(&self) -> bool {
        self.is_zero_copy
    }

    fn is_shared(&self) -> bool {
        Arc::strong_count(&self.fd) > 1
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The rings for receiving.
#[derive(Debug)]
pub(super) struct ReceiveRings {
    pub(super) fill: Producer<MappedRing<1>>,
    pub(super) rx: Consumer<MappedRing<2>>,
}

/// The receiver's part of a socket.
#[derive(Debug)]
pub(super) struct ReceiveEnd {
    pub(super) rings: ReceiveRings,
    pub(super) fd: Arc<OwnedFd>,
    pub(super) redirect: Redirect,
}

/// Opens sockets repeatedly, for the same queue and the same use.
#[derive(Debug)]
pub struct SocketOpener {
    ns: NetNs,
    device: String,
    config: XdpConfig,
    frames: UmemFrames,
    /// Frames that the kernel owns while the driver exists: those in the FILL ring of a socket
    /// that does not receive.
    fill_frames: Vec<u32>,
    /// The program that redirects packets to the receiver.
    program: Option<Program>,
    /// The receiver's part of the last socket, until the receiver takes it.
    pub(super) receive_end: Option<ReceiveEnd>,
    /// The index of the device to which the socket is bound.
    index: u32,
}

impl SocketOpener {
    /// Prepares sockets of `device`, which receive if there is a `program`.
    pub(super) fn new(
        ns: &NetNs,
        device: &str,
        config: &XdpConfig,
        frames: &UmemFrames,
        program: Option<Program>,
    ) -> Self {
        let filled = match program {
            Some(_) => 0,
            None => config.fill_frames,
        };
        let taken = (0..filled).map_while(|_| frames.take());
        let fill_frames: Vec<u32> = taken.map(|frame| frame.index()).collect();
        for &index in &fill_frames {
            frames.umem().to_device(index);
        }
        Self {
            ns: ns.clone(),
            device: device.to_owned(),
            config: *config,
            frames: frames.clone(),
            fill_frames,
            program,
            receive_end: None,
            index: 0,
        }
    }

    /// Opens a socket and binds it to the device, with the modes that the configuration allows.
    fn open_bound(&self, mtu_bytes: u32) -> io::Result<(Line<XdpSocket>, ReceiveRings)> {
        // If the limit cannot be raised, the default might still suffice.
        let _ = raise_locked_memory();
        let frame_limit_bytes = mtu_bytes
            .saturating_add(ETHERNET_HEADER_BYTES)
            .min(self.frames.frame_bytes());
        let attempt = |flags| {
            let address = SocketAddrXdp::new(flags, self.index, self.config.queue);
            self.attempt(&address, frame_limit_bytes)
        };
        bind(self.config.mode, attempt, thread::sleep)
    }

    fn attempt(
        &self,
        address: &SocketAddrXdp,
        frame_limit_bytes: u32,
    ) -> io::Result<(Line<XdpSocket>, ReceiveRings)> {
        let device = &self.device;
        let (kind, flags) = (SocketType::RAW, SocketFlags::empty());
        let fd = self.ns.socket(AddressFamily::XDP, kind, flags)?;
        let fd = fd.context("socket AF_XDP", device)?;
        set_xdp_umem_reg(&fd, self.umem_registration())
            .map_err(|cause| failed_with(XDP_UMEM_REG, device, cause, self.memory()))?;
        self.set_ring_sizes(&fd)?;
        self.widen(&fd);
        let offsets = xdp_mmap_offsets(&fd).context("XDP_MMAP_OFFSETS", device)?;
        let (tx, completion, receive) =
            (self.map_rings(&fd, &offsets)).context("mmap AF_XDP ring", device)?;
        rustix::net::bind(&fd, address)
            .map_err(|cause| failed_with("bind", device, cause, self.which_queue()))?;
        let options = xdp_options(&fd).context("XDP_OPTIONS", device)?;
        let is_zero_copy = options.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY);
        let fd = Arc::new(fd);
        let kernel = XdpSocket { fd, is_zero_copy };
        let line = Line::new(kernel, frame_limit_bytes, tx, completion);
        Ok((line, receive))
    }

    /// The frames. The kernel keeps the pages until the socket is closed; the states of the umem
    /// separate its writes from ours.
    fn umem_registration(&self) -> XdpUmemReg {
        let umem = self.frames.umem();
        XdpUmemReg {
            addr: umem.address(),
            len: umem.bytes(),
            chunk_size: umem.frame_bytes(),
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        }
    }

    fn set_ring_sizes(&self, fd: &OwnedFd) -> io::Result<()> {
        let (slots, fill_slots) = (self.config.ring_slots(), self.config.fill_slots());
        let device = &self.device;
        set_xdp_umem_fill_ring_size(fd, fill_slots).context("XDP_UMEM_FILL_RING", device)?;
        set_xdp_umem_completion_ring_size(fd, slots).context("XDP_UMEM_COMPLETION_RING", device)?;
        set_xdp_rx_ring_size(fd, fill_slots).context("XDP_RX_RING", device)?;
        set_xdp_tx_ring_size(fd, slots).context("XDP_TX_RING", device)
    }

    /// Maps the TX and COMPLETION rings, and those of a receiver.
    fn map_rings(
        &self,
        fd: &OwnedFd,
        at: &XdpMmapOffsets,
    ) -> io::Result<(Arc<MappedRing<2>>, Arc<MappedRing<1>>, ReceiveRings)> {
        let (slots, fill_slots) = (self.config.ring_slots(), self.config.fill_slots());
        let fill = MappedRing::map(fd, XDP_UMEM_PGOFF_FILL_RING, &at.fr, fill_slots)?;
        let rx = MappedRing::map(fd, XDP_PGOFF_RX_RING, &at.rx, fill_slots)?;
        let tx = MappedRing::map(fd, XDP_PGOFF_TX_RING, &at.tx, slots)?;
        let completion = MappedRing::map(fd, XDP_UMEM_PGOFF_COMPLETION_RING, &at.cr, slots)?;
        let (fill, rx) = (Producer::new(fill), Consumer::new(rx));
        Ok((tx, completion, ReceiveRings { fill, rx }))
    }

    /// Describes the memory of a rejected umem.
    fn memory(&self) -> String {
        let kilobytes = self.frames.umem().bytes() >> 10;
        format!(
            "cannot lock {kilobytes} KB for {} frames: raise RLIMIT_MEMLOCK (`ulimit -l`) or grant \
             CAP_IPC_LOCK",
            self.frames.umem().frames()
        )
    }

    fn which_queue(&self) -> String {
        let queue = self.config.queue;
        match link::socket_queues(&self.ns, &self.device) {
            Some(1) if queue > 0 => format!("no queue {queue}: the device has only queue 0"),
            Some(queues) if queue >= queues => {
                format!(
                    "no queue {queue}: the device has queues 0 to {}",
                    queues - 1
                )
            }
            _ => format!("queue {queue} of the device, counted from 0"),
        }
    }

    /// Raises the socket's limits so that it takes a full ring at once, if the kernel permits.
    fn widen(&self, fd: &OwnedFd) {
        let (slots, frame_bytes) = (self.config.ring_slots(), self.config.frame_bytes);
        // Not supported before Linux 6.18: the doorbell is rung more often then.
        let _ = sys::socket::set_option(fd, libc::SOL_XDP, MAX_TX_SKB_BUDGET, slots);
        let _ = send_buffer::widen(fd, slots as usize, frame_bytes as usize);
    }

    /// Sets the name of the device after it was renamed.
    pub(super) fn set_device(&mut self, name: &str) {
        name.clone_into(&mut self.device);
    }

    /// Detaches the program from a device that was removed or moved.
    pub(super) fn release_device(&mut self) {
        // The index of no device: that of the next one can be the same.
        self.index = 0;
        if let Some(program) = &mut self.program {
            program.detach();
        }
    }
}

impl Opener for SocketOpener {
    type Kernel = XdpSocket;

    fn is_current(&self) -> bool {
        let index = link::index(&self.ns, &self.device);
        index.is_ok_and(|index| index == self.index)
    }

    fn device(&self) -> &str {
        &self.device
    }

    fn release_receive_end(&mut self) {
        self.receive_end = None;
    }

    fn open(&mut self) -> io::Result<Line<XdpSocket>> {
        let at = link::describe(&self.ns, &self.device)?;
        self.index = at.index;
        let (line, mut rings) = self.open_bound(at.mtu_bytes)?;
        for &index in &self.fill_frames {
            rings.fill.push([self.frames.whole_frame(index)]);
        }
        rings.fill.publish();
        // Without a receiver the rings are unmapped, but the kernel keeps them with the socket.
        if let Some(program) = &mut self.program {
            let place = (&self.ns, self.device.as_str(), self.index);
            let fd = line.kernel.fd.clone();
            let redirect = program.serve(place, self.config.queue, fd.as_fd())?;
            self.receive_end = Some(ReceiveEnd {
                rings,
                fd,
                redirect,
            });
        }
        Ok(line)
    }
}
