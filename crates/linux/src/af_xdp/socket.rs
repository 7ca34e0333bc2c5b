//! Opening an AF_XDP socket: its umem, its four rings, its queue.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread;

use rustix::io::Errno;
use rustix::net::sockopt::{
    set_xdp_rx_ring_size, set_xdp_tx_ring_size, set_xdp_umem_completion_ring_size,
    set_xdp_umem_fill_ring_size, set_xdp_umem_reg, xdp_mmap_offsets, xdp_options,
};
use rustix::net::xdp::{SocketAddrXdp, XdpOptionsFlags, XdpUmemReg, XdpUmemRegFlags};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socket_with};

use super::bind::bind;
use super::config::XdpConfig;
use super::line::{Kernel, SocketEnds, ends};
use super::raise_locked_memory;
use super::umem::UmemFrames;
use crate::error::{XDP_UMEM_REG, failed, failed_with, naming};
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
    fd: OwnedFd,
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

/// The mapped TX and COMPLETION rings, and those of a receiver.
type MappedRings = (Arc<MappedRing<2>>, Arc<MappedRing<1>>, ReceiveRings);

/// Settings to open a socket repeatedly.
#[derive(Debug)]
pub(super) struct SocketTarget {
    pub(super) ns: NetNs,
    pub(super) device: String,
    pub(super) config: XdpConfig,
    pub(super) frames: UmemFrames,
}

impl SocketTarget {
    /// Opens a socket and binds it to the device `index`, with the modes that the configuration
    /// allows.
    pub(super) fn open(&self, index: u32) -> io::Result<(SocketEnds<XdpSocket>, ReceiveRings)> {
        // If the limit cannot be raised, the default might still suffice.
        let _ = raise_locked_memory();
        let mtu_bytes = link::describe(&self.ns, &self.device)?.mtu_bytes;
        let frame_limit_bytes = mtu_bytes
            .saturating_add(ETHERNET_HEADER_BYTES)
            .min(self.frames.frame_bytes());
        let attempt = |flags| {
            let address = SocketAddrXdp::new(flags, index, self.config.queue);
            self.attempt(&address, frame_limit_bytes)
        };
        bind(self.config.mode, attempt, thread::sleep)
    }

    fn attempt(
        &self,
        address: &SocketAddrXdp,
        frame_limit_bytes: u32,
    ) -> io::Result<(SocketEnds<XdpSocket>, ReceiveRings)> {
        let fd = (self.ns)
            .run(|| {
                let flags = SocketFlags::CLOEXEC;
                socket_with(AddressFamily::XDP, SocketType::RAW, flags, None)
            })?
            .map_err(naming("socket AF_XDP", &self.device))?;
        set_xdp_umem_reg(&fd, self.umem_registration())
            .map_err(|cause| failed_with(XDP_UMEM_REG, &self.device, cause, self.memory()))?;
        self.set_ring_sizes(fd.as_fd())?;
        self.widen(fd.as_fd());
        let (tx, completion, receive) = self.map_rings(fd.as_fd())?;
        rustix::net::bind(&fd, address)
            .map_err(|cause| failed_with("bind", &self.device, cause, self.which_queue()))?;
        let options = xdp_options(&fd).map_err(naming("XDP_OPTIONS", &self.device))?;
        let is_zero_copy = options.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY);
        let socket = XdpSocket { fd, is_zero_copy };
        Ok((ends(socket, frame_limit_bytes, tx, completion), receive))
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

    fn set_ring_sizes(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let (slots, fill_slots) = (self.config.ring_slots(), self.config.fill_slots());
        let named = |call| move |cause: Errno| failed(call, &self.device, cause);
        set_xdp_umem_fill_ring_size(fd, fill_slots).map_err(named("XDP_UMEM_FILL_RING"))?;
        set_xdp_umem_completion_ring_size(fd, slots).map_err(named("XDP_UMEM_COMPLETION_RING"))?;
        set_xdp_rx_ring_size(fd, fill_slots).map_err(named("XDP_RX_RING"))?;
        set_xdp_tx_ring_size(fd, slots).map_err(named("XDP_TX_RING"))
    }

    fn map_rings(&self, fd: BorrowedFd<'_>) -> io::Result<MappedRings> {
        let (slots, fill_slots) = (self.config.ring_slots(), self.config.fill_slots());
        let at = xdp_mmap_offsets(fd).map_err(naming("XDP_MMAP_OFFSETS", &self.device))?;
        let named = |cause| failed("mmap AF_XDP ring", &self.device, cause);
        let (rx_at, tx_at) = (libc::XDP_PGOFF_RX_RING, libc::XDP_PGOFF_TX_RING);
        let (fill_at, completion_at) = (
            libc::XDP_UMEM_PGOFF_FILL_RING,
            libc::XDP_UMEM_PGOFF_COMPLETION_RING,
        );
        let fill = MappedRing::map(fd, fill_at, at.fr, fill_slots).map_err(named)?;
        let rx = MappedRing::map(fd, rx_at as u64, at.rx, fill_slots).map_err(named)?;
        let tx = MappedRing::map(fd, tx_at as u64, at.tx, slots).map_err(named)?;
        let completion = MappedRing::map(fd, completion_at, at.cr, slots).map_err(named)?;
        let receive = ReceiveRings {
            fill: Producer::new(Arc::new(fill)),
            rx: Consumer::new(Arc::new(rx)),
        };
        Ok((Arc::new(tx), Arc::new(completion), receive))
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
    fn widen(&self, fd: BorrowedFd<'_>) {
        let config = &self.config;
        // Not supported before Linux 6.18: the doorbell is rung more often then.
        let budget = config.budget_packets.clamp(1, config.ring_slots());
        let _ =
            sys::socket::set_option(fd, libc::SOL_XDP, MAX_TX_SKB_BUDGET, budget as libc::c_int);
        let _ = send_buffer::widen(
            fd,
            config.ring_slots() as usize,
            config.frame_bytes as usize,
        );
    }
}
