//! Options of the socket itself.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use crate::error::failed;
use crate::sys;

/// Enables timestamps with ids that start at 0. Other timestamp options of the caller stay.
pub(crate) fn restart_stamp_ids(socket: &UdpSocket) -> io::Result<()> {
    let (fd, level, option) = (socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
    let has = sys::socket::option(fd, level, option).unwrap_or(0);
    let ours = (libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY) as libc::c_int;
    // The ids restart when the option is turned on, so turn it off first.
    let off = has & !(libc::SOF_TIMESTAMPING_OPT_ID as libc::c_int);
    let set = |flags| sys::socket::set_option(fd, level, option, flags);
    set(off).map_err(|error| failed("setsockopt SO_TIMESTAMPING", &error))?;
    // Receive timestamps that another process turned on would arrive with received datagrams, and
    // displace other control messages. Linux 6.12 omits them on request.
    let filter = libc::SOF_TIMESTAMPING_OPT_RX_FILTER as libc::c_int;
    set(has | ours | filter)
        .or_else(|_| set(has | ours))
        .map_err(|error| failed("setsockopt SO_TIMESTAMPING", &error))
}

/// Reports errors of sent datagrams in the error queue.
pub(crate) fn report_errors(socket: &UdpSocket) -> io::Result<()> {
    let fd = socket.as_fd();
    if socket.local_addr()?.is_ipv6() {
        sys::socket::set_option(fd, libc::SOL_IPV6, libc::IPV6_RECVERR, 1)
            .map_err(|error| failed("setsockopt IPV6_RECVERR", &error))?;
        // For mapped addresses; an IPv6-only socket might reject it.
        let _ = sys::socket::set_option(fd, libc::SOL_IP, libc::IP_RECVERR, 1);
        return Ok(());
    }
    sys::socket::set_option(fd, libc::SOL_IP, libc::IP_RECVERR, 1)
        .map_err(|error| failed("setsockopt IP_RECVERR", &error))
}
