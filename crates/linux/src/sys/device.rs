//! The ioctls of devices, and of `/dev/net/tun`. They do not block.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::ioctl::{Getter, IntegerSetter, Opcode, Setter, ioctl};

use super::check;

/// Returns the argument of most of these calls, for the device `name`. The field holds 15 bytes and
/// a zero.
pub(super) fn ifreq(name: &str) -> libc::ifreq {
    // SAFETY: `ifreq` is plain old data for which all zeroes is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let places = request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1);
    for (to, from) in places.zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

/// Returns the flags of the device `name` (`IFF_*`, the lower 16 bits), in the namespace of the
/// socket `fd`.
pub(crate) fn flags(fd: impl AsFd, name: &str) -> io::Result<u16> {
    let fd = fd.as_fd().as_raw_fd();
    let mut request = ifreq(name);
    // SAFETY: SIOCGIFFLAGS reads and writes one `ifreq`, which `request` is.
    check(unsafe { libc::ioctl(fd, libc::SIOCGIFFLAGS as _, &raw mut request) })?;
    // SAFETY: the call succeeded, so the kernel has written the flags.
    Ok(unsafe { request.ifr_ifru.ifru_flags } as u16)
}

/// Attaches an open `/dev/net/tun` to the device `name`, which is created if it does not exist.
///
/// `name` is truncated to the kernel's field (15 bytes and a zero).
pub(crate) fn attach_tun(fd: impl AsFd, name: &str, flags: libc::c_int) -> io::Result<()> {
    let fd = fd.as_fd().as_raw_fd();
    let mut request = ifreq(name);
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which `request` is.
    check(unsafe { libc::ioctl(fd, libc::TUNSETIFF as _, &raw mut request) }).map(drop)
}

/// Returns the flags that the kernel supports (`TUNGETFEATURES`).
pub(crate) fn tun_features(fd: impl AsFd) -> rustix::io::Result<libc::c_uint> {
    const FEATURES: Opcode = libc::TUNGETFEATURES as Opcode;
    // SAFETY: TUNGETFEATURES writes one `unsigned int`.
    unsafe { ioctl(fd, Getter::<FEATURES, libc::c_uint>::new()) }
}

/// Sets the offloads that the reader of the device supports (`TUN_F_*`).
pub(crate) fn set_tun_offload(fd: impl AsFd, offloads: libc::c_uint) -> rustix::io::Result<()> {
    const OFFLOAD: Opcode = libc::TUNSETOFFLOAD as Opcode;
    // SAFETY: TUNSETOFFLOAD takes its argument by value.
    unsafe { ioctl(fd, IntegerSetter::<OFFLOAD>::new_usize(offloads as usize)) }
}

/// Sets the length of the virtio-net header before each frame.
pub(crate) fn set_vnet_header_bytes(fd: impl AsFd, bytes: libc::c_int) -> rustix::io::Result<()> {
    const HEADER_BYTES: Opcode = libc::TUNSETVNETHDRSZ as Opcode;
    // SAFETY: TUNSETVNETHDRSZ reads one `int`.
    unsafe { ioctl(fd, Setter::<HEADER_BYTES, libc::c_int>::new(bytes)) }
}
