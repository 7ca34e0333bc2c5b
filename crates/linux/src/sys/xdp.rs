//! The calls of AF_XDP sockets.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::check;
use super::umem::Umem;
use super::xdp_ring::Layout;

/// Frames that one send may move (`XDP_MAX_TX_SKB_BUDGET`, Linux 6.18; unknown to libc).
pub(crate) const MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// Where each ring of a socket is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layouts {
    pub(crate) rx: Layout,
    pub(crate) tx: Layout,
    pub(crate) fill: Layout,
    pub(crate) completion: Layout,
}

/// Asks where the rings are in their mappings.
pub(crate) fn layouts(fd: BorrowedFd<'_>) -> io::Result<Layouts> {
    // SAFETY: `xdp_mmap_offsets` is plain old data for which all zeroes is valid.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
    let length = get(fd, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
    if length != size_of::<libc::xdp_mmap_offsets>() {
        // Before Linux 5.4 the flags were missing.
        return Err(io::ErrorKind::Unsupported.into());
    }
    let layout = |of: libc::xdp_ring_offset| Layout {
        producer: of.producer as usize,
        consumer: of.consumer as usize,
        flags: of.flags as usize,
        slots: of.desc as usize,
    };
    Ok(Layouts {
        rx: layout(offsets.rx),
        tx: layout(offsets.tx),
        fill: layout(offsets.fr),
        completion: layout(offsets.cr),
    })
}

/// Reads a plain old data option, and says how much of it the kernel wrote.
fn get<T: Copy>(fd: BorrowedFd<'_>, option: libc::c_int, value: &mut T) -> io::Result<usize> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and length describe `value`, which we hold exclusively; it is one of
    // libc's structs of integers, for which any bytes are valid.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_XDP,
            option,
            std::ptr::from_mut(value).cast(),
            &raw mut length,
        )
    })?;
    Ok(length as usize)
}

/// Gives the socket its frames. With `metadata_bytes`, the kernel reads what is to be done with a
/// frame from that many bytes before it.
pub(crate) fn register_umem(
    fd: BorrowedFd<'_>,
    umem: &Umem,
    metadata_bytes: u32,
) -> io::Result<()> {
    let flags = if metadata_bytes > 0 {
        libc::XDP_UMEM_TX_METADATA_LEN | libc::XDP_UMEM_TX_SW_CSUM
    } else {
        0
    };
    let request = libc::xdp_umem_reg {
        addr: umem.address(),
        len: umem.bytes(),
        chunk_size: umem.frame_bytes(),
        headroom: 0,
        flags,
        tx_metadata_len: metadata_bytes,
    };
    // SAFETY: the pointer and length describe `request`, which outlives the call. The memory that it
    // names is a mapping of ours, whose pages the kernel holds itself from then on; what it writes
    // into them, the states of `Umem` keep apart from what we do.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_XDP,
            libc::XDP_UMEM_REG,
            (&raw const request).cast(),
            size_of::<libc::xdp_umem_reg>() as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Binds the socket to a queue of the device `index`; `shared` is a bound socket whose frames it
/// uses.
pub(crate) fn bind(
    fd: BorrowedFd<'_>,
    index: u32,
    queue: u32,
    flags: u16,
    shared: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: index,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: shared.map_or(0, |fd| fd.as_raw_fd() as u32),
    };
    // SAFETY: the pointer and length describe `address`, which outlives the call.
    check(unsafe {
        libc::bind(
            fd.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_xdp>() as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Whether a bound socket got zero-copy.
pub(crate) fn is_zero_copy(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut options = libc::xdp_options { flags: 0 };
    get(fd, libc::XDP_OPTIONS, &mut options)?;
    Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
}

/// What the kernel counts for the socket.
pub(crate) fn statistics(fd: BorrowedFd<'_>) -> io::Result<libc::xdp_statistics> {
    // SAFETY: `xdp_statistics` is plain old data for which all zeroes is valid.
    let mut statistics: libc::xdp_statistics = unsafe { std::mem::zeroed() };
    get(fd, libc::XDP_STATISTICS, &mut statistics)?;
    Ok(statistics)
}

/// Lets the process lock as much memory as it wants, where it may.
pub(crate) fn raise_locked_memory() -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the pointer describes `limit`, which outlives the call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) }).map(drop)
}
