//! sendmmsg(2), and recvmmsg(2) of the error queue.

use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::net::SocketAddrAny;
use rustix::net::addr::SocketAddrStorage;

use super::check;

/// Maximum number of messages of one call.
pub(crate) const BATCH: usize = 32;

/// The control messages of one datagram, with the alignment that the kernel requires.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Control {
    pub(crate) buffer: [u8; Control::BYTES],
    pub(crate) used: usize,
}

impl Control {
    const BYTES: usize = 256;
    pub(crate) const EMPTY: Self = Self {
        buffer: [0; Self::BYTES],
        used: 0,
    };

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.used]
    }
}

/// One datagram to send.
#[derive(Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    /// `None` for the connected peer.
    pub(crate) peer: Option<&'a SocketAddrAny>,
    pub(crate) payload: &'a [u8],
    /// Control messages, aligned to 8 bytes.
    pub(crate) control: &'a [u8],
}

impl Outgoing<'_> {
    pub(crate) const EMPTY: Self = Self {
        peer: None,
        payload: &[],
        control: &[],
    };
}

fn empty_header() -> libc::mmsghdr {
    // SAFETY: a plain structure of numbers and pointers, for which all zeros is a valid value.
    unsafe { std::mem::zeroed() }
}

/// Sends the first [`BATCH`] of `datagrams`. Returns how many the kernel accepted. An error is that
/// of the first.
pub(crate) fn send(
    fd: BorrowedFd<'_>,
    datagrams: &[Outgoing<'_>],
    flags: libc::c_int,
) -> io::Result<usize> {
    let mut parts = [const { MaybeUninit::<libc::iovec>::uninit() }; BATCH];
    let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BATCH];
    let count = datagrams.len().min(BATCH);
    for ((datagram, part), header) in datagrams.iter().zip(&mut parts).zip(&mut headers) {
        let part = part.write(libc::iovec {
            iov_base: datagram.payload.as_ptr().cast_mut().cast(),
            iov_len: datagram.payload.len(),
        });
        let header = &mut header.write(empty_header()).msg_hdr;
        if let Some(peer) = datagram.peer {
            header.msg_name = peer.as_ptr().cast_mut().cast();
            header.msg_namelen = peer.addr_len();
        }
        header.msg_iov = part;
        header.msg_iovlen = 1;
        if !datagram.control.is_empty() {
            header.msg_control = datagram.control.as_ptr().cast_mut().cast();
            header.msg_controllen = datagram.control.len() as _;
        }
    }
    // SAFETY: the first `count` headers were written; the memory to which they point outlives the
    // call, which only reads it. The kernel writes the length sent into each header.
    let sent = check(unsafe {
        libc::sendmmsg(
            fd.as_raw_fd(),
            headers.as_mut_ptr().cast(),
            count as libc::c_uint,
            (flags | libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) as _,
        )
    })?;
    Ok(sent as usize)
}

/// One entry of the error queue.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) control: Control,
    /// For an error: the destination of the datagram.
    pub(crate) peer: Option<SocketAddr>,
}

impl Entry {
    pub(crate) const EMPTY: Self = Self {
        control: Control::EMPTY,
        peer: None,
    };
}

/// Reads up to [`BATCH`] entries of the socket's error queue without waiting. Returns their number.
pub(crate) fn receive_errors(fd: BorrowedFd<'_>, into: &mut [Entry]) -> io::Result<usize> {
    let mut peers = [const { MaybeUninit::<SocketAddrStorage>::uninit() }; BATCH];
    let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BATCH];
    let count = into.len().min(BATCH);
    for ((entry, peer), header) in into.iter_mut().zip(&mut peers).zip(&mut headers) {
        let header = &mut header.write(empty_header()).msg_hdr;
        header.msg_control = entry.control.buffer.as_mut_ptr().cast();
        header.msg_controllen = Control::BYTES as _;
        header.msg_name = peer.as_mut_ptr().cast();
        header.msg_namelen = size_of::<SocketAddrStorage>() as _;
    }
    // SAFETY: the first `count` headers were written, and each points to its own buffers of the
    // stated lengths, which are borrowed exclusively. No payload, no timeout.
    let received = check(unsafe {
        libc::recvmmsg(
            fd.as_raw_fd(),
            headers.as_mut_ptr().cast(),
            count as libc::c_uint,
            (libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) as _,
            std::ptr::null_mut(),
        )
    })? as usize;
    let read = into.iter_mut().zip(peers).zip(&headers);
    for ((entry, peer), header) in read.take(received) {
        // SAFETY: the first `count` headers were written, and `received` is at most that.
        let header = unsafe { header.assume_init_ref().msg_hdr };
        entry.control.used = Control::BYTES.min(header.msg_controllen as _);
        // Shorter ones are not addresses: an entry that is not an error can have none.
        let is_address = size_of::<libc::sockaddr_in>()..=size_of::<SocketAddrStorage>();
        entry.peer = is_address
            .contains(&(header.msg_namelen as usize))
            // SAFETY: the kernel wrote an address of this length.
            .then(|| unsafe { SocketAddrAny::new(peer, header.msg_namelen) })
            .and_then(|peer| peer.try_into().ok());
    }
    Ok(received)
}
