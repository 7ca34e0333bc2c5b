//! Socket options, and calls of packet sockets: binding, VLAN tags, promiscuous mode.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::check;

/// Sets an option that is an `int` or a struct of integers.
pub(crate) fn set_option(
    fd: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: impl Copy,
) -> io::Result<()> {
    // SAFETY: the pointer and length describe `value`, which outlives the call and is only read.
    check(unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Reads an option that is one or more `unsigned int`s.
pub(crate) fn option<const WORDS: usize>(
    fd: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
) -> io::Result<[u32; WORDS]> {
    let mut value = [0u32; WORDS];
    let mut length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointer and length describe `value`, which is borrowed exclusively.
    check(unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            option,
            (&raw mut value).cast(),
            &raw mut length,
        )
    })?;
    Ok(value)
}

/// Binds a packet socket to the device `index` and to an Ethernet protocol, 0 for none.
pub(crate) fn bind_packet(fd: impl AsFd, index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: `sockaddr_ll` is plain old data for which all zeroes is valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as libc::c_int;
    // SAFETY: the pointer and length describe `address`, which outlives the call.
    check(unsafe {
        libc::bind(
            fd.as_fd().as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    })
    .map(drop)
}

/// The VLAN tag that the kernel removed from a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    /// Its EtherType.
    pub(crate) protocol: u16,
    /// Priority and number.
    pub(crate) control: u16,
}

/// Room for the requested control message, and for others that might follow.
const CONTROL_BYTES: usize = 256;

/// Receives one frame into `into`. Returns its own length, even if that is more, and its tag.
/// `PACKET_AUXDATA` must be enabled for the tag.
pub(crate) fn receive_packet(fd: impl AsFd, into: &mut [u8]) -> io::Result<(usize, Option<Tag>)> {
    #[repr(align(8))]
    struct Control([u8; CONTROL_BYTES]);
    let mut control = Control([0; CONTROL_BYTES]);
    let mut part = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    // SAFETY: `msghdr` is plain old data for which all zeroes is valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES as _;
    // SAFETY: the message describes `into` and `control`, both of which are borrowed exclusively
    // and outlive the call.
    let bytes = unsafe { libc::recvmsg(fd.as_fd().as_raw_fd(), &raw mut message, libc::MSG_TRUNC) };
    let bytes = usize::try_from(bytes).map_err(|_| io::Error::last_os_error())?;
    Ok((bytes, tag(&message)))
}

/// Returns the tag in the control messages of `message`.
fn tag(message: &libc::msghdr) -> Option<Tag> {
    // SAFETY: the kernel filled in the message, whose control buffer is alive and aligned; the
    // pointers that these macros return are null or inside the bytes that the kernel reported as
    // written.
    let found = unsafe {
        let mut at = libc::CMSG_FIRSTHDR(message);
        loop {
            let header = at.as_ref()?;
            if (header.cmsg_level, header.cmsg_type) == (libc::SOL_PACKET, libc::PACKET_AUXDATA)
                && header.cmsg_len as usize
                    >= libc::CMSG_LEN(size_of::<libc::tpacket_auxdata>() as u32) as usize
            {
                break libc::CMSG_DATA(at)
                    .cast::<libc::tpacket_auxdata>()
                    .read_unaligned();
            }
            at = libc::CMSG_NXTHDR(message, at);
        }
    };
    let says = |bit| found.tp_status & bit != 0;
    says(libc::TP_STATUS_VLAN_VALID).then_some(Tag {
        protocol: if says(libc::TP_STATUS_VLAN_TPID_VALID) {
            found.tp_vlan_tpid
        } else {
            libc::ETH_P_8021Q as u16
        },
        control: found.tp_vlan_tci,
    })
}

/// Sets the device `index` to promiscuous mode while the socket exists.
pub(crate) fn add_promiscuous(fd: impl AsFd, index: u32) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: index as libc::c_int,
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, request)
}
