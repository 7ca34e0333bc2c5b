//! Opening an AF_XDP socket: its umem, its four rings, its queue.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use super::ETHERNET_HEADER_BYTES;
use super::bind::{Attempt, bind};
use super::config::XdpConfig;
use super::line::{CompletionEnd, Kernel, TxEnd, ends};
use super::umem::UmemFrames;
use crate::error::{XDP_UMEM_REG, failed, failed_with};
use crate::frames::Frames;
use crate::link;
use crate::netns::NetNs;
use crate::shared_ring::{Consumer, Producer};
use crate::sys;
use crate::sys::xdp_ring::{AddressSlot, DescriptorSlot, MappedRing};

/// What the kernel charges the send buffer for a frame beyond its bytes, with room to spare. The
/// default buffer stops at about 93 frames of 1514 bytes.
const CHARGE_OVERHEAD_BYTES: u32 = 1024;

/// A bound socket.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    is_zero_copy: bool,
}

impl Kernel for Socket {
    type Tx = MappedRing<DescriptorSlot>;
    type Completion = MappedRing<AddressSlot>;

    fn wake(&self) -> io::Result<()> {
        sys::socket::send(self.fd.as_fd(), &[], libc::MSG_DONTWAIT).map(drop)
    }

    fn is_zero_copy(&self) -> bool {
        self.is_zero_copy
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The rings that bring frames in.
#[derive(Debug)]
pub(super) struct ReceiveRings {
    pub(super) fill: Producer<MappedRing<AddressSlot>>,
    pub(super) rx: Consumer<MappedRing<DescriptorSlot>>,
}

/// A socket that was just bound.
pub(super) struct Opened {
    pub(super) tx: TxEnd<Socket>,
    pub(super) completion: CompletionEnd<Socket>,
    pub(super) receive: ReceiveRings,
}

/// Where a socket belongs, to open it again and again.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) ns: NetNs,
    pub(super) device: String,
    pub(super) config: XdpConfig,
    pub(super) frames: UmemFrames,
}

impl Place {
    /// Opens a socket and binds it to the device `index`, with what the configuration allows. `shared` is a bound socket of the
    /// same umem, if there is one.
    pub(super) fn open(&self, index: u32, shared: Option<BorrowedFd<'_>>) -> io::Result<Opened> {
        // Where it may not be raised, the default may suffice all the same.
        let _ = sys::xdp::raise_locked_memory();
        let mtu_bytes = link::read_link(&self.ns, &self.device)?.mtu_bytes;
        let frame_limit_bytes = mtu_bytes
            .saturating_add(ETHERNET_HEADER_BYTES)
            .min(self.frames.frame_bytes());
        bind(
            self.config.mode,
            |attempt| self.attempt((index, frame_limit_bytes), attempt, shared),
            thread::sleep,
        )
    }

    fn attempt(
        &self,
        (index, frame_limit_bytes): (u32, u32),
        attempt: Attempt,
        shared: Option<BorrowedFd<'_>>,
    ) -> io::Result<Opened> {
        let named = |call| move |cause| failed(call, &self.device, cause);
        let fd = (self.ns)
            .run(|| sys::socket::open(libc::AF_XDP, libc::SOCK_RAW, 0))?
            .map_err(named("socket AF_XDP"))?;
        let config = &self.config;
        if shared.is_none() {
            sys::xdp::register_umem(fd.as_fd(), self.frames.umem(), config.metadata_bytes())
                .map_err(|cause| {
                    failed_with(XDP_UMEM_REG, &self.device, cause, || self.memory())
                })?;
        }
        let (slots, fill_slots) = (config.ring_slots(), config.fill_slots());
        let wanted = [
            ("XDP_UMEM_FILL_RING", libc::XDP_UMEM_FILL_RING, fill_slots),
            (
                "XDP_UMEM_COMPLETION_RING",
                libc::XDP_UMEM_COMPLETION_RING,
                slots,
            ),
            ("XDP_RX_RING", libc::XDP_RX_RING, fill_slots),
            ("XDP_TX_RING", libc::XDP_TX_RING, slots),
        ];
        for (call, option, slots) in wanted {
            sys::socket::set_option(fd.as_fd(), libc::SOL_XDP, option, slots as libc::c_int)
                .map_err(named(call))?;
        }
        self.widen(fd.as_fd());
        let at = sys::xdp::layouts(fd.as_fd()).map_err(named("XDP_MMAP_OFFSETS"))?;
        let mmap = named("mmap AF_XDP ring");
        let (fill_at, completion_at) = (
            libc::XDP_UMEM_PGOFF_FILL_RING as i64,
            libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64,
        );
        let receive = ReceiveRings {
            fill: Producer::new(
                MappedRing::map(fd.as_fd(), fill_at, at.fill, fill_slots).map_err(mmap)?,
            ),
            rx: Consumer::new(
                MappedRing::map(fd.as_fd(), libc::XDP_PGOFF_RX_RING, at.rx, fill_slots)
                    .map_err(mmap)?,
            ),
        };
        let tx =
            MappedRing::map(fd.as_fd(), libc::XDP_PGOFF_TX_RING, at.tx, slots).map_err(mmap)?;
        let completion =
            MappedRing::map(fd.as_fd(), completion_at, at.completion, slots).map_err(mmap)?;
        let flags = match (shared, attempt) {
            (Some(_), _) => libc::XDP_SHARED_UMEM,
            (None, Attempt::ZeroCopy) => libc::XDP_ZEROCOPY | libc::XDP_USE_NEED_WAKEUP,
            (None, Attempt::Copy) => libc::XDP_COPY | libc::XDP_USE_NEED_WAKEUP,
        };
        sys::xdp::bind(fd.as_fd(), index, config.queue, flags, shared)
            .map_err(|cause| failed_with("bind", &self.device, cause, || self.which_queue()))?;
        let is_zero_copy = sys::xdp::is_zero_copy(fd.as_fd()).map_err(named("XDP_OPTIONS"))?;
        let (tx, completion) = ends(
            Socket { fd, is_zero_copy },
            frame_limit_bytes,
            tx,
            completion,
        );
        Ok(Opened {
            tx,
            completion,
            receive,
        })
    }

    /// What a refused umem may be too large for.
    fn memory(&self) -> String {
        let kilobytes = self.frames.umem().bytes() >> 10;
        format!(
            "{kilobytes} KB for {} frames; without CAP_IPC_LOCK, `ulimit -l` is the most that may be \
             locked",
            self.frames.umem().frames()
        )
    }

    fn which_queue(&self) -> String {
        format!("queue {} of the device, counted from 0", self.config.queue)
    }

    /// Makes the socket take a full ring at once, as far as the kernel allows.
    fn widen(&self, fd: BorrowedFd<'_>) {
        let config = &self.config;
        // Unknown before Linux 6.18: the doorbell is rung more often then.
        let budget = config.budget_packets.clamp(1, config.ring_slots());
        let _ = sys::socket::set_option(
            fd,
            libc::SOL_XDP,
            sys::xdp::MAX_TX_SKB_BUDGET,
            budget as libc::c_int,
        );
        let needed = config
            .ring_slots()
            .saturating_mul(config.frame_bytes + CHARGE_OVERHEAD_BYTES);
        let asked = libc::c_int::try_from(needed).unwrap_or(libc::c_int::MAX);
        let set = |option| sys::socket::set_option(fd, libc::SOL_SOCKET, option, asked);
        // The first goes beyond `net.core.wmem_max`. With one that is too small nothing is lost, but
        // what lies beyond it waits in the ring.
        let _ = set(libc::SO_SNDBUFFORCE).or_else(|_| set(libc::SO_SNDBUF));
    }
}
