//! What packet sockets have of their own: their address.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::check;

/// Binds a packet socket to the device `index` and to an Ethernet protocol, 0 for none.
pub(crate) fn bind(fd: BorrowedFd<'_>, index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: `sockaddr_ll` is plain old data for which all zeroes is valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as libc::c_int;
    // SAFETY: the pointer and length describe `address`, which outlives the call.
    check(unsafe {
        libc::bind(
            fd.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    })
    .map(drop)
}
