//! sendmmsg(2), and recvmmsg(2) of the error queue.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::check;

/// Maximum number of messages of one call.
pub(crate) const BATCH: usize = 32;

/// Room for the control messages of one datagram, with the alignment that the kernel requires.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Control(pub(crate) [u8; Control::BYTES]);

impl Control {
    pub(crate) const BYTES: usize = 256;
    pub(crate) const EMPTY: Self = Self([0; Self::BYTES]);
}

/// One datagram to send.
#[derive(Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    /// A socket address; empty for the connected peer.
    pub(crate) name: &'a [u8],
    pub(crate) payload: &'a [u8],
    /// Control messages, aligned to 8 bytes.
    pub(crate) control: &'a [u8],
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
        if !datagram.name.is_empty() {
            header.msg_name = datagram.name.as_ptr().cast_mut().cast();
            header.msg_namelen = datagram.name.len() as libc::socklen_t;
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
    pub(crate) control_bytes: usize,
    /// For an error: the destination of the datagram.
    pub(crate) name: [u8; Entry::NAME_BYTES],
    pub(crate) name_bytes: usize,
}

impl Entry {
    /// An IPv6 address with its port.
    pub(crate) const NAME_BYTES: usize = 28;
    pub(crate) const EMPTY: Self = Self {
        name: [0; Self::NAME_BYTES],
        name_bytes: 0,
        control: Control::EMPTY,
        control_bytes: 0,
    };
}

/// Reads up to [`BATCH`] entries of the socket's error queue without waiting. Returns their number.
pub(crate) fn receive_errors(fd: BorrowedFd<'_>, into: &mut [Entry]) -> io::Result<usize> {
    let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BATCH];
    let count = into.len().min(BATCH);
    for (entry, header) in into.iter_mut().zip(&mut headers) {
        let header = &mut header.write(empty_header()).msg_hdr;
        header.msg_control = entry.control.0.as_mut_ptr().cast();
        header.msg_controllen = Control::BYTES as _;
        header.msg_name = entry.name.as_mut_ptr().cast();
        header.msg_namelen = Entry::NAME_BYTES as _;
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
    for (entry, header) in into.iter_mut().zip(&headers).take(received) {
        // SAFETY: the first `count` headers were written, and `received` is at most that.
        let header = unsafe { header.assume_init_ref() };
        entry.control_bytes = Control::BYTES.min(header.msg_hdr.msg_controllen as _);
        entry.name_bytes = (header.msg_hdr.msg_namelen as usize).min(Entry::NAME_BYTES);
    }
    Ok(received)
}
